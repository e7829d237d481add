; d:nn:8x8x8|packed|alpha=1|beta=0|ieee haswell
; vector_bits=256 tail=mask store=stream cmul=none blk_m=2 blk_n=4 blk_k=8 inner=column reg_a=2 reg_b=1 order=nm roll=0 prefetch=4 level=2
define void @tilewright_kernel_plain(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v138, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v139, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v140, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v141, %latch3 ]
  br label %columns6
columns6:
  br label %column7
column7:
  %column7.i = phi i64 [ 0, %columns6 ], [ %v134, %turn8 ]
  %column7.b = phi ptr [ %batch2.b, %columns6 ], [ %v135, %turn8 ]
  %column7.c = phi ptr [ %batch2.c, %columns6 ], [ %v136, %turn8 ]
  br label %head10
head10:
  br label %k11
k11:
  %k11.i = phi i64 [ 0, %head10 ], [ %v124, %k11 ]
  %k11.a = phi ptr [ %batch2.a, %head10 ], [ %v122, %k11 ]
  %k11.b = phi ptr [ %column7.b, %head10 ], [ %v123, %k11 ]
  %k11.s0 = phi <4 x double> [ zeroinitializer, %head10 ], [ %v102, %k11 ]
  %k11.s1 = phi <4 x double> [ zeroinitializer, %head10 ], [ %v103, %k11 ]
  %k11.s2 = phi <4 x double> [ zeroinitializer, %head10 ], [ %v108, %k11 ]
  %k11.s3 = phi <4 x double> [ zeroinitializer, %head10 ], [ %v109, %k11 ]
  %k11.s4 = phi <4 x double> [ zeroinitializer, %head10 ], [ %v114, %k11 ]
  %k11.s5 = phi <4 x double> [ zeroinitializer, %head10 ], [ %v115, %k11 ]
  %k11.s6 = phi <4 x double> [ zeroinitializer, %head10 ], [ %v120, %k11 ]
  %k11.s7 = phi <4 x double> [ zeroinitializer, %head10 ], [ %v121, %k11 ]
  %v12 = load <4 x double>, ptr %k11.a, align 8
  %v13 = getelementptr double, ptr %k11.a, i64 4
  %v14 = load <4 x double>, ptr %v13, align 8
  %v15 = load double, ptr %k11.b, align 8
  %v16 = insertelement <4 x double> poison, double %v15, i64 0
  %v17 = shufflevector <4 x double> %v16, <4 x double> poison, <4 x i32> zeroinitializer
  %v18 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v12, <4 x double> %v17, <4 x double> %k11.s0)
  %v19 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v14, <4 x double> %v17, <4 x double> %k11.s1)
  %v20 = getelementptr double, ptr %k11.b, i64 8
  %v21 = load double, ptr %v20, align 8
  %v22 = insertelement <4 x double> poison, double %v21, i64 0
  %v23 = shufflevector <4 x double> %v22, <4 x double> poison, <4 x i32> zeroinitializer
  %v24 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v12, <4 x double> %v23, <4 x double> %k11.s2)
  %v25 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v14, <4 x double> %v23, <4 x double> %k11.s3)
  %v26 = getelementptr double, ptr %k11.b, i64 16
  %v27 = load double, ptr %v26, align 8
  %v28 = insertelement <4 x double> poison, double %v27, i64 0
  %v29 = shufflevector <4 x double> %v28, <4 x double> poison, <4 x i32> zeroinitializer
  %v30 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v12, <4 x double> %v29, <4 x double> %k11.s4)
  %v31 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v14, <4 x double> %v29, <4 x double> %k11.s5)
  %v32 = getelementptr double, ptr %k11.b, i64 24
  %v33 = load double, ptr %v32, align 8
  %v34 = insertelement <4 x double> poison, double %v33, i64 0
  %v35 = shufflevector <4 x double> %v34, <4 x double> poison, <4 x i32> zeroinitializer
  %v36 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v12, <4 x double> %v35, <4 x double> %k11.s6)
  %v37 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v14, <4 x double> %v35, <4 x double> %k11.s7)
  %v38 = getelementptr double, ptr %k11.a, i64 8
  %v39 = load <4 x double>, ptr %v38, align 8
  %v40 = getelementptr double, ptr %k11.a, i64 12
  %v41 = load <4 x double>, ptr %v40, align 8
  %v42 = getelementptr double, ptr %k11.b, i64 1
  %v43 = load double, ptr %v42, align 8
  %v44 = insertelement <4 x double> poison, double %v43, i64 0
  %v45 = shufflevector <4 x double> %v44, <4 x double> poison, <4 x i32> zeroinitializer
  %v46 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v39, <4 x double> %v45, <4 x double> %v18)
  %v47 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v41, <4 x double> %v45, <4 x double> %v19)
  %v48 = getelementptr double, ptr %k11.b, i64 9
  %v49 = load double, ptr %v48, align 8
  %v50 = insertelement <4 x double> poison, double %v49, i64 0
  %v51 = shufflevector <4 x double> %v50, <4 x double> poison, <4 x i32> zeroinitializer
  %v52 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v39, <4 x double> %v51, <4 x double> %v24)
  %v53 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v41, <4 x double> %v51, <4 x double> %v25)
  %v54 = getelementptr double, ptr %k11.b, i64 17
  %v55 = load double, ptr %v54, align 8
  %v56 = insertelement <4 x double> poison, double %v55, i64 0
  %v57 = shufflevector <4 x double> %v56, <4 x double> poison, <4 x i32> zeroinitializer
  %v58 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v39, <4 x double> %v57, <4 x double> %v30)
  %v59 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v41, <4 x double> %v57, <4 x double> %v31)
  %v60 = getelementptr double, ptr %k11.b, i64 25
  %v61 = load double, ptr %v60, align 8
  %v62 = insertelement <4 x double> poison, double %v61, i64 0
  %v63 = shufflevector <4 x double> %v62, <4 x double> poison, <4 x i32> zeroinitializer
  %v64 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v39, <4 x double> %v63, <4 x double> %v36)
  %v65 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v41, <4 x double> %v63, <4 x double> %v37)
  %v66 = getelementptr double, ptr %k11.a, i64 16
  %v67 = load <4 x double>, ptr %v66, align 8
  %v68 = getelementptr double, ptr %k11.a, i64 20
  %v69 = load <4 x double>, ptr %v68, align 8
  %v70 = getelementptr double, ptr %k11.b, i64 2
  %v71 = load double, ptr %v70, align 8
  %v72 = insertelement <4 x double> poison, double %v71, i64 0
  %v73 = shufflevector <4 x double> %v72, <4 x double> poison, <4 x i32> zeroinitializer
  %v74 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v67, <4 x double> %v73, <4 x double> %v46)
  %v75 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v69, <4 x double> %v73, <4 x double> %v47)
  %v76 = getelementptr double, ptr %k11.b, i64 10
  %v77 = load double, ptr %v76, align 8
  %v78 = insertelement <4 x double> poison, double %v77, i64 0
  %v79 = shufflevector <4 x double> %v78, <4 x double> poison, <4 x i32> zeroinitializer
  %v80 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v67, <4 x double> %v79, <4 x double> %v52)
  %v81 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v69, <4 x double> %v79, <4 x double> %v53)
  %v82 = getelementptr double, ptr %k11.b, i64 18
  %v83 = load double, ptr %v82, align 8
  %v84 = insertelement <4 x double> poison, double %v83, i64 0
  %v85 = shufflevector <4 x double> %v84, <4 x double> poison, <4 x i32> zeroinitializer
  %v86 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v67, <4 x double> %v85, <4 x double> %v58)
  %v87 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v69, <4 x double> %v85, <4 x double> %v59)
  %v88 = getelementptr double, ptr %k11.b, i64 26
  %v89 = load double, ptr %v88, align 8
  %v90 = insertelement <4 x double> poison, double %v89, i64 0
  %v91 = shufflevector <4 x double> %v90, <4 x double> poison, <4 x i32> zeroinitializer
  %v92 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v67, <4 x double> %v91, <4 x double> %v64)
  %v93 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v69, <4 x double> %v91, <4 x double> %v65)
  %v94 = getelementptr double, ptr %k11.a, i64 24
  %v95 = load <4 x double>, ptr %v94, align 8
  %v96 = getelementptr double, ptr %k11.a, i64 28
  %v97 = load <4 x double>, ptr %v96, align 8
  %v98 = getelementptr double, ptr %k11.b, i64 3
  %v99 = load double, ptr %v98, align 8
  %v100 = insertelement <4 x double> poison, double %v99, i64 0
  %v101 = shufflevector <4 x double> %v100, <4 x double> poison, <4 x i32> zeroinitializer
  %v102 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v95, <4 x double> %v101, <4 x double> %v74)
  %v103 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v97, <4 x double> %v101, <4 x double> %v75)
  %v104 = getelementptr double, ptr %k11.b, i64 11
  %v105 = load double, ptr %v104, align 8
  %v106 = insertelement <4 x double> poison, double %v105, i64 0
  %v107 = shufflevector <4 x double> %v106, <4 x double> poison, <4 x i32> zeroinitializer
  %v108 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v95, <4 x double> %v107, <4 x double> %v80)
  %v109 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v97, <4 x double> %v107, <4 x double> %v81)
  %v110 = getelementptr double, ptr %k11.b, i64 19
  %v111 = load double, ptr %v110, align 8
  %v112 = insertelement <4 x double> poison, double %v111, i64 0
  %v113 = shufflevector <4 x double> %v112, <4 x double> poison, <4 x i32> zeroinitializer
  %v114 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v95, <4 x double> %v113, <4 x double> %v86)
  %v115 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v97, <4 x double> %v113, <4 x double> %v87)
  %v116 = getelementptr double, ptr %k11.b, i64 27
  %v117 = load double, ptr %v116, align 8
  %v118 = insertelement <4 x double> poison, double %v117, i64 0
  %v119 = shufflevector <4 x double> %v118, <4 x double> poison, <4 x i32> zeroinitializer
  %v120 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v95, <4 x double> %v119, <4 x double> %v92)
  %v121 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v97, <4 x double> %v119, <4 x double> %v93)
  %v122 = getelementptr double, ptr %k11.a, i64 32
  %v123 = getelementptr double, ptr %k11.b, i64 4
  %v124 = add i64 %k11.i, 4
  %v125 = icmp slt i64 %v124, 8
  br i1 %v125, label %k11, label %tail126
tail126:
  %v127 = getelementptr double, ptr %column7.c, i64 4
  %v128 = getelementptr double, ptr %column7.c, i64 8
  %v129 = getelementptr double, ptr %column7.c, i64 12
  %v130 = getelementptr double, ptr %column7.c, i64 16
  %v131 = getelementptr double, ptr %column7.c, i64 20
  %v132 = getelementptr double, ptr %column7.c, i64 24
  %v133 = getelementptr double, ptr %column7.c, i64 28
  store <4 x double> %v102, ptr %column7.c, align 8
  store <4 x double> %v103, ptr %v127, align 8
  store <4 x double> %v108, ptr %v128, align 8
  store <4 x double> %v109, ptr %v129, align 8
  store <4 x double> %v114, ptr %v130, align 8
  store <4 x double> %v115, ptr %v131, align 8
  store <4 x double> %v120, ptr %v132, align 8
  store <4 x double> %v121, ptr %v133, align 8
  br label %turn8
turn8:
  %v134 = add i64 %column7.i, 1
  %v135 = getelementptr double, ptr %column7.b, i64 32
  %v136 = getelementptr double, ptr %column7.c, i64 32
  %v137 = icmp slt i64 %v134, 2
  br i1 %v137, label %column7, label %past9
past9:
  br label %latch3
latch3:
  %v138 = add i64 %batch2.i, 1
  %v139 = getelementptr double, ptr %batch2.a, i64 %sa
  %v140 = getelementptr double, ptr %batch2.b, i64 %sb
  %v141 = getelementptr double, ptr %batch2.c, i64 %sc
  %v142 = icmp slt i64 %v138, %count
  br i1 %v142, label %batch2, label %done4
done4:
  ret void
}

define void @tilewright_kernel_staged(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [200 x double], align 64
  %v2 = alloca i64
  %v3 = alloca i64
  %v4 = alloca ptr
  %v5 = ptrtoint ptr %C to i64
  %v6 = and i64 %v5, 63
  %v7 = udiv i64 %v6, 8
  %v8 = sub i64 0, %v7
  %v9 = getelementptr double, ptr %C, i64 %v8
  store i64 %v7, ptr %v2
  store i64 %v7, ptr %v3
  store ptr %v9, ptr %v4
  br label %before10
before10:
  %v14 = icmp sgt i64 %count, 0
  br i1 %v14, label %batch11, label %done13
batch11:
  %batch11.i = phi i64 [ 0, %before10 ], [ %v537, %latch12 ]
  %batch11.a = phi ptr [ %A, %before10 ], [ %v538, %latch12 ]
  %batch11.b = phi ptr [ %B, %before10 ], [ %v539, %latch12 ]
  %batch11.c = phi ptr [ %C, %before10 ], [ %v540, %latch12 ]
  %v15 = mul i64 %sa, 4
  %v16 = getelementptr double, ptr %batch11.a, i64 %v15
  %v17 = mul i64 %sb, 4
  %v18 = getelementptr double, ptr %batch11.b, i64 %v17
  %v19 = load i64, ptr %v2
  %v20 = getelementptr double, ptr %v1, i64 %v19
  %v21 = load <4 x double>, ptr %batch11.a, align 8
  %v22 = getelementptr double, ptr %batch11.a, i64 4
  %v23 = load <4 x double>, ptr %v22, align 8
  %v24 = load double, ptr %batch11.b, align 8
  %v25 = insertelement <4 x double> poison, double %v24, i64 0
  %v26 = shufflevector <4 x double> %v25, <4 x double> poison, <4 x i32> zeroinitializer
  %v27 = fmul <4 x double> %v21, %v26
  %v28 = fmul <4 x double> %v23, %v26
  %v29 = getelementptr double, ptr %batch11.b, i64 8
  %v30 = load double, ptr %v29, align 8
  %v31 = insertelement <4 x double> poison, double %v30, i64 0
  %v32 = shufflevector <4 x double> %v31, <4 x double> poison, <4 x i32> zeroinitializer
  %v33 = fmul <4 x double> %v21, %v32
  %v34 = fmul <4 x double> %v23, %v32
  %v35 = getelementptr double, ptr %batch11.b, i64 16
  %v36 = load double, ptr %v35, align 8
  %v37 = insertelement <4 x double> poison, double %v36, i64 0
  %v38 = shufflevector <4 x double> %v37, <4 x double> poison, <4 x i32> zeroinitializer
  %v39 = fmul <4 x double> %v21, %v38
  %v40 = fmul <4 x double> %v23, %v38
  %v41 = getelementptr double, ptr %batch11.b, i64 24
  %v42 = load double, ptr %v41, align 8
  %v43 = insertelement <4 x double> poison, double %v42, i64 0
  %v44 = shufflevector <4 x double> %v43, <4 x double> poison, <4 x i32> zeroinitializer
  %v45 = fmul <4 x double> %v21, %v44
  %v46 = fmul <4 x double> %v23, %v44
  call void @llvm.prefetch.p0(ptr %v16, i32 0, i32 2, i32 1)
  %v47 = getelementptr double, ptr %batch11.a, i64 8
  %v48 = load <4 x double>, ptr %v47, align 8
  %v49 = getelementptr double, ptr %batch11.a, i64 12
  %v50 = load <4 x double>, ptr %v49, align 8
  %v51 = getelementptr double, ptr %batch11.b, i64 1
  %v52 = load double, ptr %v51, align 8
  %v53 = insertelement <4 x double> poison, double %v52, i64 0
  %v54 = shufflevector <4 x double> %v53, <4 x double> poison, <4 x i32> zeroinitializer
  %v55 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v48, <4 x double> %v54, <4 x double> %v27)
  %v56 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v50, <4 x double> %v54, <4 x double> %v28)
  %v57 = getelementptr double, ptr %batch11.b, i64 9
  %v58 = load double, ptr %v57, align 8
  %v59 = insertelement <4 x double> poison, double %v58, i64 0
  %v60 = shufflevector <4 x double> %v59, <4 x double> poison, <4 x i32> zeroinitializer
  %v61 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v48, <4 x double> %v60, <4 x double> %v33)
  %v62 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v50, <4 x double> %v60, <4 x double> %v34)
  %v63 = getelementptr double, ptr %batch11.b, i64 17
  %v64 = load double, ptr %v63, align 8
  %v65 = insertelement <4 x double> poison, double %v64, i64 0
  %v66 = shufflevector <4 x double> %v65, <4 x double> poison, <4 x i32> zeroinitializer
  %v67 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v48, <4 x double> %v66, <4 x double> %v39)
  %v68 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v50, <4 x double> %v66, <4 x double> %v40)
  %v69 = getelementptr double, ptr %batch11.b, i64 25
  %v70 = load double, ptr %v69, align 8
  %v71 = insertelement <4 x double> poison, double %v70, i64 0
  %v72 = shufflevector <4 x double> %v71, <4 x double> poison, <4 x i32> zeroinitializer
  %v73 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v48, <4 x double> %v72, <4 x double> %v45)
  %v74 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v50, <4 x double> %v72, <4 x double> %v46)
  %v75 = getelementptr double, ptr %v16, i64 8
  call void @llvm.prefetch.p0(ptr %v75, i32 0, i32 2, i32 1)
  %v76 = getelementptr double, ptr %batch11.a, i64 16
  %v77 = load <4 x double>, ptr %v76, align 8
  %v78 = getelementptr double, ptr %batch11.a, i64 20
  %v79 = load <4 x double>, ptr %v78, align 8
  %v80 = getelementptr double, ptr %batch11.b, i64 2
  %v81 = load double, ptr %v80, align 8
  %v82 = insertelement <4 x double> poison, double %v81, i64 0
  %v83 = shufflevector <4 x double> %v82, <4 x double> poison, <4 x i32> zeroinitializer
  %v84 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v77, <4 x double> %v83, <4 x double> %v55)
  %v85 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v79, <4 x double> %v83, <4 x double> %v56)
  %v86 = getelementptr double, ptr %batch11.b, i64 10
  %v87 = load double, ptr %v86, align 8
  %v88 = insertelement <4 x double> poison, double %v87, i64 0
  %v89 = shufflevector <4 x double> %v88, <4 x double> poison, <4 x i32> zeroinitializer
  %v90 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v77, <4 x double> %v89, <4 x double> %v61)
  %v91 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v79, <4 x double> %v89, <4 x double> %v62)
  %v92 = getelementptr double, ptr %batch11.b, i64 18
  %v93 = load double, ptr %v92, align 8
  %v94 = insertelement <4 x double> poison, double %v93, i64 0
  %v95 = shufflevector <4 x double> %v94, <4 x double> poison, <4 x i32> zeroinitializer
  %v96 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v77, <4 x double> %v95, <4 x double> %v67)
  %v97 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v79, <4 x double> %v95, <4 x double> %v68)
  %v98 = getelementptr double, ptr %batch11.b, i64 26
  %v99 = load double, ptr %v98, align 8
  %v100 = insertelement <4 x double> poison, double %v99, i64 0
  %v101 = shufflevector <4 x double> %v100, <4 x double> poison, <4 x i32> zeroinitializer
  %v102 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v77, <4 x double> %v101, <4 x double> %v73)
  %v103 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v79, <4 x double> %v101, <4 x double> %v74)
  %v104 = getelementptr double, ptr %v16, i64 16
  call void @llvm.prefetch.p0(ptr %v104, i32 0, i32 2, i32 1)
  %v105 = getelementptr double, ptr %batch11.a, i64 24
  %v106 = load <4 x double>, ptr %v105, align 8
  %v107 = getelementptr double, ptr %batch11.a, i64 28
  %v108 = load <4 x double>, ptr %v107, align 8
  %v109 = getelementptr double, ptr %batch11.b, i64 3
  %v110 = load double, ptr %v109, align 8
  %v111 = insertelement <4 x double> poison, double %v110, i64 0
  %v112 = shufflevector <4 x double> %v111, <4 x double> poison, <4 x i32> zeroinitializer
  %v113 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v106, <4 x double> %v112, <4 x double> %v84)
  %v114 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v108, <4 x double> %v112, <4 x double> %v85)
  %v115 = getelementptr double, ptr %batch11.b, i64 11
  %v116 = load double, ptr %v115, align 8
  %v117 = insertelement <4 x double> poison, double %v116, i64 0
  %v118 = shufflevector <4 x double> %v117, <4 x double> poison, <4 x i32> zeroinitializer
  %v119 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v106, <4 x double> %v118, <4 x double> %v90)
  %v120 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v108, <4 x double> %v118, <4 x double> %v91)
  %v121 = getelementptr double, ptr %batch11.b, i64 19
  %v122 = load double, ptr %v121, align 8
  %v123 = insertelement <4 x double> poison, double %v122, i64 0
  %v124 = shufflevector <4 x double> %v123, <4 x double> poison, <4 x i32> zeroinitializer
  %v125 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v106, <4 x double> %v124, <4 x double> %v96)
  %v126 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v108, <4 x double> %v124, <4 x double> %v97)
  %v127 = getelementptr double, ptr %batch11.b, i64 27
  %v128 = load double, ptr %v127, align 8
  %v129 = insertelement <4 x double> poison, double %v128, i64 0
  %v130 = shufflevector <4 x double> %v129, <4 x double> poison, <4 x i32> zeroinitializer
  %v131 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v106, <4 x double> %v130, <4 x double> %v102)
  %v132 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v108, <4 x double> %v130, <4 x double> %v103)
  %v133 = getelementptr double, ptr %v16, i64 24
  call void @llvm.prefetch.p0(ptr %v133, i32 0, i32 2, i32 1)
  %v134 = getelementptr double, ptr %batch11.a, i64 32
  %v135 = load <4 x double>, ptr %v134, align 8
  %v136 = getelementptr double, ptr %batch11.a, i64 36
  %v137 = load <4 x double>, ptr %v136, align 8
  %v138 = getelementptr double, ptr %batch11.b, i64 4
  %v139 = load double, ptr %v138, align 8
  %v140 = insertelement <4 x double> poison, double %v139, i64 0
  %v141 = shufflevector <4 x double> %v140, <4 x double> poison, <4 x i32> zeroinitializer
  %v142 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v135, <4 x double> %v141, <4 x double> %v113)
  %v143 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v137, <4 x double> %v141, <4 x double> %v114)
  %v144 = getelementptr double, ptr %batch11.b, i64 12
  %v145 = load double, ptr %v144, align 8
  %v146 = insertelement <4 x double> poison, double %v145, i64 0
  %v147 = shufflevector <4 x double> %v146, <4 x double> poison, <4 x i32> zeroinitializer
  %v148 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v135, <4 x double> %v147, <4 x double> %v119)
  %v149 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v137, <4 x double> %v147, <4 x double> %v120)
  %v150 = getelementptr double, ptr %batch11.b, i64 20
  %v151 = load double, ptr %v150, align 8
  %v152 = insertelement <4 x double> poison, double %v151, i64 0
  %v153 = shufflevector <4 x double> %v152, <4 x double> poison, <4 x i32> zeroinitializer
  %v154 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v135, <4 x double> %v153, <4 x double> %v125)
  %v155 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v137, <4 x double> %v153, <4 x double> %v126)
  %v156 = getelementptr double, ptr %batch11.b, i64 28
  %v157 = load double, ptr %v156, align 8
  %v158 = insertelement <4 x double> poison, double %v157, i64 0
  %v159 = shufflevector <4 x double> %v158, <4 x double> poison, <4 x i32> zeroinitializer
  %v160 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v135, <4 x double> %v159, <4 x double> %v131)
  %v161 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v137, <4 x double> %v159, <4 x double> %v132)
  %v162 = getelementptr double, ptr %v16, i64 32
  call void @llvm.prefetch.p0(ptr %v162, i32 0, i32 2, i32 1)
  %v163 = getelementptr double, ptr %batch11.a, i64 40
  %v164 = load <4 x double>, ptr %v163, align 8
  %v165 = getelementptr double, ptr %batch11.a, i64 44
  %v166 = load <4 x double>, ptr %v165, align 8
  %v167 = getelementptr double, ptr %batch11.b, i64 5
  %v168 = load double, ptr %v167, align 8
  %v169 = insertelement <4 x double> poison, double %v168, i64 0
  %v170 = shufflevector <4 x double> %v169, <4 x double> poison, <4 x i32> zeroinitializer
  %v171 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v164, <4 x double> %v170, <4 x double> %v142)
  %v172 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v166, <4 x double> %v170, <4 x double> %v143)
  %v173 = getelementptr double, ptr %batch11.b, i64 13
  %v174 = load double, ptr %v173, align 8
  %v175 = insertelement <4 x double> poison, double %v174, i64 0
  %v176 = shufflevector <4 x double> %v175, <4 x double> poison, <4 x i32> zeroinitializer
  %v177 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v164, <4 x double> %v176, <4 x double> %v148)
  %v178 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v166, <4 x double> %v176, <4 x double> %v149)
  %v179 = getelementptr double, ptr %batch11.b, i64 21
  %v180 = load double, ptr %v179, align 8
  %v181 = insertelement <4 x double> poison, double %v180, i64 0
  %v182 = shufflevector <4 x double> %v181, <4 x double> poison, <4 x i32> zeroinitializer
  %v183 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v164, <4 x double> %v182, <4 x double> %v154)
  %v184 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v166, <4 x double> %v182, <4 x double> %v155)
  %v185 = getelementptr double, ptr %batch11.b, i64 29
  %v186 = load double, ptr %v185, align 8
  %v187 = insertelement <4 x double> poison, double %v186, i64 0
  %v188 = shufflevector <4 x double> %v187, <4 x double> poison, <4 x i32> zeroinitializer
  %v189 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v164, <4 x double> %v188, <4 x double> %v160)
  %v190 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v166, <4 x double> %v188, <4 x double> %v161)
  %v191 = getelementptr double, ptr %v16, i64 40
  call void @llvm.prefetch.p0(ptr %v191, i32 0, i32 2, i32 1)
  %v192 = getelementptr double, ptr %batch11.a, i64 48
  %v193 = load <4 x double>, ptr %v192, align 8
  %v194 = getelementptr double, ptr %batch11.a, i64 52
  %v195 = load <4 x double>, ptr %v194, align 8
  %v196 = getelementptr double, ptr %batch11.b, i64 6
  %v197 = load double, ptr %v196, align 8
  %v198 = insertelement <4 x double> poison, double %v197, i64 0
  %v199 = shufflevector <4 x double> %v198, <4 x double> poison, <4 x i32> zeroinitializer
  %v200 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v193, <4 x double> %v199, <4 x double> %v171)
  %v201 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v195, <4 x double> %v199, <4 x double> %v172)
  %v202 = getelementptr double, ptr %batch11.b, i64 14
  %v203 = load double, ptr %v202, align 8
  %v204 = insertelement <4 x double> poison, double %v203, i64 0
  %v205 = shufflevector <4 x double> %v204, <4 x double> poison, <4 x i32> zeroinitializer
  %v206 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v193, <4 x double> %v205, <4 x double> %v177)
  %v207 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v195, <4 x double> %v205, <4 x double> %v178)
  %v208 = getelementptr double, ptr %batch11.b, i64 22
  %v209 = load double, ptr %v208, align 8
  %v210 = insertelement <4 x double> poison, double %v209, i64 0
  %v211 = shufflevector <4 x double> %v210, <4 x double> poison, <4 x i32> zeroinitializer
  %v212 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v193, <4 x double> %v211, <4 x double> %v183)
  %v213 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v195, <4 x double> %v211, <4 x double> %v184)
  %v214 = getelementptr double, ptr %batch11.b, i64 30
  %v215 = load double, ptr %v214, align 8
  %v216 = insertelement <4 x double> poison, double %v215, i64 0
  %v217 = shufflevector <4 x double> %v216, <4 x double> poison, <4 x i32> zeroinitializer
  %v218 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v193, <4 x double> %v217, <4 x double> %v189)
  %v219 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v195, <4 x double> %v217, <4 x double> %v190)
  %v220 = getelementptr double, ptr %v16, i64 48
  call void @llvm.prefetch.p0(ptr %v220, i32 0, i32 2, i32 1)
  %v221 = getelementptr double, ptr %batch11.a, i64 56
  %v222 = load <4 x double>, ptr %v221, align 8
  %v223 = getelementptr double, ptr %batch11.a, i64 60
  %v224 = load <4 x double>, ptr %v223, align 8
  %v225 = getelementptr double, ptr %batch11.b, i64 7
  %v226 = load double, ptr %v225, align 8
  %v227 = insertelement <4 x double> poison, double %v226, i64 0
  %v228 = shufflevector <4 x double> %v227, <4 x double> poison, <4 x i32> zeroinitializer
  %v229 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v222, <4 x double> %v228, <4 x double> %v200)
  %v230 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v224, <4 x double> %v228, <4 x double> %v201)
  %v231 = getelementptr double, ptr %batch11.b, i64 15
  %v232 = load double, ptr %v231, align 8
  %v233 = insertelement <4 x double> poison, double %v232, i64 0
  %v234 = shufflevector <4 x double> %v233, <4 x double> poison, <4 x i32> zeroinitializer
  %v235 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v222, <4 x double> %v234, <4 x double> %v206)
  %v236 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v224, <4 x double> %v234, <4 x double> %v207)
  %v237 = getelementptr double, ptr %batch11.b, i64 23
  %v238 = load double, ptr %v237, align 8
  %v239 = insertelement <4 x double> poison, double %v238, i64 0
  %v240 = shufflevector <4 x double> %v239, <4 x double> poison, <4 x i32> zeroinitializer
  %v241 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v222, <4 x double> %v240, <4 x double> %v212)
  %v242 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v224, <4 x double> %v240, <4 x double> %v213)
  %v243 = getelementptr double, ptr %batch11.b, i64 31
  %v244 = load double, ptr %v243, align 8
  %v245 = insertelement <4 x double> poison, double %v244, i64 0
  %v246 = shufflevector <4 x double> %v245, <4 x double> poison, <4 x i32> zeroinitializer
  %v247 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v222, <4 x double> %v246, <4 x double> %v218)
  %v248 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v224, <4 x double> %v246, <4 x double> %v219)
  %v249 = getelementptr double, ptr %v16, i64 56
  call void @llvm.prefetch.p0(ptr %v249, i32 0, i32 2, i32 1)
  %v250 = getelementptr double, ptr %v20, i64 4
  %v251 = getelementptr double, ptr %v20, i64 8
  %v252 = getelementptr double, ptr %v20, i64 12
  %v253 = getelementptr double, ptr %v20, i64 16
  %v254 = getelementptr double, ptr %v20, i64 20
  %v255 = getelementptr double, ptr %v20, i64 24
  %v256 = getelementptr double, ptr %v20, i64 28
  store <4 x double> %v229, ptr %v20, align 8
  store <4 x double> %v230, ptr %v250, align 8
  store <4 x double> %v235, ptr %v251, align 8
  store <4 x double> %v236, ptr %v252, align 8
  store <4 x double> %v241, ptr %v253, align 8
  store <4 x double> %v242, ptr %v254, align 8
  store <4 x double> %v247, ptr %v255, align 8
  store <4 x double> %v248, ptr %v256, align 8
  %v257 = getelementptr double, ptr %batch11.b, i64 32
  %v258 = getelementptr double, ptr %v20, i64 32
  %v259 = load <4 x double>, ptr %batch11.a, align 8
  %v260 = getelementptr double, ptr %batch11.a, i64 4
  %v261 = load <4 x double>, ptr %v260, align 8
  %v262 = load double, ptr %v257, align 8
  %v263 = insertelement <4 x double> poison, double %v262, i64 0
  %v264 = shufflevector <4 x double> %v263, <4 x double> poison, <4 x i32> zeroinitializer
  %v265 = fmul <4 x double> %v259, %v264
  %v266 = fmul <4 x double> %v261, %v264
  %v267 = getelementptr double, ptr %v257, i64 8
  %v268 = load double, ptr %v267, align 8
  %v269 = insertelement <4 x double> poison, double %v268, i64 0
  %v270 = shufflevector <4 x double> %v269, <4 x double> poison, <4 x i32> zeroinitializer
  %v271 = fmul <4 x double> %v259, %v270
  %v272 = fmul <4 x double> %v261, %v270
  %v273 = getelementptr double, ptr %v257, i64 16
  %v274 = load double, ptr %v273, align 8
  %v275 = insertelement <4 x double> poison, double %v274, i64 0
  %v276 = shufflevector <4 x double> %v275, <4 x double> poison, <4 x i32> zeroinitializer
  %v277 = fmul <4 x double> %v259, %v276
  %v278 = fmul <4 x double> %v261, %v276
  %v279 = getelementptr double, ptr %v257, i64 24
  %v280 = load double, ptr %v279, align 8
  %v281 = insertelement <4 x double> poison, double %v280, i64 0
  %v282 = shufflevector <4 x double> %v281, <4 x double> poison, <4 x i32> zeroinitializer
  %v283 = fmul <4 x double> %v259, %v282
  %v284 = fmul <4 x double> %v261, %v282
  call void @llvm.prefetch.p0(ptr %v18, i32 0, i32 2, i32 1)
  %v285 = getelementptr double, ptr %batch11.a, i64 8
  %v286 = load <4 x double>, ptr %v285, align 8
  %v287 = getelementptr double, ptr %batch11.a, i64 12
  %v288 = load <4 x double>, ptr %v287, align 8
  %v289 = getelementptr double, ptr %v257, i64 1
  %v290 = load double, ptr %v289, align 8
  %v291 = insertelement <4 x double> poison, double %v290, i64 0
  %v292 = shufflevector <4 x double> %v291, <4 x double> poison, <4 x i32> zeroinitializer
  %v293 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v286, <4 x double> %v292, <4 x double> %v265)
  %v294 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v288, <4 x double> %v292, <4 x double> %v266)
  %v295 = getelementptr double, ptr %v257, i64 9
  %v296 = load double, ptr %v295, align 8
  %v297 = insertelement <4 x double> poison, double %v296, i64 0
  %v298 = shufflevector <4 x double> %v297, <4 x double> poison, <4 x i32> zeroinitializer
  %v299 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v286, <4 x double> %v298, <4 x double> %v271)
  %v300 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v288, <4 x double> %v298, <4 x double> %v272)
  %v301 = getelementptr double, ptr %v257, i64 17
  %v302 = load double, ptr %v301, align 8
  %v303 = insertelement <4 x double> poison, double %v302, i64 0
  %v304 = shufflevector <4 x double> %v303, <4 x double> poison, <4 x i32> zeroinitializer
  %v305 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v286, <4 x double> %v304, <4 x double> %v277)
  %v306 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v288, <4 x double> %v304, <4 x double> %v278)
  %v307 = getelementptr double, ptr %v257, i64 25
  %v308 = load double, ptr %v307, align 8
  %v309 = insertelement <4 x double> poison, double %v308, i64 0
  %v310 = shufflevector <4 x double> %v309, <4 x double> poison, <4 x i32> zeroinitializer
  %v311 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v286, <4 x double> %v310, <4 x double> %v283)
  %v312 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v288, <4 x double> %v310, <4 x double> %v284)
  %v313 = getelementptr double, ptr %v18, i64 8
  call void @llvm.prefetch.p0(ptr %v313, i32 0, i32 2, i32 1)
  %v314 = getelementptr double, ptr %batch11.a, i64 16
  %v315 = load <4 x double>, ptr %v314, align 8
  %v316 = getelementptr double, ptr %batch11.a, i64 20
  %v317 = load <4 x double>, ptr %v316, align 8
  %v318 = getelementptr double, ptr %v257, i64 2
  %v319 = load double, ptr %v318, align 8
  %v320 = insertelement <4 x double> poison, double %v319, i64 0
  %v321 = shufflevector <4 x double> %v320, <4 x double> poison, <4 x i32> zeroinitializer
  %v322 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v315, <4 x double> %v321, <4 x double> %v293)
  %v323 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v317, <4 x double> %v321, <4 x double> %v294)
  %v324 = getelementptr double, ptr %v257, i64 10
  %v325 = load double, ptr %v324, align 8
  %v326 = insertelement <4 x double> poison, double %v325, i64 0
  %v327 = shufflevector <4 x double> %v326, <4 x double> poison, <4 x i32> zeroinitializer
  %v328 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v315, <4 x double> %v327, <4 x double> %v299)
  %v329 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v317, <4 x double> %v327, <4 x double> %v300)
  %v330 = getelementptr double, ptr %v257, i64 18
  %v331 = load double, ptr %v330, align 8
  %v332 = insertelement <4 x double> poison, double %v331, i64 0
  %v333 = shufflevector <4 x double> %v332, <4 x double> poison, <4 x i32> zeroinitializer
  %v334 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v315, <4 x double> %v333, <4 x double> %v305)
  %v335 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v317, <4 x double> %v333, <4 x double> %v306)
  %v336 = getelementptr double, ptr %v257, i64 26
  %v337 = load double, ptr %v336, align 8
  %v338 = insertelement <4 x double> poison, double %v337, i64 0
  %v339 = shufflevector <4 x double> %v338, <4 x double> poison, <4 x i32> zeroinitializer
  %v340 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v315, <4 x double> %v339, <4 x double> %v311)
  %v341 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v317, <4 x double> %v339, <4 x double> %v312)
  %v342 = getelementptr double, ptr %v18, i64 16
  call void @llvm.prefetch.p0(ptr %v342, i32 0, i32 2, i32 1)
  %v343 = getelementptr double, ptr %batch11.a, i64 24
  %v344 = load <4 x double>, ptr %v343, align 8
  %v345 = getelementptr double, ptr %batch11.a, i64 28
  %v346 = load <4 x double>, ptr %v345, align 8
  %v347 = getelementptr double, ptr %v257, i64 3
  %v348 = load double, ptr %v347, align 8
  %v349 = insertelement <4 x double> poison, double %v348, i64 0
  %v350 = shufflevector <4 x double> %v349, <4 x double> poison, <4 x i32> zeroinitializer
  %v351 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v344, <4 x double> %v350, <4 x double> %v322)
  %v352 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v346, <4 x double> %v350, <4 x double> %v323)
  %v353 = getelementptr double, ptr %v257, i64 11
  %v354 = load double, ptr %v353, align 8
  %v355 = insertelement <4 x double> poison, double %v354, i64 0
  %v356 = shufflevector <4 x double> %v355, <4 x double> poison, <4 x i32> zeroinitializer
  %v357 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v344, <4 x double> %v356, <4 x double> %v328)
  %v358 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v346, <4 x double> %v356, <4 x double> %v329)
  %v359 = getelementptr double, ptr %v257, i64 19
  %v360 = load double, ptr %v359, align 8
  %v361 = insertelement <4 x double> poison, double %v360, i64 0
  %v362 = shufflevector <4 x double> %v361, <4 x double> poison, <4 x i32> zeroinitializer
  %v363 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v344, <4 x double> %v362, <4 x double> %v334)
  %v364 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v346, <4 x double> %v362, <4 x double> %v335)
  %v365 = getelementptr double, ptr %v257, i64 27
  %v366 = load double, ptr %v365, align 8
  %v367 = insertelement <4 x double> poison, double %v366, i64 0
  %v368 = shufflevector <4 x double> %v367, <4 x double> poison, <4 x i32> zeroinitializer
  %v369 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v344, <4 x double> %v368, <4 x double> %v340)
  %v370 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v346, <4 x double> %v368, <4 x double> %v341)
  %v371 = getelementptr double, ptr %v18, i64 24
  call void @llvm.prefetch.p0(ptr %v371, i32 0, i32 2, i32 1)
  %v372 = getelementptr double, ptr %batch11.a, i64 32
  %v373 = load <4 x double>, ptr %v372, align 8
  %v374 = getelementptr double, ptr %batch11.a, i64 36
  %v375 = load <4 x double>, ptr %v374, align 8
  %v376 = getelementptr double, ptr %v257, i64 4
  %v377 = load double, ptr %v376, align 8
  %v378 = insertelement <4 x double> poison, double %v377, i64 0
  %v379 = shufflevector <4 x double> %v378, <4 x double> poison, <4 x i32> zeroinitializer
  %v380 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v373, <4 x double> %v379, <4 x double> %v351)
  %v381 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v375, <4 x double> %v379, <4 x double> %v352)
  %v382 = getelementptr double, ptr %v257, i64 12
  %v383 = load double, ptr %v382, align 8
  %v384 = insertelement <4 x double> poison, double %v383, i64 0
  %v385 = shufflevector <4 x double> %v384, <4 x double> poison, <4 x i32> zeroinitializer
  %v386 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v373, <4 x double> %v385, <4 x double> %v357)
  %v387 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v375, <4 x double> %v385, <4 x double> %v358)
  %v388 = getelementptr double, ptr %v257, i64 20
  %v389 = load double, ptr %v388, align 8
  %v390 = insertelement <4 x double> poison, double %v389, i64 0
  %v391 = shufflevector <4 x double> %v390, <4 x double> poison, <4 x i32> zeroinitializer
  %v392 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v373, <4 x double> %v391, <4 x double> %v363)
  %v393 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v375, <4 x double> %v391, <4 x double> %v364)
  %v394 = getelementptr double, ptr %v257, i64 28
  %v395 = load double, ptr %v394, align 8
  %v396 = insertelement <4 x double> poison, double %v395, i64 0
  %v397 = shufflevector <4 x double> %v396, <4 x double> poison, <4 x i32> zeroinitializer
  %v398 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v373, <4 x double> %v397, <4 x double> %v369)
  %v399 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v375, <4 x double> %v397, <4 x double> %v370)
  %v400 = getelementptr double, ptr %v18, i64 32
  call void @llvm.prefetch.p0(ptr %v400, i32 0, i32 2, i32 1)
  %v401 = getelementptr double, ptr %batch11.a, i64 40
  %v402 = load <4 x double>, ptr %v401, align 8
  %v403 = getelementptr double, ptr %batch11.a, i64 44
  %v404 = load <4 x double>, ptr %v403, align 8
  %v405 = getelementptr double, ptr %v257, i64 5
  %v406 = load double, ptr %v405, align 8
  %v407 = insertelement <4 x double> poison, double %v406, i64 0
  %v408 = shufflevector <4 x double> %v407, <4 x double> poison, <4 x i32> zeroinitializer
  %v409 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v402, <4 x double> %v408, <4 x double> %v380)
  %v410 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v404, <4 x double> %v408, <4 x double> %v381)
  %v411 = getelementptr double, ptr %v257, i64 13
  %v412 = load double, ptr %v411, align 8
  %v413 = insertelement <4 x double> poison, double %v412, i64 0
  %v414 = shufflevector <4 x double> %v413, <4 x double> poison, <4 x i32> zeroinitializer
  %v415 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v402, <4 x double> %v414, <4 x double> %v386)
  %v416 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v404, <4 x double> %v414, <4 x double> %v387)
  %v417 = getelementptr double, ptr %v257, i64 21
  %v418 = load double, ptr %v417, align 8
  %v419 = insertelement <4 x double> poison, double %v418, i64 0
  %v420 = shufflevector <4 x double> %v419, <4 x double> poison, <4 x i32> zeroinitializer
  %v421 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v402, <4 x double> %v420, <4 x double> %v392)
  %v422 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v404, <4 x double> %v420, <4 x double> %v393)
  %v423 = getelementptr double, ptr %v257, i64 29
  %v424 = load double, ptr %v423, align 8
  %v425 = insertelement <4 x double> poison, double %v424, i64 0
  %v426 = shufflevector <4 x double> %v425, <4 x double> poison, <4 x i32> zeroinitializer
  %v427 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v402, <4 x double> %v426, <4 x double> %v398)
  %v428 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v404, <4 x double> %v426, <4 x double> %v399)
  %v429 = getelementptr double, ptr %v18, i64 40
  call void @llvm.prefetch.p0(ptr %v429, i32 0, i32 2, i32 1)
  %v430 = getelementptr double, ptr %batch11.a, i64 48
  %v431 = load <4 x double>, ptr %v430, align 8
  %v432 = getelementptr double, ptr %batch11.a, i64 52
  %v433 = load <4 x double>, ptr %v432, align 8
  %v434 = getelementptr double, ptr %v257, i64 6
  %v435 = load double, ptr %v434, align 8
  %v436 = insertelement <4 x double> poison, double %v435, i64 0
  %v437 = shufflevector <4 x double> %v436, <4 x double> poison, <4 x i32> zeroinitializer
  %v438 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v431, <4 x double> %v437, <4 x double> %v409)
  %v439 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v433, <4 x double> %v437, <4 x double> %v410)
  %v440 = getelementptr double, ptr %v257, i64 14
  %v441 = load double, ptr %v440, align 8
  %v442 = insertelement <4 x double> poison, double %v441, i64 0
  %v443 = shufflevector <4 x double> %v442, <4 x double> poison, <4 x i32> zeroinitializer
  %v444 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v431, <4 x double> %v443, <4 x double> %v415)
  %v445 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v433, <4 x double> %v443, <4 x double> %v416)
  %v446 = getelementptr double, ptr %v257, i64 22
  %v447 = load double, ptr %v446, align 8
  %v448 = insertelement <4 x double> poison, double %v447, i64 0
  %v449 = shufflevector <4 x double> %v448, <4 x double> poison, <4 x i32> zeroinitializer
  %v450 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v431, <4 x double> %v449, <4 x double> %v421)
  %v451 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v433, <4 x double> %v449, <4 x double> %v422)
  %v452 = getelementptr double, ptr %v257, i64 30
  %v453 = load double, ptr %v452, align 8
  %v454 = insertelement <4 x double> poison, double %v453, i64 0
  %v455 = shufflevector <4 x double> %v454, <4 x double> poison, <4 x i32> zeroinitializer
  %v456 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v431, <4 x double> %v455, <4 x double> %v427)
  %v457 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v433, <4 x double> %v455, <4 x double> %v428)
  %v458 = getelementptr double, ptr %v18, i64 48
  call void @llvm.prefetch.p0(ptr %v458, i32 0, i32 2, i32 1)
  %v459 = getelementptr double, ptr %batch11.a, i64 56
  %v460 = load <4 x double>, ptr %v459, align 8
  %v461 = getelementptr double, ptr %batch11.a, i64 60
  %v462 = load <4 x double>, ptr %v461, align 8
  %v463 = getelementptr double, ptr %v257, i64 7
  %v464 = load double, ptr %v463, align 8
  %v465 = insertelement <4 x double> poison, double %v464, i64 0
  %v466 = shufflevector <4 x double> %v465, <4 x double> poison, <4 x i32> zeroinitializer
  %v467 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v460, <4 x double> %v466, <4 x double> %v438)
  %v468 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v462, <4 x double> %v466, <4 x double> %v439)
  %v469 = getelementptr double, ptr %v257, i64 15
  %v470 = load double, ptr %v469, align 8
  %v471 = insertelement <4 x double> poison, double %v470, i64 0
  %v472 = shufflevector <4 x double> %v471, <4 x double> poison, <4 x i32> zeroinitializer
  %v473 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v460, <4 x double> %v472, <4 x double> %v444)
  %v474 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v462, <4 x double> %v472, <4 x double> %v445)
  %v475 = getelementptr double, ptr %v257, i64 23
  %v476 = load double, ptr %v475, align 8
  %v477 = insertelement <4 x double> poison, double %v476, i64 0
  %v478 = shufflevector <4 x double> %v477, <4 x double> poison, <4 x i32> zeroinitializer
  %v479 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v460, <4 x double> %v478, <4 x double> %v450)
  %v480 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v462, <4 x double> %v478, <4 x double> %v451)
  %v481 = getelementptr double, ptr %v257, i64 31
  %v482 = load double, ptr %v481, align 8
  %v483 = insertelement <4 x double> poison, double %v482, i64 0
  %v484 = shufflevector <4 x double> %v483, <4 x double> poison, <4 x i32> zeroinitializer
  %v485 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v460, <4 x double> %v484, <4 x double> %v456)
  %v486 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v462, <4 x double> %v484, <4 x double> %v457)
  %v487 = getelementptr double, ptr %v18, i64 56
  call void @llvm.prefetch.p0(ptr %v487, i32 0, i32 2, i32 1)
  %v488 = getelementptr double, ptr %v258, i64 4
  %v489 = getelementptr double, ptr %v258, i64 8
  %v490 = getelementptr double, ptr %v258, i64 12
  %v491 = getelementptr double, ptr %v258, i64 16
  %v492 = getelementptr double, ptr %v258, i64 20
  %v493 = getelementptr double, ptr %v258, i64 24
  %v494 = getelementptr double, ptr %v258, i64 28
  store <4 x double> %v467, ptr %v258, align 8
  store <4 x double> %v468, ptr %v488, align 8
  store <4 x double> %v473, ptr %v489, align 8
  store <4 x double> %v474, ptr %v490, align 8
  store <4 x double> %v479, ptr %v491, align 8
  store <4 x double> %v480, ptr %v492, align 8
  store <4 x double> %v485, ptr %v493, align 8
  store <4 x double> %v486, ptr %v494, align 8
  %v495 = load i64, ptr %v2
  %v496 = add i64 %v495, 64
  store i64 %v496, ptr %v2
  %v499 = icmp uge i64 %v496, 128
  br i1 %v499, label %leave497, label %stay498
leave497:
  %v500 = load i64, ptr %v3
  %v501 = load i64, ptr %v2
  %v502 = load ptr, ptr %v4
  %v503 = and i64 %v501, -8
  %v504 = icmp ne i64 %v503, 0
  %v505 = icmp ne i64 %v500, 0
  %v506 = and i1 %v504, %v505
  %v507 = select i1 %v506, i64 8, i64 0
  br label %from508
from508:
  %v511 = icmp ult i64 %v500, %v507
  br i1 %v511, label %each509, label %end510
each509:
  %each509.i = phi i64 [ %v500, %from508 ], [ %v515, %each509 ]
  %v512 = getelementptr double, ptr %v1, i64 %each509.i
  %v513 = load double, ptr %v512, align 8
  %v514 = getelementptr double, ptr %v502, i64 %each509.i
  store double %v513, ptr %v514, align 8
  %v515 = add i64 %each509.i, 1
  %v516 = icmp ult i64 %v515, %v507
  br i1 %v516, label %each509, label %end510
end510:
  br label %from517
from517:
  %v520 = icmp ult i64 %v507, %v503
  br i1 %v520, label %each518, label %end519
each518:
  %each518.i = phi i64 [ %v507, %from517 ], [ %v527, %each518 ]
  %v521 = getelementptr double, ptr %v1, i64 %each518.i
  %v522 = getelementptr double, ptr %v502, i64 %each518.i
  %v523 = load <4 x double>, ptr %v521, align 8
  %v524 = getelementptr double, ptr %v521, i64 4
  %v525 = load <4 x double>, ptr %v524, align 8
  store <4 x double> %v523, ptr %v522, align 32, !nontemporal !0
  %v526 = getelementptr double, ptr %v522, i64 4
  store <4 x double> %v525, ptr %v526, align 32, !nontemporal !0
  %v527 = add i64 %each518.i, 8
  %v528 = icmp ult i64 %v527, %v503
  br i1 %v528, label %each518, label %end519
end519:
  %v529 = getelementptr double, ptr %v1, i64 %v503
  %v530 = load <4 x double>, ptr %v529, align 8
  store <4 x double> %v530, ptr %v1, align 8
  %v531 = getelementptr double, ptr %v529, i64 4
  %v532 = load <4 x double>, ptr %v531, align 8
  %v533 = getelementptr double, ptr %v1, i64 4
  store <4 x double> %v532, ptr %v533, align 8
  %v534 = sub i64 %v501, %v503
  store i64 %v534, ptr %v2
  %v535 = select i1 %v504, i64 0, i64 %v500
  store i64 %v535, ptr %v3
  %v536 = getelementptr double, ptr %v502, i64 %v503
  store ptr %v536, ptr %v4
  br label %stay498
stay498:
  br label %latch12
latch12:
  %v537 = add i64 %batch11.i, 1
  %v538 = getelementptr double, ptr %batch11.a, i64 %sa
  %v539 = getelementptr double, ptr %batch11.b, i64 %sb
  %v540 = getelementptr double, ptr %batch11.c, i64 %sc
  %v541 = icmp slt i64 %v537, %count
  br i1 %v541, label %batch11, label %done13
done13:
  %v542 = load i64, ptr %v3
  %v543 = load i64, ptr %v2
  %v544 = load ptr, ptr %v4
  %v545 = and i64 %v543, -8
  %v546 = icmp ne i64 %v545, 0
  %v547 = icmp ne i64 %v542, 0
  %v548 = and i1 %v546, %v547
  %v549 = select i1 %v548, i64 8, i64 0
  br label %from550
from550:
  %v553 = icmp ult i64 %v542, %v549
  br i1 %v553, label %each551, label %end552
each551:
  %each551.i = phi i64 [ %v542, %from550 ], [ %v557, %each551 ]
  %v554 = getelementptr double, ptr %v1, i64 %each551.i
  %v555 = load double, ptr %v554, align 8
  %v556 = getelementptr double, ptr %v544, i64 %each551.i
  store double %v555, ptr %v556, align 8
  %v557 = add i64 %each551.i, 1
  %v558 = icmp ult i64 %v557, %v549
  br i1 %v558, label %each551, label %end552
end552:
  br label %from559
from559:
  %v562 = icmp ult i64 %v549, %v545
  br i1 %v562, label %each560, label %end561
each560:
  %each560.i = phi i64 [ %v549, %from559 ], [ %v569, %each560 ]
  %v563 = getelementptr double, ptr %v1, i64 %each560.i
  %v564 = getelementptr double, ptr %v544, i64 %each560.i
  %v565 = load <4 x double>, ptr %v563, align 8
  %v566 = getelementptr double, ptr %v563, i64 4
  %v567 = load <4 x double>, ptr %v566, align 8
  store <4 x double> %v565, ptr %v564, align 32, !nontemporal !0
  %v568 = getelementptr double, ptr %v564, i64 4
  store <4 x double> %v567, ptr %v568, align 32, !nontemporal !0
  %v569 = add i64 %each560.i, 8
  %v570 = icmp ult i64 %v569, %v545
  br i1 %v570, label %each560, label %end561
end561:
  %v571 = getelementptr double, ptr %v1, i64 %v545
  %v572 = load <4 x double>, ptr %v571, align 8
  store <4 x double> %v572, ptr %v1, align 8
  %v573 = getelementptr double, ptr %v571, i64 4
  %v574 = load <4 x double>, ptr %v573, align 8
  %v575 = getelementptr double, ptr %v1, i64 4
  store <4 x double> %v574, ptr %v575, align 8
  %v576 = sub i64 %v543, %v545
  store i64 %v576, ptr %v2
  %v577 = select i1 %v546, i64 0, i64 %v542
  store i64 %v577, ptr %v3
  %v578 = getelementptr double, ptr %v544, i64 %v545
  store ptr %v578, ptr %v4
  %v579 = load i64, ptr %v3
  %v580 = load i64, ptr %v2
  %v581 = load ptr, ptr %v4
  br label %from582
from582:
  %v585 = icmp ult i64 %v579, %v580
  br i1 %v585, label %each583, label %end584
each583:
  %each583.i = phi i64 [ %v579, %from582 ], [ %v589, %each583 ]
  %v586 = getelementptr double, ptr %v1, i64 %each583.i
  %v587 = load double, ptr %v586, align 8
  %v588 = getelementptr double, ptr %v581, i64 %each583.i
  store double %v587, ptr %v588, align 8
  %v589 = add i64 %each583.i, 1
  %v590 = icmp ult i64 %v589, %v580
  br i1 %v590, label %each583, label %end584
end584:
  ret void
}

define void @tilewright_kernel_stream(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v484, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v485, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v486, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v487, %latch3 ]
  %v6 = mul i64 %sa, 4
  %v7 = getelementptr double, ptr %batch2.a, i64 %v6
  %v8 = mul i64 %sb, 4
  %v9 = getelementptr double, ptr %batch2.b, i64 %v8
  %v10 = load <4 x double>, ptr %batch2.a, align 8
  %v11 = getelementptr double, ptr %batch2.a, i64 4
  %v12 = load <4 x double>, ptr %v11, align 8
  %v13 = load double, ptr %batch2.b, align 8
  %v14 = insertelement <4 x double> poison, double %v13, i64 0
  %v15 = shufflevector <4 x double> %v14, <4 x double> poison, <4 x i32> zeroinitializer
  %v16 = fmul <4 x double> %v10, %v15
  %v17 = fmul <4 x double> %v12, %v15
  %v18 = getelementptr double, ptr %batch2.b, i64 8
  %v19 = load double, ptr %v18, align 8
  %v20 = insertelement <4 x double> poison, double %v19, i64 0
  %v21 = shufflevector <4 x double> %v20, <4 x double> poison, <4 x i32> zeroinitializer
  %v22 = fmul <4 x double> %v10, %v21
  %v23 = fmul <4 x double> %v12, %v21
  %v24 = getelementptr double, ptr %batch2.b, i64 16
  %v25 = load double, ptr %v24, align 8
  %v26 = insertelement <4 x double> poison, double %v25, i64 0
  %v27 = shufflevector <4 x double> %v26, <4 x double> poison, <4 x i32> zeroinitializer
  %v28 = fmul <4 x double> %v10, %v27
  %v29 = fmul <4 x double> %v12, %v27
  %v30 = getelementptr double, ptr %batch2.b, i64 24
  %v31 = load double, ptr %v30, align 8
  %v32 = insertelement <4 x double> poison, double %v31, i64 0
  %v33 = shufflevector <4 x double> %v32, <4 x double> poison, <4 x i32> zeroinitializer
  %v34 = fmul <4 x double> %v10, %v33
  %v35 = fmul <4 x double> %v12, %v33
  call void @llvm.prefetch.p0(ptr %v7, i32 0, i32 2, i32 1)
  %v36 = getelementptr double, ptr %batch2.a, i64 8
  %v37 = load <4 x double>, ptr %v36, align 8
  %v38 = getelementptr double, ptr %batch2.a, i64 12
  %v39 = load <4 x double>, ptr %v38, align 8
  %v40 = getelementptr double, ptr %batch2.b, i64 1
  %v41 = load double, ptr %v40, align 8
  %v42 = insertelement <4 x double> poison, double %v41, i64 0
  %v43 = shufflevector <4 x double> %v42, <4 x double> poison, <4 x i32> zeroinitializer
  %v44 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v37, <4 x double> %v43, <4 x double> %v16)
  %v45 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v39, <4 x double> %v43, <4 x double> %v17)
  %v46 = getelementptr double, ptr %batch2.b, i64 9
  %v47 = load double, ptr %v46, align 8
  %v48 = insertelement <4 x double> poison, double %v47, i64 0
  %v49 = shufflevector <4 x double> %v48, <4 x double> poison, <4 x i32> zeroinitializer
  %v50 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v37, <4 x double> %v49, <4 x double> %v22)
  %v51 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v39, <4 x double> %v49, <4 x double> %v23)
  %v52 = getelementptr double, ptr %batch2.b, i64 17
  %v53 = load double, ptr %v52, align 8
  %v54 = insertelement <4 x double> poison, double %v53, i64 0
  %v55 = shufflevector <4 x double> %v54, <4 x double> poison, <4 x i32> zeroinitializer
  %v56 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v37, <4 x double> %v55, <4 x double> %v28)
  %v57 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v39, <4 x double> %v55, <4 x double> %v29)
  %v58 = getelementptr double, ptr %batch2.b, i64 25
  %v59 = load double, ptr %v58, align 8
  %v60 = insertelement <4 x double> poison, double %v59, i64 0
  %v61 = shufflevector <4 x double> %v60, <4 x double> poison, <4 x i32> zeroinitializer
  %v62 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v37, <4 x double> %v61, <4 x double> %v34)
  %v63 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v39, <4 x double> %v61, <4 x double> %v35)
  %v64 = getelementptr double, ptr %v7, i64 8
  call void @llvm.prefetch.p0(ptr %v64, i32 0, i32 2, i32 1)
  %v65 = getelementptr double, ptr %batch2.a, i64 16
  %v66 = load <4 x double>, ptr %v65, align 8
  %v67 = getelementptr double, ptr %batch2.a, i64 20
  %v68 = load <4 x double>, ptr %v67, align 8
  %v69 = getelementptr double, ptr %batch2.b, i64 2
  %v70 = load double, ptr %v69, align 8
  %v71 = insertelement <4 x double> poison, double %v70, i64 0
  %v72 = shufflevector <4 x double> %v71, <4 x double> poison, <4 x i32> zeroinitializer
  %v73 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v66, <4 x double> %v72, <4 x double> %v44)
  %v74 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v68, <4 x double> %v72, <4 x double> %v45)
  %v75 = getelementptr double, ptr %batch2.b, i64 10
  %v76 = load double, ptr %v75, align 8
  %v77 = insertelement <4 x double> poison, double %v76, i64 0
  %v78 = shufflevector <4 x double> %v77, <4 x double> poison, <4 x i32> zeroinitializer
  %v79 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v66, <4 x double> %v78, <4 x double> %v50)
  %v80 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v68, <4 x double> %v78, <4 x double> %v51)
  %v81 = getelementptr double, ptr %batch2.b, i64 18
  %v82 = load double, ptr %v81, align 8
  %v83 = insertelement <4 x double> poison, double %v82, i64 0
  %v84 = shufflevector <4 x double> %v83, <4 x double> poison, <4 x i32> zeroinitializer
  %v85 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v66, <4 x double> %v84, <4 x double> %v56)
  %v86 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v68, <4 x double> %v84, <4 x double> %v57)
  %v87 = getelementptr double, ptr %batch2.b, i64 26
  %v88 = load double, ptr %v87, align 8
  %v89 = insertelement <4 x double> poison, double %v88, i64 0
  %v90 = shufflevector <4 x double> %v89, <4 x double> poison, <4 x i32> zeroinitializer
  %v91 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v66, <4 x double> %v90, <4 x double> %v62)
  %v92 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v68, <4 x double> %v90, <4 x double> %v63)
  %v93 = getelementptr double, ptr %v7, i64 16
  call void @llvm.prefetch.p0(ptr %v93, i32 0, i32 2, i32 1)
  %v94 = getelementptr double, ptr %batch2.a, i64 24
  %v95 = load <4 x double>, ptr %v94, align 8
  %v96 = getelementptr double, ptr %batch2.a, i64 28
  %v97 = load <4 x double>, ptr %v96, align 8
  %v98 = getelementptr double, ptr %batch2.b, i64 3
  %v99 = load double, ptr %v98, align 8
  %v100 = insertelement <4 x double> poison, double %v99, i64 0
  %v101 = shufflevector <4 x double> %v100, <4 x double> poison, <4 x i32> zeroinitializer
  %v102 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v95, <4 x double> %v101, <4 x double> %v73)
  %v103 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v97, <4 x double> %v101, <4 x double> %v74)
  %v104 = getelementptr double, ptr %batch2.b, i64 11
  %v105 = load double, ptr %v104, align 8
  %v106 = insertelement <4 x double> poison, double %v105, i64 0
  %v107 = shufflevector <4 x double> %v106, <4 x double> poison, <4 x i32> zeroinitializer
  %v108 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v95, <4 x double> %v107, <4 x double> %v79)
  %v109 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v97, <4 x double> %v107, <4 x double> %v80)
  %v110 = getelementptr double, ptr %batch2.b, i64 19
  %v111 = load double, ptr %v110, align 8
  %v112 = insertelement <4 x double> poison, double %v111, i64 0
  %v113 = shufflevector <4 x double> %v112, <4 x double> poison, <4 x i32> zeroinitializer
  %v114 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v95, <4 x double> %v113, <4 x double> %v85)
  %v115 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v97, <4 x double> %v113, <4 x double> %v86)
  %v116 = getelementptr double, ptr %batch2.b, i64 27
  %v117 = load double, ptr %v116, align 8
  %v118 = insertelement <4 x double> poison, double %v117, i64 0
  %v119 = shufflevector <4 x double> %v118, <4 x double> poison, <4 x i32> zeroinitializer
  %v120 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v95, <4 x double> %v119, <4 x double> %v91)
  %v121 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v97, <4 x double> %v119, <4 x double> %v92)
  %v122 = getelementptr double, ptr %v7, i64 24
  call void @llvm.prefetch.p0(ptr %v122, i32 0, i32 2, i32 1)
  %v123 = getelementptr double, ptr %batch2.a, i64 32
  %v124 = load <4 x double>, ptr %v123, align 8
  %v125 = getelementptr double, ptr %batch2.a, i64 36
  %v126 = load <4 x double>, ptr %v125, align 8
  %v127 = getelementptr double, ptr %batch2.b, i64 4
  %v128 = load double, ptr %v127, align 8
  %v129 = insertelement <4 x double> poison, double %v128, i64 0
  %v130 = shufflevector <4 x double> %v129, <4 x double> poison, <4 x i32> zeroinitializer
  %v131 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v124, <4 x double> %v130, <4 x double> %v102)
  %v132 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v126, <4 x double> %v130, <4 x double> %v103)
  %v133 = getelementptr double, ptr %batch2.b, i64 12
  %v134 = load double, ptr %v133, align 8
  %v135 = insertelement <4 x double> poison, double %v134, i64 0
  %v136 = shufflevector <4 x double> %v135, <4 x double> poison, <4 x i32> zeroinitializer
  %v137 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v124, <4 x double> %v136, <4 x double> %v108)
  %v138 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v126, <4 x double> %v136, <4 x double> %v109)
  %v139 = getelementptr double, ptr %batch2.b, i64 20
  %v140 = load double, ptr %v139, align 8
  %v141 = insertelement <4 x double> poison, double %v140, i64 0
  %v142 = shufflevector <4 x double> %v141, <4 x double> poison, <4 x i32> zeroinitializer
  %v143 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v124, <4 x double> %v142, <4 x double> %v114)
  %v144 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v126, <4 x double> %v142, <4 x double> %v115)
  %v145 = getelementptr double, ptr %batch2.b, i64 28
  %v146 = load double, ptr %v145, align 8
  %v147 = insertelement <4 x double> poison, double %v146, i64 0
  %v148 = shufflevector <4 x double> %v147, <4 x double> poison, <4 x i32> zeroinitializer
  %v149 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v124, <4 x double> %v148, <4 x double> %v120)
  %v150 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v126, <4 x double> %v148, <4 x double> %v121)
  %v151 = getelementptr double, ptr %v7, i64 32
  call void @llvm.prefetch.p0(ptr %v151, i32 0, i32 2, i32 1)
  %v152 = getelementptr double, ptr %batch2.a, i64 40
  %v153 = load <4 x double>, ptr %v152, align 8
  %v154 = getelementptr double, ptr %batch2.a, i64 44
  %v155 = load <4 x double>, ptr %v154, align 8
  %v156 = getelementptr double, ptr %batch2.b, i64 5
  %v157 = load double, ptr %v156, align 8
  %v158 = insertelement <4 x double> poison, double %v157, i64 0
  %v159 = shufflevector <4 x double> %v158, <4 x double> poison, <4 x i32> zeroinitializer
  %v160 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v153, <4 x double> %v159, <4 x double> %v131)
  %v161 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v155, <4 x double> %v159, <4 x double> %v132)
  %v162 = getelementptr double, ptr %batch2.b, i64 13
  %v163 = load double, ptr %v162, align 8
  %v164 = insertelement <4 x double> poison, double %v163, i64 0
  %v165 = shufflevector <4 x double> %v164, <4 x double> poison, <4 x i32> zeroinitializer
  %v166 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v153, <4 x double> %v165, <4 x double> %v137)
  %v167 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v155, <4 x double> %v165, <4 x double> %v138)
  %v168 = getelementptr double, ptr %batch2.b, i64 21
  %v169 = load double, ptr %v168, align 8
  %v170 = insertelement <4 x double> poison, double %v169, i64 0
  %v171 = shufflevector <4 x double> %v170, <4 x double> poison, <4 x i32> zeroinitializer
  %v172 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v153, <4 x double> %v171, <4 x double> %v143)
  %v173 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v155, <4 x double> %v171, <4 x double> %v144)
  %v174 = getelementptr double, ptr %batch2.b, i64 29
  %v175 = load double, ptr %v174, align 8
  %v176 = insertelement <4 x double> poison, double %v175, i64 0
  %v177 = shufflevector <4 x double> %v176, <4 x double> poison, <4 x i32> zeroinitializer
  %v178 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v153, <4 x double> %v177, <4 x double> %v149)
  %v179 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v155, <4 x double> %v177, <4 x double> %v150)
  %v180 = getelementptr double, ptr %v7, i64 40
  call void @llvm.prefetch.p0(ptr %v180, i32 0, i32 2, i32 1)
  %v181 = getelementptr double, ptr %batch2.a, i64 48
  %v182 = load <4 x double>, ptr %v181, align 8
  %v183 = getelementptr double, ptr %batch2.a, i64 52
  %v184 = load <4 x double>, ptr %v183, align 8
  %v185 = getelementptr double, ptr %batch2.b, i64 6
  %v186 = load double, ptr %v185, align 8
  %v187 = insertelement <4 x double> poison, double %v186, i64 0
  %v188 = shufflevector <4 x double> %v187, <4 x double> poison, <4 x i32> zeroinitializer
  %v189 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v182, <4 x double> %v188, <4 x double> %v160)
  %v190 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v184, <4 x double> %v188, <4 x double> %v161)
  %v191 = getelementptr double, ptr %batch2.b, i64 14
  %v192 = load double, ptr %v191, align 8
  %v193 = insertelement <4 x double> poison, double %v192, i64 0
  %v194 = shufflevector <4 x double> %v193, <4 x double> poison, <4 x i32> zeroinitializer
  %v195 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v182, <4 x double> %v194, <4 x double> %v166)
  %v196 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v184, <4 x double> %v194, <4 x double> %v167)
  %v197 = getelementptr double, ptr %batch2.b, i64 22
  %v198 = load double, ptr %v197, align 8
  %v199 = insertelement <4 x double> poison, double %v198, i64 0
  %v200 = shufflevector <4 x double> %v199, <4 x double> poison, <4 x i32> zeroinitializer
  %v201 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v182, <4 x double> %v200, <4 x double> %v172)
  %v202 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v184, <4 x double> %v200, <4 x double> %v173)
  %v203 = getelementptr double, ptr %batch2.b, i64 30
  %v204 = load double, ptr %v203, align 8
  %v205 = insertelement <4 x double> poison, double %v204, i64 0
  %v206 = shufflevector <4 x double> %v205, <4 x double> poison, <4 x i32> zeroinitializer
  %v207 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v182, <4 x double> %v206, <4 x double> %v178)
  %v208 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v184, <4 x double> %v206, <4 x double> %v179)
  %v209 = getelementptr double, ptr %v7, i64 48
  call void @llvm.prefetch.p0(ptr %v209, i32 0, i32 2, i32 1)
  %v210 = getelementptr double, ptr %batch2.a, i64 56
  %v211 = load <4 x double>, ptr %v210, align 8
  %v212 = getelementptr double, ptr %batch2.a, i64 60
  %v213 = load <4 x double>, ptr %v212, align 8
  %v214 = getelementptr double, ptr %batch2.b, i64 7
  %v215 = load double, ptr %v214, align 8
  %v216 = insertelement <4 x double> poison, double %v215, i64 0
  %v217 = shufflevector <4 x double> %v216, <4 x double> poison, <4 x i32> zeroinitializer
  %v218 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v211, <4 x double> %v217, <4 x double> %v189)
  %v219 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v213, <4 x double> %v217, <4 x double> %v190)
  %v220 = getelementptr double, ptr %batch2.b, i64 15
  %v221 = load double, ptr %v220, align 8
  %v222 = insertelement <4 x double> poison, double %v221, i64 0
  %v223 = shufflevector <4 x double> %v222, <4 x double> poison, <4 x i32> zeroinitializer
  %v224 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v211, <4 x double> %v223, <4 x double> %v195)
  %v225 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v213, <4 x double> %v223, <4 x double> %v196)
  %v226 = getelementptr double, ptr %batch2.b, i64 23
  %v227 = load double, ptr %v226, align 8
  %v228 = insertelement <4 x double> poison, double %v227, i64 0
  %v229 = shufflevector <4 x double> %v228, <4 x double> poison, <4 x i32> zeroinitializer
  %v230 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v211, <4 x double> %v229, <4 x double> %v201)
  %v231 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v213, <4 x double> %v229, <4 x double> %v202)
  %v232 = getelementptr double, ptr %batch2.b, i64 31
  %v233 = load double, ptr %v232, align 8
  %v234 = insertelement <4 x double> poison, double %v233, i64 0
  %v235 = shufflevector <4 x double> %v234, <4 x double> poison, <4 x i32> zeroinitializer
  %v236 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v211, <4 x double> %v235, <4 x double> %v207)
  %v237 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v213, <4 x double> %v235, <4 x double> %v208)
  %v238 = getelementptr double, ptr %v7, i64 56
  call void @llvm.prefetch.p0(ptr %v238, i32 0, i32 2, i32 1)
  %v239 = getelementptr double, ptr %batch2.c, i64 4
  %v240 = getelementptr double, ptr %batch2.c, i64 8
  %v241 = getelementptr double, ptr %batch2.c, i64 12
  %v242 = getelementptr double, ptr %batch2.c, i64 16
  %v243 = getelementptr double, ptr %batch2.c, i64 20
  %v244 = getelementptr double, ptr %batch2.c, i64 24
  %v245 = getelementptr double, ptr %batch2.c, i64 28
  store <4 x double> %v218, ptr %batch2.c, align 32, !nontemporal !0
  store <4 x double> %v219, ptr %v239, align 32, !nontemporal !0
  store <4 x double> %v224, ptr %v240, align 32, !nontemporal !0
  store <4 x double> %v225, ptr %v241, align 32, !nontemporal !0
  store <4 x double> %v230, ptr %v242, align 32, !nontemporal !0
  store <4 x double> %v231, ptr %v243, align 32, !nontemporal !0
  store <4 x double> %v236, ptr %v244, align 32, !nontemporal !0
  store <4 x double> %v237, ptr %v245, align 32, !nontemporal !0
  %v246 = getelementptr double, ptr %batch2.b, i64 32
  %v247 = getelementptr double, ptr %batch2.c, i64 32
  %v248 = load <4 x double>, ptr %batch2.a, align 8
  %v249 = getelementptr double, ptr %batch2.a, i64 4
  %v250 = load <4 x double>, ptr %v249, align 8
  %v251 = load double, ptr %v246, align 8
  %v252 = insertelement <4 x double> poison, double %v251, i64 0
  %v253 = shufflevector <4 x double> %v252, <4 x double> poison, <4 x i32> zeroinitializer
  %v254 = fmul <4 x double> %v248, %v253
  %v255 = fmul <4 x double> %v250, %v253
  %v256 = getelementptr double, ptr %v246, i64 8
  %v257 = load double, ptr %v256, align 8
  %v258 = insertelement <4 x double> poison, double %v257, i64 0
  %v259 = shufflevector <4 x double> %v258, <4 x double> poison, <4 x i32> zeroinitializer
  %v260 = fmul <4 x double> %v248, %v259
  %v261 = fmul <4 x double> %v250, %v259
  %v262 = getelementptr double, ptr %v246, i64 16
  %v263 = load double, ptr %v262, align 8
  %v264 = insertelement <4 x double> poison, double %v263, i64 0
  %v265 = shufflevector <4 x double> %v264, <4 x double> poison, <4 x i32> zeroinitializer
  %v266 = fmul <4 x double> %v248, %v265
  %v267 = fmul <4 x double> %v250, %v265
  %v268 = getelementptr double, ptr %v246, i64 24
  %v269 = load double, ptr %v268, align 8
  %v270 = insertelement <4 x double> poison, double %v269, i64 0
  %v271 = shufflevector <4 x double> %v270, <4 x double> poison, <4 x i32> zeroinitializer
  %v272 = fmul <4 x double> %v248, %v271
  %v273 = fmul <4 x double> %v250, %v271
  call void @llvm.prefetch.p0(ptr %v9, i32 0, i32 2, i32 1)
  %v274 = getelementptr double, ptr %batch2.a, i64 8
  %v275 = load <4 x double>, ptr %v274, align 8
  %v276 = getelementptr double, ptr %batch2.a, i64 12
  %v277 = load <4 x double>, ptr %v276, align 8
  %v278 = getelementptr double, ptr %v246, i64 1
  %v279 = load double, ptr %v278, align 8
  %v280 = insertelement <4 x double> poison, double %v279, i64 0
  %v281 = shufflevector <4 x double> %v280, <4 x double> poison, <4 x i32> zeroinitializer
  %v282 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v275, <4 x double> %v281, <4 x double> %v254)
  %v283 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v277, <4 x double> %v281, <4 x double> %v255)
  %v284 = getelementptr double, ptr %v246, i64 9
  %v285 = load double, ptr %v284, align 8
  %v286 = insertelement <4 x double> poison, double %v285, i64 0
  %v287 = shufflevector <4 x double> %v286, <4 x double> poison, <4 x i32> zeroinitializer
  %v288 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v275, <4 x double> %v287, <4 x double> %v260)
  %v289 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v277, <4 x double> %v287, <4 x double> %v261)
  %v290 = getelementptr double, ptr %v246, i64 17
  %v291 = load double, ptr %v290, align 8
  %v292 = insertelement <4 x double> poison, double %v291, i64 0
  %v293 = shufflevector <4 x double> %v292, <4 x double> poison, <4 x i32> zeroinitializer
  %v294 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v275, <4 x double> %v293, <4 x double> %v266)
  %v295 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v277, <4 x double> %v293, <4 x double> %v267)
  %v296 = getelementptr double, ptr %v246, i64 25
  %v297 = load double, ptr %v296, align 8
  %v298 = insertelement <4 x double> poison, double %v297, i64 0
  %v299 = shufflevector <4 x double> %v298, <4 x double> poison, <4 x i32> zeroinitializer
  %v300 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v275, <4 x double> %v299, <4 x double> %v272)
  %v301 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v277, <4 x double> %v299, <4 x double> %v273)
  %v302 = getelementptr double, ptr %v9, i64 8
  call void @llvm.prefetch.p0(ptr %v302, i32 0, i32 2, i32 1)
  %v303 = getelementptr double, ptr %batch2.a, i64 16
  %v304 = load <4 x double>, ptr %v303, align 8
  %v305 = getelementptr double, ptr %batch2.a, i64 20
  %v306 = load <4 x double>, ptr %v305, align 8
  %v307 = getelementptr double, ptr %v246, i64 2
  %v308 = load double, ptr %v307, align 8
  %v309 = insertelement <4 x double> poison, double %v308, i64 0
  %v310 = shufflevector <4 x double> %v309, <4 x double> poison, <4 x i32> zeroinitializer
  %v311 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v304, <4 x double> %v310, <4 x double> %v282)
  %v312 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v306, <4 x double> %v310, <4 x double> %v283)
  %v313 = getelementptr double, ptr %v246, i64 10
  %v314 = load double, ptr %v313, align 8
  %v315 = insertelement <4 x double> poison, double %v314, i64 0
  %v316 = shufflevector <4 x double> %v315, <4 x double> poison, <4 x i32> zeroinitializer
  %v317 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v304, <4 x double> %v316, <4 x double> %v288)
  %v318 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v306, <4 x double> %v316, <4 x double> %v289)
  %v319 = getelementptr double, ptr %v246, i64 18
  %v320 = load double, ptr %v319, align 8
  %v321 = insertelement <4 x double> poison, double %v320, i64 0
  %v322 = shufflevector <4 x double> %v321, <4 x double> poison, <4 x i32> zeroinitializer
  %v323 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v304, <4 x double> %v322, <4 x double> %v294)
  %v324 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v306, <4 x double> %v322, <4 x double> %v295)
  %v325 = getelementptr double, ptr %v246, i64 26
  %v326 = load double, ptr %v325, align 8
  %v327 = insertelement <4 x double> poison, double %v326, i64 0
  %v328 = shufflevector <4 x double> %v327, <4 x double> poison, <4 x i32> zeroinitializer
  %v329 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v304, <4 x double> %v328, <4 x double> %v300)
  %v330 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v306, <4 x double> %v328, <4 x double> %v301)
  %v331 = getelementptr double, ptr %v9, i64 16
  call void @llvm.prefetch.p0(ptr %v331, i32 0, i32 2, i32 1)
  %v332 = getelementptr double, ptr %batch2.a, i64 24
  %v333 = load <4 x double>, ptr %v332, align 8
  %v334 = getelementptr double, ptr %batch2.a, i64 28
  %v335 = load <4 x double>, ptr %v334, align 8
  %v336 = getelementptr double, ptr %v246, i64 3
  %v337 = load double, ptr %v336, align 8
  %v338 = insertelement <4 x double> poison, double %v337, i64 0
  %v339 = shufflevector <4 x double> %v338, <4 x double> poison, <4 x i32> zeroinitializer
  %v340 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v333, <4 x double> %v339, <4 x double> %v311)
  %v341 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v335, <4 x double> %v339, <4 x double> %v312)
  %v342 = getelementptr double, ptr %v246, i64 11
  %v343 = load double, ptr %v342, align 8
  %v344 = insertelement <4 x double> poison, double %v343, i64 0
  %v345 = shufflevector <4 x double> %v344, <4 x double> poison, <4 x i32> zeroinitializer
  %v346 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v333, <4 x double> %v345, <4 x double> %v317)
  %v347 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v335, <4 x double> %v345, <4 x double> %v318)
  %v348 = getelementptr double, ptr %v246, i64 19
  %v349 = load double, ptr %v348, align 8
  %v350 = insertelement <4 x double> poison, double %v349, i64 0
  %v351 = shufflevector <4 x double> %v350, <4 x double> poison, <4 x i32> zeroinitializer
  %v352 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v333, <4 x double> %v351, <4 x double> %v323)
  %v353 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v335, <4 x double> %v351, <4 x double> %v324)
  %v354 = getelementptr double, ptr %v246, i64 27
  %v355 = load double, ptr %v354, align 8
  %v356 = insertelement <4 x double> poison, double %v355, i64 0
  %v357 = shufflevector <4 x double> %v356, <4 x double> poison, <4 x i32> zeroinitializer
  %v358 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v333, <4 x double> %v357, <4 x double> %v329)
  %v359 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v335, <4 x double> %v357, <4 x double> %v330)
  %v360 = getelementptr double, ptr %v9, i64 24
  call void @llvm.prefetch.p0(ptr %v360, i32 0, i32 2, i32 1)
  %v361 = getelementptr double, ptr %batch2.a, i64 32
  %v362 = load <4 x double>, ptr %v361, align 8
  %v363 = getelementptr double, ptr %batch2.a, i64 36
  %v364 = load <4 x double>, ptr %v363, align 8
  %v365 = getelementptr double, ptr %v246, i64 4
  %v366 = load double, ptr %v365, align 8
  %v367 = insertelement <4 x double> poison, double %v366, i64 0
  %v368 = shufflevector <4 x double> %v367, <4 x double> poison, <4 x i32> zeroinitializer
  %v369 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v362, <4 x double> %v368, <4 x double> %v340)
  %v370 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v364, <4 x double> %v368, <4 x double> %v341)
  %v371 = getelementptr double, ptr %v246, i64 12
  %v372 = load double, ptr %v371, align 8
  %v373 = insertelement <4 x double> poison, double %v372, i64 0
  %v374 = shufflevector <4 x double> %v373, <4 x double> poison, <4 x i32> zeroinitializer
  %v375 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v362, <4 x double> %v374, <4 x double> %v346)
  %v376 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v364, <4 x double> %v374, <4 x double> %v347)
  %v377 = getelementptr double, ptr %v246, i64 20
  %v378 = load double, ptr %v377, align 8
  %v379 = insertelement <4 x double> poison, double %v378, i64 0
  %v380 = shufflevector <4 x double> %v379, <4 x double> poison, <4 x i32> zeroinitializer
  %v381 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v362, <4 x double> %v380, <4 x double> %v352)
  %v382 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v364, <4 x double> %v380, <4 x double> %v353)
  %v383 = getelementptr double, ptr %v246, i64 28
  %v384 = load double, ptr %v383, align 8
  %v385 = insertelement <4 x double> poison, double %v384, i64 0
  %v386 = shufflevector <4 x double> %v385, <4 x double> poison, <4 x i32> zeroinitializer
  %v387 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v362, <4 x double> %v386, <4 x double> %v358)
  %v388 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v364, <4 x double> %v386, <4 x double> %v359)
  %v389 = getelementptr double, ptr %v9, i64 32
  call void @llvm.prefetch.p0(ptr %v389, i32 0, i32 2, i32 1)
  %v390 = getelementptr double, ptr %batch2.a, i64 40
  %v391 = load <4 x double>, ptr %v390, align 8
  %v392 = getelementptr double, ptr %batch2.a, i64 44
  %v393 = load <4 x double>, ptr %v392, align 8
  %v394 = getelementptr double, ptr %v246, i64 5
  %v395 = load double, ptr %v394, align 8
  %v396 = insertelement <4 x double> poison, double %v395, i64 0
  %v397 = shufflevector <4 x double> %v396, <4 x double> poison, <4 x i32> zeroinitializer
  %v398 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v391, <4 x double> %v397, <4 x double> %v369)
  %v399 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v393, <4 x double> %v397, <4 x double> %v370)
  %v400 = getelementptr double, ptr %v246, i64 13
  %v401 = load double, ptr %v400, align 8
  %v402 = insertelement <4 x double> poison, double %v401, i64 0
  %v403 = shufflevector <4 x double> %v402, <4 x double> poison, <4 x i32> zeroinitializer
  %v404 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v391, <4 x double> %v403, <4 x double> %v375)
  %v405 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v393, <4 x double> %v403, <4 x double> %v376)
  %v406 = getelementptr double, ptr %v246, i64 21
  %v407 = load double, ptr %v406, align 8
  %v408 = insertelement <4 x double> poison, double %v407, i64 0
  %v409 = shufflevector <4 x double> %v408, <4 x double> poison, <4 x i32> zeroinitializer
  %v410 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v391, <4 x double> %v409, <4 x double> %v381)
  %v411 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v393, <4 x double> %v409, <4 x double> %v382)
  %v412 = getelementptr double, ptr %v246, i64 29
  %v413 = load double, ptr %v412, align 8
  %v414 = insertelement <4 x double> poison, double %v413, i64 0
  %v415 = shufflevector <4 x double> %v414, <4 x double> poison, <4 x i32> zeroinitializer
  %v416 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v391, <4 x double> %v415, <4 x double> %v387)
  %v417 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v393, <4 x double> %v415, <4 x double> %v388)
  %v418 = getelementptr double, ptr %v9, i64 40
  call void @llvm.prefetch.p0(ptr %v418, i32 0, i32 2, i32 1)
  %v419 = getelementptr double, ptr %batch2.a, i64 48
  %v420 = load <4 x double>, ptr %v419, align 8
  %v421 = getelementptr double, ptr %batch2.a, i64 52
  %v422 = load <4 x double>, ptr %v421, align 8
  %v423 = getelementptr double, ptr %v246, i64 6
  %v424 = load double, ptr %v423, align 8
  %v425 = insertelement <4 x double> poison, double %v424, i64 0
  %v426 = shufflevector <4 x double> %v425, <4 x double> poison, <4 x i32> zeroinitializer
  %v427 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v420, <4 x double> %v426, <4 x double> %v398)
  %v428 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v422, <4 x double> %v426, <4 x double> %v399)
  %v429 = getelementptr double, ptr %v246, i64 14
  %v430 = load double, ptr %v429, align 8
  %v431 = insertelement <4 x double> poison, double %v430, i64 0
  %v432 = shufflevector <4 x double> %v431, <4 x double> poison, <4 x i32> zeroinitializer
  %v433 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v420, <4 x double> %v432, <4 x double> %v404)
  %v434 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v422, <4 x double> %v432, <4 x double> %v405)
  %v435 = getelementptr double, ptr %v246, i64 22
  %v436 = load double, ptr %v435, align 8
  %v437 = insertelement <4 x double> poison, double %v436, i64 0
  %v438 = shufflevector <4 x double> %v437, <4 x double> poison, <4 x i32> zeroinitializer
  %v439 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v420, <4 x double> %v438, <4 x double> %v410)
  %v440 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v422, <4 x double> %v438, <4 x double> %v411)
  %v441 = getelementptr double, ptr %v246, i64 30
  %v442 = load double, ptr %v441, align 8
  %v443 = insertelement <4 x double> poison, double %v442, i64 0
  %v444 = shufflevector <4 x double> %v443, <4 x double> poison, <4 x i32> zeroinitializer
  %v445 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v420, <4 x double> %v444, <4 x double> %v416)
  %v446 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v422, <4 x double> %v444, <4 x double> %v417)
  %v447 = getelementptr double, ptr %v9, i64 48
  call void @llvm.prefetch.p0(ptr %v447, i32 0, i32 2, i32 1)
  %v448 = getelementptr double, ptr %batch2.a, i64 56
  %v449 = load <4 x double>, ptr %v448, align 8
  %v450 = getelementptr double, ptr %batch2.a, i64 60
  %v451 = load <4 x double>, ptr %v450, align 8
  %v452 = getelementptr double, ptr %v246, i64 7
  %v453 = load double, ptr %v452, align 8
  %v454 = insertelement <4 x double> poison, double %v453, i64 0
  %v455 = shufflevector <4 x double> %v454, <4 x double> poison, <4 x i32> zeroinitializer
  %v456 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v449, <4 x double> %v455, <4 x double> %v427)
  %v457 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v451, <4 x double> %v455, <4 x double> %v428)
  %v458 = getelementptr double, ptr %v246, i64 15
  %v459 = load double, ptr %v458, align 8
  %v460 = insertelement <4 x double> poison, double %v459, i64 0
  %v461 = shufflevector <4 x double> %v460, <4 x double> poison, <4 x i32> zeroinitializer
  %v462 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v449, <4 x double> %v461, <4 x double> %v433)
  %v463 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v451, <4 x double> %v461, <4 x double> %v434)
  %v464 = getelementptr double, ptr %v246, i64 23
  %v465 = load double, ptr %v464, align 8
  %v466 = insertelement <4 x double> poison, double %v465, i64 0
  %v467 = shufflevector <4 x double> %v466, <4 x double> poison, <4 x i32> zeroinitializer
  %v468 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v449, <4 x double> %v467, <4 x double> %v439)
  %v469 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v451, <4 x double> %v467, <4 x double> %v440)
  %v470 = getelementptr double, ptr %v246, i64 31
  %v471 = load double, ptr %v470, align 8
  %v472 = insertelement <4 x double> poison, double %v471, i64 0
  %v473 = shufflevector <4 x double> %v472, <4 x double> poison, <4 x i32> zeroinitializer
  %v474 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v449, <4 x double> %v473, <4 x double> %v445)
  %v475 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v451, <4 x double> %v473, <4 x double> %v446)
  %v476 = getelementptr double, ptr %v9, i64 56
  call void @llvm.prefetch.p0(ptr %v476, i32 0, i32 2, i32 1)
  %v477 = getelementptr double, ptr %v247, i64 4
  %v478 = getelementptr double, ptr %v247, i64 8
  %v479 = getelementptr double, ptr %v247, i64 12
  %v480 = getelementptr double, ptr %v247, i64 16
  %v481 = getelementptr double, ptr %v247, i64 20
  %v482 = getelementptr double, ptr %v247, i64 24
  %v483 = getelementptr double, ptr %v247, i64 28
  store <4 x double> %v456, ptr %v247, align 32, !nontemporal !0
  store <4 x double> %v457, ptr %v477, align 32, !nontemporal !0
  store <4 x double> %v462, ptr %v478, align 32, !nontemporal !0
  store <4 x double> %v463, ptr %v479, align 32, !nontemporal !0
  store <4 x double> %v468, ptr %v480, align 32, !nontemporal !0
  store <4 x double> %v469, ptr %v481, align 32, !nontemporal !0
  store <4 x double> %v474, ptr %v482, align 32, !nontemporal !0
  store <4 x double> %v475, ptr %v483, align 32, !nontemporal !0
  br label %latch3
latch3:
  %v484 = add i64 %batch2.i, 1
  %v485 = getelementptr double, ptr %batch2.a, i64 %sa
  %v486 = getelementptr double, ptr %batch2.b, i64 %sb
  %v487 = getelementptr double, ptr %batch2.c, i64 %sc
  %v488 = icmp slt i64 %v484, %count
  br i1 %v488, label %batch2, label %done4
done4:
  ret void
}

define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = ptrtoint ptr %C to i64
  %v2 = mul i64 %sc, 8
  %v3 = or i64 %v1, %v2
  %v4 = and i64 %v3, 31
  %v5 = icmp eq i64 %v4, 0
  br i1 %v5, label %stream, label %unaligned
stream:
  call void @tilewright_kernel_stream(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars)
  call void @llvm.x86.sse.sfence()
  ret void
unaligned:
  call void @tilewright_kernel_unaligned(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars)
  ret void
}

define void @tilewright_kernel_unaligned(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = icmp eq i64 %sc, 64
  br i1 %v1, label %staged, label %plain
staged:
  call void @tilewright_kernel_staged(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars)
  call void @llvm.x86.sse.sfence()
  ret void
plain:
  call void @tilewright_kernel_plain(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars)
  ret void
}

declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare void @llvm.x86.sse.sfence()

!0 = !{i32 1}
