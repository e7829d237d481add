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
  br i1 %v5, label %stream, label %plain
stream:
  call void @tilewright_kernel_stream(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars)
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
