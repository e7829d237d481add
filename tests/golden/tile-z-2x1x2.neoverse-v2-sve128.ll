define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) vscale_range(1,1) {
entry:
  %v1 = shl i64 %sa, 1
  %v2 = shl i64 %sb, 1
  %v3 = shl i64 %sc, 1
  br label %before4
before4:
  %v8 = icmp sgt i64 %count, 0
  br i1 %v8, label %batch5, label %done7
batch5:
  %batch5.i = phi i64 [ 0, %before4 ], [ %v70, %latch6 ]
  %batch5.a = phi ptr [ %A, %before4 ], [ %v71, %latch6 ]
  %batch5.b = phi ptr [ %B, %before4 ], [ %v72, %latch6 ]
  %batch5.c = phi ptr [ %C, %before4 ], [ %v73, %latch6 ]
  %v9 = load <2 x double>, ptr %batch5.a, align 8
  %v10 = getelementptr double, ptr %batch5.a, i64 2
  %v11 = load <2 x double>, ptr %v10, align 8
  %v12 = load <2 x double>, ptr %batch5.b, align 8
  %v13 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 2)
  %v14 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v9, i64 0)
  %v15 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v12, i64 0)
  %v16 = call <vscale x 2 x double> @llvm.aarch64.sve.fcmla.nxv2f64(<vscale x 2 x i1> %v13, <vscale x 2 x double> zeroinitializer, <vscale x 2 x double> %v14, <vscale x 2 x double> %v15, i32 0)
  %v17 = call <2 x double> @llvm.vector.extract.v2f64.nxv2f64(<vscale x 2 x double> %v16, i64 0)
  %v18 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 2)
  %v19 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v9, i64 0)
  %v20 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v12, i64 0)
  %v21 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v17, i64 0)
  %v22 = call <vscale x 2 x double> @llvm.aarch64.sve.fcmla.nxv2f64(<vscale x 2 x i1> %v18, <vscale x 2 x double> %v21, <vscale x 2 x double> %v19, <vscale x 2 x double> %v20, i32 90)
  %v23 = call <2 x double> @llvm.vector.extract.v2f64.nxv2f64(<vscale x 2 x double> %v22, i64 0)
  %v24 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 2)
  %v25 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v11, i64 0)
  %v26 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v12, i64 0)
  %v27 = call <vscale x 2 x double> @llvm.aarch64.sve.fcmla.nxv2f64(<vscale x 2 x i1> %v24, <vscale x 2 x double> zeroinitializer, <vscale x 2 x double> %v25, <vscale x 2 x double> %v26, i32 0)
  %v28 = call <2 x double> @llvm.vector.extract.v2f64.nxv2f64(<vscale x 2 x double> %v27, i64 0)
  %v29 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 2)
  %v30 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v11, i64 0)
  %v31 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v12, i64 0)
  %v32 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v28, i64 0)
  %v33 = call <vscale x 2 x double> @llvm.aarch64.sve.fcmla.nxv2f64(<vscale x 2 x i1> %v29, <vscale x 2 x double> %v32, <vscale x 2 x double> %v30, <vscale x 2 x double> %v31, i32 90)
  %v34 = call <2 x double> @llvm.vector.extract.v2f64.nxv2f64(<vscale x 2 x double> %v33, i64 0)
  %v35 = call <2 x double> asm sideeffect "", "=w,0,~{memory}"(<2 x double> %v23)
  %v36 = call <2 x double> asm sideeffect "", "=w,0,~{memory}"(<2 x double> %v34)
  %v37 = getelementptr double, ptr %batch5.a, i64 4
  %v38 = load <2 x double>, ptr %v37, align 8
  %v39 = getelementptr double, ptr %batch5.a, i64 6
  %v40 = load <2 x double>, ptr %v39, align 8
  %v41 = getelementptr double, ptr %batch5.b, i64 2
  %v42 = load <2 x double>, ptr %v41, align 8
  %v43 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 2)
  %v44 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v38, i64 0)
  %v45 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v42, i64 0)
  %v46 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v35, i64 0)
  %v47 = call <vscale x 2 x double> @llvm.aarch64.sve.fcmla.nxv2f64(<vscale x 2 x i1> %v43, <vscale x 2 x double> %v46, <vscale x 2 x double> %v44, <vscale x 2 x double> %v45, i32 0)
  %v48 = call <2 x double> @llvm.vector.extract.v2f64.nxv2f64(<vscale x 2 x double> %v47, i64 0)
  %v49 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 2)
  %v50 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v38, i64 0)
  %v51 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v42, i64 0)
  %v52 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v48, i64 0)
  %v53 = call <vscale x 2 x double> @llvm.aarch64.sve.fcmla.nxv2f64(<vscale x 2 x i1> %v49, <vscale x 2 x double> %v52, <vscale x 2 x double> %v50, <vscale x 2 x double> %v51, i32 90)
  %v54 = call <2 x double> @llvm.vector.extract.v2f64.nxv2f64(<vscale x 2 x double> %v53, i64 0)
  %v55 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 2)
  %v56 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v40, i64 0)
  %v57 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v42, i64 0)
  %v58 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v36, i64 0)
  %v59 = call <vscale x 2 x double> @llvm.aarch64.sve.fcmla.nxv2f64(<vscale x 2 x i1> %v55, <vscale x 2 x double> %v58, <vscale x 2 x double> %v56, <vscale x 2 x double> %v57, i32 0)
  %v60 = call <2 x double> @llvm.vector.extract.v2f64.nxv2f64(<vscale x 2 x double> %v59, i64 0)
  %v61 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 2)
  %v62 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v40, i64 0)
  %v63 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v42, i64 0)
  %v64 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double> poison, <2 x double> %v60, i64 0)
  %v65 = call <vscale x 2 x double> @llvm.aarch64.sve.fcmla.nxv2f64(<vscale x 2 x i1> %v61, <vscale x 2 x double> %v64, <vscale x 2 x double> %v62, <vscale x 2 x double> %v63, i32 90)
  %v66 = call <2 x double> @llvm.vector.extract.v2f64.nxv2f64(<vscale x 2 x double> %v65, i64 0)
  %v67 = call <2 x double> asm sideeffect "", "=w,0,~{memory}"(<2 x double> %v54)
  %v68 = call <2 x double> asm sideeffect "", "=w,0,~{memory}"(<2 x double> %v66)
  call void asm sideeffect "", "~{memory}"()
  %v69 = getelementptr double, ptr %batch5.c, i64 2
  store <2 x double> %v67, ptr %batch5.c, align 8
  store <2 x double> %v68, ptr %v69, align 8
  call void asm sideeffect "", "~{memory}"()
  br label %latch6
latch6:
  %v70 = add i64 %batch5.i, 1
  %v71 = getelementptr double, ptr %batch5.a, i64 %v1
  %v72 = getelementptr double, ptr %batch5.b, i64 %v2
  %v73 = getelementptr double, ptr %batch5.c, i64 %v3
  %v74 = icmp slt i64 %v70, %count
  br i1 %v74, label %batch5, label %done7
done7:
  ret void
}

declare <2 x double> @llvm.vector.extract.v2f64.nxv2f64(<vscale x 2 x double>, i64)
declare <vscale x 2 x double> @llvm.aarch64.sve.fcmla.nxv2f64(<vscale x 2 x i1>, <vscale x 2 x double>, <vscale x 2 x double>, <vscale x 2 x double>, i32 immarg)
declare <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v2f64(<vscale x 2 x double>, <2 x double>, i64)
declare <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 immarg)

!0 = !{i32 1}
