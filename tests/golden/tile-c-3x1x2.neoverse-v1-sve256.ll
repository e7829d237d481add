define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) vscale_range(2,2) {
entry:
  %v1 = shl i64 %sa, 1
  %v2 = shl i64 %sb, 1
  %v3 = shl i64 %sc, 1
  br label %before4
before4:
  %v8 = icmp sgt i64 %count, 0
  br i1 %v8, label %batch5, label %done7
batch5:
  %batch5.i = phi i64 [ 0, %before4 ], [ %v56, %latch6 ]
  %batch5.a = phi ptr [ %A, %before4 ], [ %v57, %latch6 ]
  %batch5.b = phi ptr [ %B, %before4 ], [ %v58, %latch6 ]
  %batch5.c = phi ptr [ %C, %before4 ], [ %v59, %latch6 ]
  %v9 = call <vscale x 4 x i1> @llvm.aarch64.sve.ptrue.nxv4i1(i32 6)
  %v10 = call <vscale x 4 x float> @llvm.masked.load.nxv4f32.p0(ptr %batch5.a, i32 4, <vscale x 4 x i1> %v9, <vscale x 4 x float> zeroinitializer)
  %v11 = call <8 x float> @llvm.vector.extract.v8f32.nxv4f32(<vscale x 4 x float> %v10, i64 0)
  %v12 = load i64, ptr %batch5.b, align 4
  %v13 = insertelement <4 x i64> poison, i64 %v12, i64 0
  %v14 = shufflevector <4 x i64> %v13, <4 x i64> poison, <4 x i32> zeroinitializer
  %v15 = bitcast <4 x i64> %v14 to <8 x float>
  %v16 = call <vscale x 4 x i1> @llvm.aarch64.sve.ptrue.nxv4i1(i32 8)
  %v17 = call <vscale x 4 x float> @llvm.vector.insert.nxv4f32.v8f32(<vscale x 4 x float> poison, <8 x float> %v11, i64 0)
  %v18 = call <vscale x 4 x float> @llvm.vector.insert.nxv4f32.v8f32(<vscale x 4 x float> poison, <8 x float> %v15, i64 0)
  %v19 = call <vscale x 4 x float> @llvm.aarch64.sve.fcmla.nxv4f32(<vscale x 4 x i1> %v16, <vscale x 4 x float> zeroinitializer, <vscale x 4 x float> %v17, <vscale x 4 x float> %v18, i32 0)
  %v20 = call <8 x float> @llvm.vector.extract.v8f32.nxv4f32(<vscale x 4 x float> %v19, i64 0)
  %v21 = call <vscale x 4 x i1> @llvm.aarch64.sve.ptrue.nxv4i1(i32 8)
  %v22 = call <vscale x 4 x float> @llvm.vector.insert.nxv4f32.v8f32(<vscale x 4 x float> poison, <8 x float> %v11, i64 0)
  %v23 = call <vscale x 4 x float> @llvm.vector.insert.nxv4f32.v8f32(<vscale x 4 x float> poison, <8 x float> %v15, i64 0)
  %v24 = call <vscale x 4 x float> @llvm.vector.insert.nxv4f32.v8f32(<vscale x 4 x float> poison, <8 x float> %v20, i64 0)
  %v25 = call <vscale x 4 x float> @llvm.aarch64.sve.fcmla.nxv4f32(<vscale x 4 x i1> %v21, <vscale x 4 x float> %v24, <vscale x 4 x float> %v22, <vscale x 4 x float> %v23, i32 90)
  %v26 = call <8 x float> @llvm.vector.extract.v8f32.nxv4f32(<vscale x 4 x float> %v25, i64 0)
  %v27 = call <vscale x 4 x float> @llvm.vector.insert.nxv4f32.v8f32(<vscale x 4 x float> poison, <8 x float> %v26, i64 0)
  %v28 = call <vscale x 4 x float> asm sideeffect "", "=w,0,~{memory}"(<vscale x 4 x float> %v27)
  %v29 = call <8 x float> @llvm.vector.extract.v8f32.nxv4f32(<vscale x 4 x float> %v28, i64 0)
  %v30 = getelementptr float, ptr %batch5.a, i64 6
  %v31 = call <vscale x 4 x i1> @llvm.aarch64.sve.ptrue.nxv4i1(i32 6)
  %v32 = call <vscale x 4 x float> @llvm.masked.load.nxv4f32.p0(ptr %v30, i32 4, <vscale x 4 x i1> %v31, <vscale x 4 x float> zeroinitializer)
  %v33 = call <8 x float> @llvm.vector.extract.v8f32.nxv4f32(<vscale x 4 x float> %v32, i64 0)
  %v34 = getelementptr float, ptr %batch5.b, i64 2
  %v35 = load i64, ptr %v34, align 4
  %v36 = insertelement <4 x i64> poison, i64 %v35, i64 0
  %v37 = shufflevector <4 x i64> %v36, <4 x i64> poison, <4 x i32> zeroinitializer
  %v38 = bitcast <4 x i64> %v37 to <8 x float>
  %v39 = call <vscale x 4 x i1> @llvm.aarch64.sve.ptrue.nxv4i1(i32 8)
  %v40 = call <vscale x 4 x float> @llvm.vector.insert.nxv4f32.v8f32(<vscale x 4 x float> poison, <8 x float> %v33, i64 0)
  %v41 = call <vscale x 4 x float> @llvm.vector.insert.nxv4f32.v8f32(<vscale x 4 x float> poison, <8 x float> %v38, i64 0)
  %v42 = call <vscale x 4 x float> @llvm.vector.insert.nxv4f32.v8f32(<vscale x 4 x float> poison, <8 x float> %v29, i64 0)
  %v43 = call <vscale x 4 x float> @llvm.aarch64.sve.fcmla.nxv4f32(<vscale x 4 x i1> %v39, <vscale x 4 x float> %v42, <vscale x 4 x float> %v40, <vscale x 4 x float> %v41, i32 0)
  %v44 = call <8 x float> @llvm.vector.extract.v8f32.nxv4f32(<vscale x 4 x float> %v43, i64 0)
  %v45 = call <vscale x 4 x i1> @llvm.aarch64.sve.ptrue.nxv4i1(i32 8)
  %v46 = call <vscale x 4 x float> @llvm.vector.insert.nxv4f32.v8f32(<vscale x 4 x float> poison, <8 x float> %v33, i64 0)
  %v47 = call <vscale x 4 x float> @llvm.vector.insert.nxv4f32.v8f32(<vscale x 4 x float> poison, <8 x float> %v38, i64 0)
  %v48 = call <vscale x 4 x float> @llvm.vector.insert.nxv4f32.v8f32(<vscale x 4 x float> poison, <8 x float> %v44, i64 0)
  %v49 = call <vscale x 4 x float> @llvm.aarch64.sve.fcmla.nxv4f32(<vscale x 4 x i1> %v45, <vscale x 4 x float> %v48, <vscale x 4 x float> %v46, <vscale x 4 x float> %v47, i32 90)
  %v50 = call <8 x float> @llvm.vector.extract.v8f32.nxv4f32(<vscale x 4 x float> %v49, i64 0)
  %v51 = call <vscale x 4 x float> @llvm.vector.insert.nxv4f32.v8f32(<vscale x 4 x float> poison, <8 x float> %v50, i64 0)
  %v52 = call <vscale x 4 x float> asm sideeffect "", "=w,0,~{memory}"(<vscale x 4 x float> %v51)
  %v53 = call <8 x float> @llvm.vector.extract.v8f32.nxv4f32(<vscale x 4 x float> %v52, i64 0)
  call void asm sideeffect "", "~{memory}"()
  %v54 = call <vscale x 4 x i1> @llvm.aarch64.sve.ptrue.nxv4i1(i32 6)
  %v55 = call <vscale x 4 x float> @llvm.vector.insert.nxv4f32.v8f32(<vscale x 4 x float> poison, <8 x float> %v53, i64 0)
  call void @llvm.masked.store.nxv4f32.p0(<vscale x 4 x float> %v55, ptr %batch5.c, i32 4, <vscale x 4 x i1> %v54)
  call void asm sideeffect "", "~{memory}"()
  br label %latch6
latch6:
  %v56 = add i64 %batch5.i, 1
  %v57 = getelementptr float, ptr %batch5.a, i64 %v1
  %v58 = getelementptr float, ptr %batch5.b, i64 %v2
  %v59 = getelementptr float, ptr %batch5.c, i64 %v3
  %v60 = icmp slt i64 %v56, %count
  br i1 %v60, label %batch5, label %done7
done7:
  ret void
}

declare <8 x float> @llvm.vector.extract.v8f32.nxv4f32(<vscale x 4 x float>, i64)
declare <vscale x 4 x float> @llvm.aarch64.sve.fcmla.nxv4f32(<vscale x 4 x i1>, <vscale x 4 x float>, <vscale x 4 x float>, <vscale x 4 x float>, i32 immarg)
declare <vscale x 4 x float> @llvm.masked.load.nxv4f32.p0(ptr, i32, <vscale x 4 x i1>, <vscale x 4 x float>)
declare <vscale x 4 x float> @llvm.vector.insert.nxv4f32.v8f32(<vscale x 4 x float>, <8 x float>, i64)
declare <vscale x 4 x i1> @llvm.aarch64.sve.ptrue.nxv4i1(i32 immarg)
declare void @llvm.masked.store.nxv4f32.p0(<vscale x 4 x float>, ptr, i32, <vscale x 4 x i1>)

!0 = !{i32 1}
