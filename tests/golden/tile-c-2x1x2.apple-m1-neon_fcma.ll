define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = shl i64 %sa, 1
  %v2 = shl i64 %sb, 1
  %v3 = shl i64 %sc, 1
  br label %before4
before4:
  %v8 = icmp sgt i64 %count, 0
  br i1 %v8, label %batch5, label %done7
batch5:
  %batch5.i = phi i64 [ 0, %before4 ], [ %v31, %latch6 ]
  %batch5.a = phi ptr [ %A, %before4 ], [ %v32, %latch6 ]
  %batch5.b = phi ptr [ %B, %before4 ], [ %v33, %latch6 ]
  %batch5.c = phi ptr [ %C, %before4 ], [ %v34, %latch6 ]
  %v9 = load <4 x float>, ptr %batch5.a, align 4
  %v10 = load double, ptr %batch5.b, align 4
  %v11 = insertelement <2 x double> poison, double %v10, i64 0
  %v12 = call <2 x double> asm "", "=w,0"(<2 x double> %v11)
  %v13 = bitcast <2 x double> %v12 to <2 x i64>
  %v14 = shufflevector <2 x i64> %v13, <2 x i64> poison, <2 x i32> zeroinitializer
  %v15 = bitcast <2 x i64> %v14 to <4 x float>
  %v16 = call <4 x float> @llvm.aarch64.neon.vcmla.rot0.v4f32(<4 x float> zeroinitializer, <4 x float> %v9, <4 x float> %v15)
  %v17 = call <4 x float> @llvm.aarch64.neon.vcmla.rot90.v4f32(<4 x float> %v16, <4 x float> %v9, <4 x float> %v15)
  %v18 = call <4 x float> asm sideeffect "", "=w,0,~{memory}"(<4 x float> %v17)
  %v19 = getelementptr float, ptr %batch5.a, i64 4
  %v20 = load <4 x float>, ptr %v19, align 4
  %v21 = getelementptr float, ptr %batch5.b, i64 2
  %v22 = load double, ptr %v21, align 4
  %v23 = insertelement <2 x double> poison, double %v22, i64 0
  %v24 = call <2 x double> asm "", "=w,0"(<2 x double> %v23)
  %v25 = bitcast <2 x double> %v24 to <2 x i64>
  %v26 = shufflevector <2 x i64> %v25, <2 x i64> poison, <2 x i32> zeroinitializer
  %v27 = bitcast <2 x i64> %v26 to <4 x float>
  %v28 = call <4 x float> @llvm.aarch64.neon.vcmla.rot0.v4f32(<4 x float> %v18, <4 x float> %v20, <4 x float> %v27)
  %v29 = call <4 x float> @llvm.aarch64.neon.vcmla.rot90.v4f32(<4 x float> %v28, <4 x float> %v20, <4 x float> %v27)
  %v30 = call <4 x float> asm sideeffect "", "=w,0,~{memory}"(<4 x float> %v29)
  call void asm sideeffect "", "~{memory}"()
  store <4 x float> %v30, ptr %batch5.c, align 4
  call void asm sideeffect "", "~{memory}"()
  br label %latch6
latch6:
  %v31 = add i64 %batch5.i, 1
  %v32 = getelementptr float, ptr %batch5.a, i64 %v1
  %v33 = getelementptr float, ptr %batch5.b, i64 %v2
  %v34 = getelementptr float, ptr %batch5.c, i64 %v3
  %v35 = icmp slt i64 %v31, %count
  br i1 %v35, label %batch5, label %done7
done7:
  ret void
}

declare <4 x float> @llvm.aarch64.neon.vcmla.rot0.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare <4 x float> @llvm.aarch64.neon.vcmla.rot90.v4f32(<4 x float>, <4 x float>, <4 x float>)

!0 = !{i32 1}
