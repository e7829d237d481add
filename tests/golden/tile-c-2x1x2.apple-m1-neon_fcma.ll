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
  %batch5.i = phi i64 [ 0, %before4 ], [ %v27, %latch6 ]
  %batch5.a = phi ptr [ %A, %before4 ], [ %v28, %latch6 ]
  %batch5.b = phi ptr [ %B, %before4 ], [ %v29, %latch6 ]
  %batch5.c = phi ptr [ %C, %before4 ], [ %v30, %latch6 ]
  %v9 = load <4 x float>, ptr %batch5.a, align 4
  %v10 = load i64, ptr %batch5.b, align 4
  %v11 = insertelement <2 x i64> poison, i64 %v10, i64 0
  %v12 = shufflevector <2 x i64> %v11, <2 x i64> poison, <2 x i32> zeroinitializer
  %v13 = bitcast <2 x i64> %v12 to <4 x float>
  %v14 = call <4 x float> @llvm.aarch64.neon.vcmla.rot0.v4f32(<4 x float> zeroinitializer, <4 x float> %v9, <4 x float> %v13)
  %v15 = call <4 x float> @llvm.aarch64.neon.vcmla.rot90.v4f32(<4 x float> %v14, <4 x float> %v9, <4 x float> %v13)
  %v16 = call <4 x float> asm sideeffect "", "=w,0,~{memory}"(<4 x float> %v15)
  %v17 = getelementptr float, ptr %batch5.a, i64 4
  %v18 = load <4 x float>, ptr %v17, align 4
  %v19 = getelementptr float, ptr %batch5.b, i64 2
  %v20 = load i64, ptr %v19, align 4
  %v21 = insertelement <2 x i64> poison, i64 %v20, i64 0
  %v22 = shufflevector <2 x i64> %v21, <2 x i64> poison, <2 x i32> zeroinitializer
  %v23 = bitcast <2 x i64> %v22 to <4 x float>
  %v24 = call <4 x float> @llvm.aarch64.neon.vcmla.rot0.v4f32(<4 x float> %v16, <4 x float> %v18, <4 x float> %v23)
  %v25 = call <4 x float> @llvm.aarch64.neon.vcmla.rot90.v4f32(<4 x float> %v24, <4 x float> %v18, <4 x float> %v23)
  %v26 = call <4 x float> asm sideeffect "", "=w,0,~{memory}"(<4 x float> %v25)
  call void asm sideeffect "", "~{memory}"()
  store <4 x float> %v26, ptr %batch5.c, align 4
  call void asm sideeffect "", "~{memory}"()
  br label %latch6
latch6:
  %v27 = add i64 %batch5.i, 1
  %v28 = getelementptr float, ptr %batch5.a, i64 %v1
  %v29 = getelementptr float, ptr %batch5.b, i64 %v2
  %v30 = getelementptr float, ptr %batch5.c, i64 %v3
  %v31 = icmp slt i64 %v27, %count
  br i1 %v31, label %batch5, label %done7
done7:
  ret void
}

declare <4 x float> @llvm.aarch64.neon.vcmla.rot0.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare <4 x float> @llvm.aarch64.neon.vcmla.rot90.v4f32(<4 x float>, <4 x float>, <4 x float>)

!0 = !{i32 1}
