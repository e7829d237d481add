define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) vscale_range(4,4) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v144, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v145, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v146, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v147, %latch3 ]
  %v6 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 3)
  %v7 = call <vscale x 2 x double> @llvm.masked.load.nxv2f64.p0(ptr %batch2.a, i32 8, <vscale x 2 x i1> %v6, <vscale x 2 x double> zeroinitializer)
  %v8 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v7, i64 0)
  %v9 = load double, ptr %batch2.b, align 8
  %v10 = load i64, ptr %batch2.b, align 8
  %v11 = insertelement <4 x i64> poison, i64 %v10, i64 0
  %v12 = shufflevector <4 x i64> %v11, <4 x i64> poison, <4 x i32> zeroinitializer
  %v13 = bitcast <4 x i64> %v12 to <4 x double>
  %v14 = fmul <4 x double> %v8, %v13
  %v15 = getelementptr double, ptr %batch2.b, i64 3
  %v16 = load double, ptr %v15, align 8
  %v17 = load i64, ptr %v15, align 8
  %v18 = insertelement <4 x i64> poison, i64 %v17, i64 0
  %v19 = shufflevector <4 x i64> %v18, <4 x i64> poison, <4 x i32> zeroinitializer
  %v20 = bitcast <4 x i64> %v19 to <4 x double>
  %v21 = fmul <4 x double> %v8, %v20
  %v22 = getelementptr double, ptr %batch2.b, i64 6
  %v23 = load double, ptr %v22, align 8
  %v24 = load i64, ptr %v22, align 8
  %v25 = insertelement <4 x i64> poison, i64 %v24, i64 0
  %v26 = shufflevector <4 x i64> %v25, <4 x i64> poison, <4 x i32> zeroinitializer
  %v27 = bitcast <4 x i64> %v26 to <4 x double>
  %v28 = fmul <4 x double> %v8, %v27
  %v29 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v14, i64 0)
  %v30 = call <vscale x 2 x double> asm sideeffect "", "=w,0,~{memory}"(<vscale x 2 x double> %v29)
  %v31 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v30, i64 0)
  %v32 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v21, i64 0)
  %v33 = call <vscale x 2 x double> asm sideeffect "", "=w,0,~{memory}"(<vscale x 2 x double> %v32)
  %v34 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v33, i64 0)
  %v35 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v28, i64 0)
  %v36 = call <vscale x 2 x double> asm sideeffect "", "=w,0,~{memory}"(<vscale x 2 x double> %v35)
  %v37 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v36, i64 0)
  %v38 = getelementptr double, ptr %batch2.a, i64 3
  %v39 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 3)
  %v40 = call <vscale x 2 x double> @llvm.masked.load.nxv2f64.p0(ptr %v38, i32 8, <vscale x 2 x i1> %v39, <vscale x 2 x double> zeroinitializer)
  %v41 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v40, i64 0)
  %v42 = getelementptr double, ptr %batch2.b, i64 1
  %v43 = load double, ptr %v42, align 8
  %v44 = load i64, ptr %v42, align 8
  %v45 = insertelement <4 x i64> poison, i64 %v44, i64 0
  %v46 = shufflevector <4 x i64> %v45, <4 x i64> poison, <4 x i32> zeroinitializer
  %v47 = bitcast <4 x i64> %v46 to <4 x double>
  %v48 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 4)
  %v49 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v41, i64 0)
  %v50 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v47, i64 0)
  %v51 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v31, i64 0)
  %v52 = call <vscale x 2 x double> @llvm.aarch64.sve.fmla.nxv2f64(<vscale x 2 x i1> %v48, <vscale x 2 x double> %v51, <vscale x 2 x double> %v49, <vscale x 2 x double> %v50)
  %v53 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v52, i64 0)
  %v54 = getelementptr double, ptr %batch2.b, i64 4
  %v55 = load double, ptr %v54, align 8
  %v56 = load i64, ptr %v54, align 8
  %v57 = insertelement <4 x i64> poison, i64 %v56, i64 0
  %v58 = shufflevector <4 x i64> %v57, <4 x i64> poison, <4 x i32> zeroinitializer
  %v59 = bitcast <4 x i64> %v58 to <4 x double>
  %v60 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 4)
  %v61 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v41, i64 0)
  %v62 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v59, i64 0)
  %v63 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v34, i64 0)
  %v64 = call <vscale x 2 x double> @llvm.aarch64.sve.fmla.nxv2f64(<vscale x 2 x i1> %v60, <vscale x 2 x double> %v63, <vscale x 2 x double> %v61, <vscale x 2 x double> %v62)
  %v65 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v64, i64 0)
  %v66 = getelementptr double, ptr %batch2.b, i64 7
  %v67 = load double, ptr %v66, align 8
  %v68 = load i64, ptr %v66, align 8
  %v69 = insertelement <4 x i64> poison, i64 %v68, i64 0
  %v70 = shufflevector <4 x i64> %v69, <4 x i64> poison, <4 x i32> zeroinitializer
  %v71 = bitcast <4 x i64> %v70 to <4 x double>
  %v72 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 4)
  %v73 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v41, i64 0)
  %v74 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v71, i64 0)
  %v75 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v37, i64 0)
  %v76 = call <vscale x 2 x double> @llvm.aarch64.sve.fmla.nxv2f64(<vscale x 2 x i1> %v72, <vscale x 2 x double> %v75, <vscale x 2 x double> %v73, <vscale x 2 x double> %v74)
  %v77 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v76, i64 0)
  %v78 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v53, i64 0)
  %v79 = call <vscale x 2 x double> asm sideeffect "", "=w,0,~{memory}"(<vscale x 2 x double> %v78)
  %v80 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v79, i64 0)
  %v81 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v65, i64 0)
  %v82 = call <vscale x 2 x double> asm sideeffect "", "=w,0,~{memory}"(<vscale x 2 x double> %v81)
  %v83 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v82, i64 0)
  %v84 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v77, i64 0)
  %v85 = call <vscale x 2 x double> asm sideeffect "", "=w,0,~{memory}"(<vscale x 2 x double> %v84)
  %v86 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v85, i64 0)
  %v87 = getelementptr double, ptr %batch2.a, i64 6
  %v88 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 3)
  %v89 = call <vscale x 2 x double> @llvm.masked.load.nxv2f64.p0(ptr %v87, i32 8, <vscale x 2 x i1> %v88, <vscale x 2 x double> zeroinitializer)
  %v90 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v89, i64 0)
  %v91 = getelementptr double, ptr %batch2.b, i64 2
  %v92 = load double, ptr %v91, align 8
  %v93 = load i64, ptr %v91, align 8
  %v94 = insertelement <4 x i64> poison, i64 %v93, i64 0
  %v95 = shufflevector <4 x i64> %v94, <4 x i64> poison, <4 x i32> zeroinitializer
  %v96 = bitcast <4 x i64> %v95 to <4 x double>
  %v97 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 4)
  %v98 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v90, i64 0)
  %v99 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v96, i64 0)
  %v100 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v80, i64 0)
  %v101 = call <vscale x 2 x double> @llvm.aarch64.sve.fmla.nxv2f64(<vscale x 2 x i1> %v97, <vscale x 2 x double> %v100, <vscale x 2 x double> %v98, <vscale x 2 x double> %v99)
  %v102 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v101, i64 0)
  %v103 = getelementptr double, ptr %batch2.b, i64 5
  %v104 = load double, ptr %v103, align 8
  %v105 = load i64, ptr %v103, align 8
  %v106 = insertelement <4 x i64> poison, i64 %v105, i64 0
  %v107 = shufflevector <4 x i64> %v106, <4 x i64> poison, <4 x i32> zeroinitializer
  %v108 = bitcast <4 x i64> %v107 to <4 x double>
  %v109 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 4)
  %v110 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v90, i64 0)
  %v111 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v108, i64 0)
  %v112 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v83, i64 0)
  %v113 = call <vscale x 2 x double> @llvm.aarch64.sve.fmla.nxv2f64(<vscale x 2 x i1> %v109, <vscale x 2 x double> %v112, <vscale x 2 x double> %v110, <vscale x 2 x double> %v111)
  %v114 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v113, i64 0)
  %v115 = getelementptr double, ptr %batch2.b, i64 8
  %v116 = load double, ptr %v115, align 8
  %v117 = load i64, ptr %v115, align 8
  %v118 = insertelement <4 x i64> poison, i64 %v117, i64 0
  %v119 = shufflevector <4 x i64> %v118, <4 x i64> poison, <4 x i32> zeroinitializer
  %v120 = bitcast <4 x i64> %v119 to <4 x double>
  %v121 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 4)
  %v122 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v90, i64 0)
  %v123 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v120, i64 0)
  %v124 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v86, i64 0)
  %v125 = call <vscale x 2 x double> @llvm.aarch64.sve.fmla.nxv2f64(<vscale x 2 x i1> %v121, <vscale x 2 x double> %v124, <vscale x 2 x double> %v122, <vscale x 2 x double> %v123)
  %v126 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v125, i64 0)
  %v127 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v102, i64 0)
  %v128 = call <vscale x 2 x double> asm sideeffect "", "=w,0,~{memory}"(<vscale x 2 x double> %v127)
  %v129 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v128, i64 0)
  %v130 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v114, i64 0)
  %v131 = call <vscale x 2 x double> asm sideeffect "", "=w,0,~{memory}"(<vscale x 2 x double> %v130)
  %v132 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v131, i64 0)
  %v133 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v126, i64 0)
  %v134 = call <vscale x 2 x double> asm sideeffect "", "=w,0,~{memory}"(<vscale x 2 x double> %v133)
  %v135 = call <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double> %v134, i64 0)
  call void asm sideeffect "", "~{memory}"()
  %v136 = getelementptr double, ptr %batch2.c, i64 3
  %v137 = getelementptr double, ptr %batch2.c, i64 6
  %v138 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 3)
  %v139 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v129, i64 0)
  call void @llvm.masked.store.nxv2f64.p0(<vscale x 2 x double> %v139, ptr %batch2.c, i32 8, <vscale x 2 x i1> %v138)
  %v140 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 3)
  %v141 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v132, i64 0)
  call void @llvm.masked.store.nxv2f64.p0(<vscale x 2 x double> %v141, ptr %v136, i32 8, <vscale x 2 x i1> %v140)
  %v142 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 3)
  %v143 = call <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double> poison, <4 x double> %v135, i64 0)
  call void @llvm.masked.store.nxv2f64.p0(<vscale x 2 x double> %v143, ptr %v137, i32 8, <vscale x 2 x i1> %v142)
  call void asm sideeffect "", "~{memory}"()
  br label %latch3
latch3:
  %v144 = add i64 %batch2.i, 1
  %v145 = getelementptr double, ptr %batch2.a, i64 %sa
  %v146 = getelementptr double, ptr %batch2.b, i64 %sb
  %v147 = getelementptr double, ptr %batch2.c, i64 %sc
  %v148 = icmp slt i64 %v144, %count
  br i1 %v148, label %batch2, label %done4
done4:
  ret void
}

declare <4 x double> @llvm.vector.extract.v4f64.nxv2f64(<vscale x 2 x double>, i64)
declare <vscale x 2 x double> @llvm.aarch64.sve.fmla.nxv2f64(<vscale x 2 x i1>, <vscale x 2 x double>, <vscale x 2 x double>, <vscale x 2 x double>)
declare <vscale x 2 x double> @llvm.masked.load.nxv2f64.p0(ptr, i32, <vscale x 2 x i1>, <vscale x 2 x double>)
declare <vscale x 2 x double> @llvm.vector.insert.nxv2f64.v4f64(<vscale x 2 x double>, <4 x double>, i64)
declare <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 immarg)
declare void @llvm.masked.store.nxv2f64.p0(<vscale x 2 x double>, ptr, i32, <vscale x 2 x i1>)

!0 = !{i32 1}
