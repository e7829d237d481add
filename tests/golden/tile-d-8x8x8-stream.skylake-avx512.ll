; d:nn:8x8x8|packed|alpha=1|beta=0|ieee skylake-avx512
; vector_bits=512 tail=mask store=stream cmul=none blk_m=1 blk_n=8 blk_k=8 inner=column reg_a=1 reg_b=1 order=nm roll=0 prefetch=4 level=2
define void @tilewright_kernel_plain(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v186, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v187, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v188, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v189, %latch3 ]
  br label %head6
head6:
  br label %k7
k7:
  %k7.i = phi i64 [ 0, %head6 ], [ %v176, %k7 ]
  %k7.a = phi ptr [ %batch2.a, %head6 ], [ %v174, %k7 ]
  %k7.b = phi ptr [ %batch2.b, %head6 ], [ %v175, %k7 ]
  %k7.s0 = phi <8 x double> [ zeroinitializer, %head6 ], [ %v138, %k7 ]
  %k7.s1 = phi <8 x double> [ zeroinitializer, %head6 ], [ %v143, %k7 ]
  %k7.s2 = phi <8 x double> [ zeroinitializer, %head6 ], [ %v148, %k7 ]
  %k7.s3 = phi <8 x double> [ zeroinitializer, %head6 ], [ %v153, %k7 ]
  %k7.s4 = phi <8 x double> [ zeroinitializer, %head6 ], [ %v158, %k7 ]
  %k7.s5 = phi <8 x double> [ zeroinitializer, %head6 ], [ %v163, %k7 ]
  %k7.s6 = phi <8 x double> [ zeroinitializer, %head6 ], [ %v168, %k7 ]
  %k7.s7 = phi <8 x double> [ zeroinitializer, %head6 ], [ %v173, %k7 ]
  %v8 = load <8 x double>, ptr %k7.a, align 8
  %v9 = load double, ptr %k7.b, align 8
  %v10 = insertelement <8 x double> poison, double %v9, i64 0
  %v11 = shufflevector <8 x double> %v10, <8 x double> poison, <8 x i32> zeroinitializer
  %v12 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v8, <8 x double> %v11, <8 x double> %k7.s0)
  %v13 = getelementptr double, ptr %k7.b, i64 8
  %v14 = load double, ptr %v13, align 8
  %v15 = insertelement <8 x double> poison, double %v14, i64 0
  %v16 = shufflevector <8 x double> %v15, <8 x double> poison, <8 x i32> zeroinitializer
  %v17 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v8, <8 x double> %v16, <8 x double> %k7.s1)
  %v18 = getelementptr double, ptr %k7.b, i64 16
  %v19 = load double, ptr %v18, align 8
  %v20 = insertelement <8 x double> poison, double %v19, i64 0
  %v21 = shufflevector <8 x double> %v20, <8 x double> poison, <8 x i32> zeroinitializer
  %v22 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v8, <8 x double> %v21, <8 x double> %k7.s2)
  %v23 = getelementptr double, ptr %k7.b, i64 24
  %v24 = load double, ptr %v23, align 8
  %v25 = insertelement <8 x double> poison, double %v24, i64 0
  %v26 = shufflevector <8 x double> %v25, <8 x double> poison, <8 x i32> zeroinitializer
  %v27 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v8, <8 x double> %v26, <8 x double> %k7.s3)
  %v28 = getelementptr double, ptr %k7.b, i64 32
  %v29 = load double, ptr %v28, align 8
  %v30 = insertelement <8 x double> poison, double %v29, i64 0
  %v31 = shufflevector <8 x double> %v30, <8 x double> poison, <8 x i32> zeroinitializer
  %v32 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v8, <8 x double> %v31, <8 x double> %k7.s4)
  %v33 = getelementptr double, ptr %k7.b, i64 40
  %v34 = load double, ptr %v33, align 8
  %v35 = insertelement <8 x double> poison, double %v34, i64 0
  %v36 = shufflevector <8 x double> %v35, <8 x double> poison, <8 x i32> zeroinitializer
  %v37 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v8, <8 x double> %v36, <8 x double> %k7.s5)
  %v38 = getelementptr double, ptr %k7.b, i64 48
  %v39 = load double, ptr %v38, align 8
  %v40 = insertelement <8 x double> poison, double %v39, i64 0
  %v41 = shufflevector <8 x double> %v40, <8 x double> poison, <8 x i32> zeroinitializer
  %v42 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v8, <8 x double> %v41, <8 x double> %k7.s6)
  %v43 = getelementptr double, ptr %k7.b, i64 56
  %v44 = load double, ptr %v43, align 8
  %v45 = insertelement <8 x double> poison, double %v44, i64 0
  %v46 = shufflevector <8 x double> %v45, <8 x double> poison, <8 x i32> zeroinitializer
  %v47 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v8, <8 x double> %v46, <8 x double> %k7.s7)
  %v48 = getelementptr double, ptr %k7.a, i64 8
  %v49 = load <8 x double>, ptr %v48, align 8
  %v50 = getelementptr double, ptr %k7.b, i64 1
  %v51 = load double, ptr %v50, align 8
  %v52 = insertelement <8 x double> poison, double %v51, i64 0
  %v53 = shufflevector <8 x double> %v52, <8 x double> poison, <8 x i32> zeroinitializer
  %v54 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v49, <8 x double> %v53, <8 x double> %v12)
  %v55 = getelementptr double, ptr %k7.b, i64 9
  %v56 = load double, ptr %v55, align 8
  %v57 = insertelement <8 x double> poison, double %v56, i64 0
  %v58 = shufflevector <8 x double> %v57, <8 x double> poison, <8 x i32> zeroinitializer
  %v59 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v49, <8 x double> %v58, <8 x double> %v17)
  %v60 = getelementptr double, ptr %k7.b, i64 17
  %v61 = load double, ptr %v60, align 8
  %v62 = insertelement <8 x double> poison, double %v61, i64 0
  %v63 = shufflevector <8 x double> %v62, <8 x double> poison, <8 x i32> zeroinitializer
  %v64 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v49, <8 x double> %v63, <8 x double> %v22)
  %v65 = getelementptr double, ptr %k7.b, i64 25
  %v66 = load double, ptr %v65, align 8
  %v67 = insertelement <8 x double> poison, double %v66, i64 0
  %v68 = shufflevector <8 x double> %v67, <8 x double> poison, <8 x i32> zeroinitializer
  %v69 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v49, <8 x double> %v68, <8 x double> %v27)
  %v70 = getelementptr double, ptr %k7.b, i64 33
  %v71 = load double, ptr %v70, align 8
  %v72 = insertelement <8 x double> poison, double %v71, i64 0
  %v73 = shufflevector <8 x double> %v72, <8 x double> poison, <8 x i32> zeroinitializer
  %v74 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v49, <8 x double> %v73, <8 x double> %v32)
  %v75 = getelementptr double, ptr %k7.b, i64 41
  %v76 = load double, ptr %v75, align 8
  %v77 = insertelement <8 x double> poison, double %v76, i64 0
  %v78 = shufflevector <8 x double> %v77, <8 x double> poison, <8 x i32> zeroinitializer
  %v79 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v49, <8 x double> %v78, <8 x double> %v37)
  %v80 = getelementptr double, ptr %k7.b, i64 49
  %v81 = load double, ptr %v80, align 8
  %v82 = insertelement <8 x double> poison, double %v81, i64 0
  %v83 = shufflevector <8 x double> %v82, <8 x double> poison, <8 x i32> zeroinitializer
  %v84 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v49, <8 x double> %v83, <8 x double> %v42)
  %v85 = getelementptr double, ptr %k7.b, i64 57
  %v86 = load double, ptr %v85, align 8
  %v87 = insertelement <8 x double> poison, double %v86, i64 0
  %v88 = shufflevector <8 x double> %v87, <8 x double> poison, <8 x i32> zeroinitializer
  %v89 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v49, <8 x double> %v88, <8 x double> %v47)
  %v90 = getelementptr double, ptr %k7.a, i64 16
  %v91 = load <8 x double>, ptr %v90, align 8
  %v92 = getelementptr double, ptr %k7.b, i64 2
  %v93 = load double, ptr %v92, align 8
  %v94 = insertelement <8 x double> poison, double %v93, i64 0
  %v95 = shufflevector <8 x double> %v94, <8 x double> poison, <8 x i32> zeroinitializer
  %v96 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v91, <8 x double> %v95, <8 x double> %v54)
  %v97 = getelementptr double, ptr %k7.b, i64 10
  %v98 = load double, ptr %v97, align 8
  %v99 = insertelement <8 x double> poison, double %v98, i64 0
  %v100 = shufflevector <8 x double> %v99, <8 x double> poison, <8 x i32> zeroinitializer
  %v101 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v91, <8 x double> %v100, <8 x double> %v59)
  %v102 = getelementptr double, ptr %k7.b, i64 18
  %v103 = load double, ptr %v102, align 8
  %v104 = insertelement <8 x double> poison, double %v103, i64 0
  %v105 = shufflevector <8 x double> %v104, <8 x double> poison, <8 x i32> zeroinitializer
  %v106 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v91, <8 x double> %v105, <8 x double> %v64)
  %v107 = getelementptr double, ptr %k7.b, i64 26
  %v108 = load double, ptr %v107, align 8
  %v109 = insertelement <8 x double> poison, double %v108, i64 0
  %v110 = shufflevector <8 x double> %v109, <8 x double> poison, <8 x i32> zeroinitializer
  %v111 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v91, <8 x double> %v110, <8 x double> %v69)
  %v112 = getelementptr double, ptr %k7.b, i64 34
  %v113 = load double, ptr %v112, align 8
  %v114 = insertelement <8 x double> poison, double %v113, i64 0
  %v115 = shufflevector <8 x double> %v114, <8 x double> poison, <8 x i32> zeroinitializer
  %v116 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v91, <8 x double> %v115, <8 x double> %v74)
  %v117 = getelementptr double, ptr %k7.b, i64 42
  %v118 = load double, ptr %v117, align 8
  %v119 = insertelement <8 x double> poison, double %v118, i64 0
  %v120 = shufflevector <8 x double> %v119, <8 x double> poison, <8 x i32> zeroinitializer
  %v121 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v91, <8 x double> %v120, <8 x double> %v79)
  %v122 = getelementptr double, ptr %k7.b, i64 50
  %v123 = load double, ptr %v122, align 8
  %v124 = insertelement <8 x double> poison, double %v123, i64 0
  %v125 = shufflevector <8 x double> %v124, <8 x double> poison, <8 x i32> zeroinitializer
  %v126 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v91, <8 x double> %v125, <8 x double> %v84)
  %v127 = getelementptr double, ptr %k7.b, i64 58
  %v128 = load double, ptr %v127, align 8
  %v129 = insertelement <8 x double> poison, double %v128, i64 0
  %v130 = shufflevector <8 x double> %v129, <8 x double> poison, <8 x i32> zeroinitializer
  %v131 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v91, <8 x double> %v130, <8 x double> %v89)
  %v132 = getelementptr double, ptr %k7.a, i64 24
  %v133 = load <8 x double>, ptr %v132, align 8
  %v134 = getelementptr double, ptr %k7.b, i64 3
  %v135 = load double, ptr %v134, align 8
  %v136 = insertelement <8 x double> poison, double %v135, i64 0
  %v137 = shufflevector <8 x double> %v136, <8 x double> poison, <8 x i32> zeroinitializer
  %v138 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v133, <8 x double> %v137, <8 x double> %v96)
  %v139 = getelementptr double, ptr %k7.b, i64 11
  %v140 = load double, ptr %v139, align 8
  %v141 = insertelement <8 x double> poison, double %v140, i64 0
  %v142 = shufflevector <8 x double> %v141, <8 x double> poison, <8 x i32> zeroinitializer
  %v143 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v133, <8 x double> %v142, <8 x double> %v101)
  %v144 = getelementptr double, ptr %k7.b, i64 19
  %v145 = load double, ptr %v144, align 8
  %v146 = insertelement <8 x double> poison, double %v145, i64 0
  %v147 = shufflevector <8 x double> %v146, <8 x double> poison, <8 x i32> zeroinitializer
  %v148 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v133, <8 x double> %v147, <8 x double> %v106)
  %v149 = getelementptr double, ptr %k7.b, i64 27
  %v150 = load double, ptr %v149, align 8
  %v151 = insertelement <8 x double> poison, double %v150, i64 0
  %v152 = shufflevector <8 x double> %v151, <8 x double> poison, <8 x i32> zeroinitializer
  %v153 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v133, <8 x double> %v152, <8 x double> %v111)
  %v154 = getelementptr double, ptr %k7.b, i64 35
  %v155 = load double, ptr %v154, align 8
  %v156 = insertelement <8 x double> poison, double %v155, i64 0
  %v157 = shufflevector <8 x double> %v156, <8 x double> poison, <8 x i32> zeroinitializer
  %v158 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v133, <8 x double> %v157, <8 x double> %v116)
  %v159 = getelementptr double, ptr %k7.b, i64 43
  %v160 = load double, ptr %v159, align 8
  %v161 = insertelement <8 x double> poison, double %v160, i64 0
  %v162 = shufflevector <8 x double> %v161, <8 x double> poison, <8 x i32> zeroinitializer
  %v163 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v133, <8 x double> %v162, <8 x double> %v121)
  %v164 = getelementptr double, ptr %k7.b, i64 51
  %v165 = load double, ptr %v164, align 8
  %v166 = insertelement <8 x double> poison, double %v165, i64 0
  %v167 = shufflevector <8 x double> %v166, <8 x double> poison, <8 x i32> zeroinitializer
  %v168 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v133, <8 x double> %v167, <8 x double> %v126)
  %v169 = getelementptr double, ptr %k7.b, i64 59
  %v170 = load double, ptr %v169, align 8
  %v171 = insertelement <8 x double> poison, double %v170, i64 0
  %v172 = shufflevector <8 x double> %v171, <8 x double> poison, <8 x i32> zeroinitializer
  %v173 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v133, <8 x double> %v172, <8 x double> %v131)
  %v174 = getelementptr double, ptr %k7.a, i64 32
  %v175 = getelementptr double, ptr %k7.b, i64 4
  %v176 = add i64 %k7.i, 4
  %v177 = icmp slt i64 %v176, 8
  br i1 %v177, label %k7, label %tail178
tail178:
  %v179 = getelementptr double, ptr %batch2.c, i64 8
  %v180 = getelementptr double, ptr %batch2.c, i64 16
  %v181 = getelementptr double, ptr %batch2.c, i64 24
  %v182 = getelementptr double, ptr %batch2.c, i64 32
  %v183 = getelementptr double, ptr %batch2.c, i64 40
  %v184 = getelementptr double, ptr %batch2.c, i64 48
  %v185 = getelementptr double, ptr %batch2.c, i64 56
  store <8 x double> %v138, ptr %batch2.c, align 8
  store <8 x double> %v143, ptr %v179, align 8
  store <8 x double> %v148, ptr %v180, align 8
  store <8 x double> %v153, ptr %v181, align 8
  store <8 x double> %v158, ptr %v182, align 8
  store <8 x double> %v163, ptr %v183, align 8
  store <8 x double> %v168, ptr %v184, align 8
  store <8 x double> %v173, ptr %v185, align 8
  br label %latch3
latch3:
  %v186 = add i64 %batch2.i, 1
  %v187 = getelementptr double, ptr %batch2.a, i64 %sa
  %v188 = getelementptr double, ptr %batch2.b, i64 %sb
  %v189 = getelementptr double, ptr %batch2.c, i64 %sc
  %v190 = icmp slt i64 %v186, %count
  br i1 %v190, label %batch2, label %done4
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
  %batch2.i = phi i64 [ 0, %before1 ], [ %v365, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v366, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v367, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v368, %latch3 ]
  %v6 = mul i64 %sa, 4
  %v7 = getelementptr double, ptr %batch2.a, i64 %v6
  %v8 = mul i64 %sb, 4
  %v9 = getelementptr double, ptr %batch2.b, i64 %v8
  %v10 = load <8 x double>, ptr %batch2.a, align 8
  %v11 = load double, ptr %batch2.b, align 8
  %v12 = insertelement <8 x double> poison, double %v11, i64 0
  %v13 = shufflevector <8 x double> %v12, <8 x double> poison, <8 x i32> zeroinitializer
  %v14 = fmul <8 x double> %v10, %v13
  %v15 = getelementptr double, ptr %batch2.b, i64 8
  %v16 = load double, ptr %v15, align 8
  %v17 = insertelement <8 x double> poison, double %v16, i64 0
  %v18 = shufflevector <8 x double> %v17, <8 x double> poison, <8 x i32> zeroinitializer
  %v19 = fmul <8 x double> %v10, %v18
  %v20 = getelementptr double, ptr %batch2.b, i64 16
  %v21 = load double, ptr %v20, align 8
  %v22 = insertelement <8 x double> poison, double %v21, i64 0
  %v23 = shufflevector <8 x double> %v22, <8 x double> poison, <8 x i32> zeroinitializer
  %v24 = fmul <8 x double> %v10, %v23
  %v25 = getelementptr double, ptr %batch2.b, i64 24
  %v26 = load double, ptr %v25, align 8
  %v27 = insertelement <8 x double> poison, double %v26, i64 0
  %v28 = shufflevector <8 x double> %v27, <8 x double> poison, <8 x i32> zeroinitializer
  %v29 = fmul <8 x double> %v10, %v28
  %v30 = getelementptr double, ptr %batch2.b, i64 32
  %v31 = load double, ptr %v30, align 8
  %v32 = insertelement <8 x double> poison, double %v31, i64 0
  %v33 = shufflevector <8 x double> %v32, <8 x double> poison, <8 x i32> zeroinitializer
  %v34 = fmul <8 x double> %v10, %v33
  %v35 = getelementptr double, ptr %batch2.b, i64 40
  %v36 = load double, ptr %v35, align 8
  %v37 = insertelement <8 x double> poison, double %v36, i64 0
  %v38 = shufflevector <8 x double> %v37, <8 x double> poison, <8 x i32> zeroinitializer
  %v39 = fmul <8 x double> %v10, %v38
  %v40 = getelementptr double, ptr %batch2.b, i64 48
  %v41 = load double, ptr %v40, align 8
  %v42 = insertelement <8 x double> poison, double %v41, i64 0
  %v43 = shufflevector <8 x double> %v42, <8 x double> poison, <8 x i32> zeroinitializer
  %v44 = fmul <8 x double> %v10, %v43
  %v45 = getelementptr double, ptr %batch2.b, i64 56
  %v46 = load double, ptr %v45, align 8
  %v47 = insertelement <8 x double> poison, double %v46, i64 0
  %v48 = shufflevector <8 x double> %v47, <8 x double> poison, <8 x i32> zeroinitializer
  %v49 = fmul <8 x double> %v10, %v48
  call void @llvm.prefetch.p0(ptr %v7, i32 0, i32 2, i32 1)
  %v50 = getelementptr double, ptr %v7, i64 8
  call void @llvm.prefetch.p0(ptr %v50, i32 0, i32 2, i32 1)
  %v51 = getelementptr double, ptr %batch2.a, i64 8
  %v52 = load <8 x double>, ptr %v51, align 8
  %v53 = getelementptr double, ptr %batch2.b, i64 1
  %v54 = load double, ptr %v53, align 8
  %v55 = insertelement <8 x double> poison, double %v54, i64 0
  %v56 = shufflevector <8 x double> %v55, <8 x double> poison, <8 x i32> zeroinitializer
  %v57 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v52, <8 x double> %v56, <8 x double> %v14)
  %v58 = getelementptr double, ptr %batch2.b, i64 9
  %v59 = load double, ptr %v58, align 8
  %v60 = insertelement <8 x double> poison, double %v59, i64 0
  %v61 = shufflevector <8 x double> %v60, <8 x double> poison, <8 x i32> zeroinitializer
  %v62 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v52, <8 x double> %v61, <8 x double> %v19)
  %v63 = getelementptr double, ptr %batch2.b, i64 17
  %v64 = load double, ptr %v63, align 8
  %v65 = insertelement <8 x double> poison, double %v64, i64 0
  %v66 = shufflevector <8 x double> %v65, <8 x double> poison, <8 x i32> zeroinitializer
  %v67 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v52, <8 x double> %v66, <8 x double> %v24)
  %v68 = getelementptr double, ptr %batch2.b, i64 25
  %v69 = load double, ptr %v68, align 8
  %v70 = insertelement <8 x double> poison, double %v69, i64 0
  %v71 = shufflevector <8 x double> %v70, <8 x double> poison, <8 x i32> zeroinitializer
  %v72 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v52, <8 x double> %v71, <8 x double> %v29)
  %v73 = getelementptr double, ptr %batch2.b, i64 33
  %v74 = load double, ptr %v73, align 8
  %v75 = insertelement <8 x double> poison, double %v74, i64 0
  %v76 = shufflevector <8 x double> %v75, <8 x double> poison, <8 x i32> zeroinitializer
  %v77 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v52, <8 x double> %v76, <8 x double> %v34)
  %v78 = getelementptr double, ptr %batch2.b, i64 41
  %v79 = load double, ptr %v78, align 8
  %v80 = insertelement <8 x double> poison, double %v79, i64 0
  %v81 = shufflevector <8 x double> %v80, <8 x double> poison, <8 x i32> zeroinitializer
  %v82 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v52, <8 x double> %v81, <8 x double> %v39)
  %v83 = getelementptr double, ptr %batch2.b, i64 49
  %v84 = load double, ptr %v83, align 8
  %v85 = insertelement <8 x double> poison, double %v84, i64 0
  %v86 = shufflevector <8 x double> %v85, <8 x double> poison, <8 x i32> zeroinitializer
  %v87 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v52, <8 x double> %v86, <8 x double> %v44)
  %v88 = getelementptr double, ptr %batch2.b, i64 57
  %v89 = load double, ptr %v88, align 8
  %v90 = insertelement <8 x double> poison, double %v89, i64 0
  %v91 = shufflevector <8 x double> %v90, <8 x double> poison, <8 x i32> zeroinitializer
  %v92 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v52, <8 x double> %v91, <8 x double> %v49)
  %v93 = getelementptr double, ptr %v7, i64 16
  call void @llvm.prefetch.p0(ptr %v93, i32 0, i32 2, i32 1)
  %v94 = getelementptr double, ptr %v7, i64 24
  call void @llvm.prefetch.p0(ptr %v94, i32 0, i32 2, i32 1)
  %v95 = getelementptr double, ptr %batch2.a, i64 16
  %v96 = load <8 x double>, ptr %v95, align 8
  %v97 = getelementptr double, ptr %batch2.b, i64 2
  %v98 = load double, ptr %v97, align 8
  %v99 = insertelement <8 x double> poison, double %v98, i64 0
  %v100 = shufflevector <8 x double> %v99, <8 x double> poison, <8 x i32> zeroinitializer
  %v101 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v96, <8 x double> %v100, <8 x double> %v57)
  %v102 = getelementptr double, ptr %batch2.b, i64 10
  %v103 = load double, ptr %v102, align 8
  %v104 = insertelement <8 x double> poison, double %v103, i64 0
  %v105 = shufflevector <8 x double> %v104, <8 x double> poison, <8 x i32> zeroinitializer
  %v106 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v96, <8 x double> %v105, <8 x double> %v62)
  %v107 = getelementptr double, ptr %batch2.b, i64 18
  %v108 = load double, ptr %v107, align 8
  %v109 = insertelement <8 x double> poison, double %v108, i64 0
  %v110 = shufflevector <8 x double> %v109, <8 x double> poison, <8 x i32> zeroinitializer
  %v111 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v96, <8 x double> %v110, <8 x double> %v67)
  %v112 = getelementptr double, ptr %batch2.b, i64 26
  %v113 = load double, ptr %v112, align 8
  %v114 = insertelement <8 x double> poison, double %v113, i64 0
  %v115 = shufflevector <8 x double> %v114, <8 x double> poison, <8 x i32> zeroinitializer
  %v116 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v96, <8 x double> %v115, <8 x double> %v72)
  %v117 = getelementptr double, ptr %batch2.b, i64 34
  %v118 = load double, ptr %v117, align 8
  %v119 = insertelement <8 x double> poison, double %v118, i64 0
  %v120 = shufflevector <8 x double> %v119, <8 x double> poison, <8 x i32> zeroinitializer
  %v121 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v96, <8 x double> %v120, <8 x double> %v77)
  %v122 = getelementptr double, ptr %batch2.b, i64 42
  %v123 = load double, ptr %v122, align 8
  %v124 = insertelement <8 x double> poison, double %v123, i64 0
  %v125 = shufflevector <8 x double> %v124, <8 x double> poison, <8 x i32> zeroinitializer
  %v126 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v96, <8 x double> %v125, <8 x double> %v82)
  %v127 = getelementptr double, ptr %batch2.b, i64 50
  %v128 = load double, ptr %v127, align 8
  %v129 = insertelement <8 x double> poison, double %v128, i64 0
  %v130 = shufflevector <8 x double> %v129, <8 x double> poison, <8 x i32> zeroinitializer
  %v131 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v96, <8 x double> %v130, <8 x double> %v87)
  %v132 = getelementptr double, ptr %batch2.b, i64 58
  %v133 = load double, ptr %v132, align 8
  %v134 = insertelement <8 x double> poison, double %v133, i64 0
  %v135 = shufflevector <8 x double> %v134, <8 x double> poison, <8 x i32> zeroinitializer
  %v136 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v96, <8 x double> %v135, <8 x double> %v92)
  %v137 = getelementptr double, ptr %v7, i64 32
  call void @llvm.prefetch.p0(ptr %v137, i32 0, i32 2, i32 1)
  %v138 = getelementptr double, ptr %v7, i64 40
  call void @llvm.prefetch.p0(ptr %v138, i32 0, i32 2, i32 1)
  %v139 = getelementptr double, ptr %batch2.a, i64 24
  %v140 = load <8 x double>, ptr %v139, align 8
  %v141 = getelementptr double, ptr %batch2.b, i64 3
  %v142 = load double, ptr %v141, align 8
  %v143 = insertelement <8 x double> poison, double %v142, i64 0
  %v144 = shufflevector <8 x double> %v143, <8 x double> poison, <8 x i32> zeroinitializer
  %v145 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v140, <8 x double> %v144, <8 x double> %v101)
  %v146 = getelementptr double, ptr %batch2.b, i64 11
  %v147 = load double, ptr %v146, align 8
  %v148 = insertelement <8 x double> poison, double %v147, i64 0
  %v149 = shufflevector <8 x double> %v148, <8 x double> poison, <8 x i32> zeroinitializer
  %v150 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v140, <8 x double> %v149, <8 x double> %v106)
  %v151 = getelementptr double, ptr %batch2.b, i64 19
  %v152 = load double, ptr %v151, align 8
  %v153 = insertelement <8 x double> poison, double %v152, i64 0
  %v154 = shufflevector <8 x double> %v153, <8 x double> poison, <8 x i32> zeroinitializer
  %v155 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v140, <8 x double> %v154, <8 x double> %v111)
  %v156 = getelementptr double, ptr %batch2.b, i64 27
  %v157 = load double, ptr %v156, align 8
  %v158 = insertelement <8 x double> poison, double %v157, i64 0
  %v159 = shufflevector <8 x double> %v158, <8 x double> poison, <8 x i32> zeroinitializer
  %v160 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v140, <8 x double> %v159, <8 x double> %v116)
  %v161 = getelementptr double, ptr %batch2.b, i64 35
  %v162 = load double, ptr %v161, align 8
  %v163 = insertelement <8 x double> poison, double %v162, i64 0
  %v164 = shufflevector <8 x double> %v163, <8 x double> poison, <8 x i32> zeroinitializer
  %v165 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v140, <8 x double> %v164, <8 x double> %v121)
  %v166 = getelementptr double, ptr %batch2.b, i64 43
  %v167 = load double, ptr %v166, align 8
  %v168 = insertelement <8 x double> poison, double %v167, i64 0
  %v169 = shufflevector <8 x double> %v168, <8 x double> poison, <8 x i32> zeroinitializer
  %v170 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v140, <8 x double> %v169, <8 x double> %v126)
  %v171 = getelementptr double, ptr %batch2.b, i64 51
  %v172 = load double, ptr %v171, align 8
  %v173 = insertelement <8 x double> poison, double %v172, i64 0
  %v174 = shufflevector <8 x double> %v173, <8 x double> poison, <8 x i32> zeroinitializer
  %v175 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v140, <8 x double> %v174, <8 x double> %v131)
  %v176 = getelementptr double, ptr %batch2.b, i64 59
  %v177 = load double, ptr %v176, align 8
  %v178 = insertelement <8 x double> poison, double %v177, i64 0
  %v179 = shufflevector <8 x double> %v178, <8 x double> poison, <8 x i32> zeroinitializer
  %v180 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v140, <8 x double> %v179, <8 x double> %v136)
  %v181 = getelementptr double, ptr %v7, i64 48
  call void @llvm.prefetch.p0(ptr %v181, i32 0, i32 2, i32 1)
  %v182 = getelementptr double, ptr %v7, i64 56
  call void @llvm.prefetch.p0(ptr %v182, i32 0, i32 2, i32 1)
  %v183 = getelementptr double, ptr %batch2.a, i64 32
  %v184 = load <8 x double>, ptr %v183, align 8
  %v185 = getelementptr double, ptr %batch2.b, i64 4
  %v186 = load double, ptr %v185, align 8
  %v187 = insertelement <8 x double> poison, double %v186, i64 0
  %v188 = shufflevector <8 x double> %v187, <8 x double> poison, <8 x i32> zeroinitializer
  %v189 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v184, <8 x double> %v188, <8 x double> %v145)
  %v190 = getelementptr double, ptr %batch2.b, i64 12
  %v191 = load double, ptr %v190, align 8
  %v192 = insertelement <8 x double> poison, double %v191, i64 0
  %v193 = shufflevector <8 x double> %v192, <8 x double> poison, <8 x i32> zeroinitializer
  %v194 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v184, <8 x double> %v193, <8 x double> %v150)
  %v195 = getelementptr double, ptr %batch2.b, i64 20
  %v196 = load double, ptr %v195, align 8
  %v197 = insertelement <8 x double> poison, double %v196, i64 0
  %v198 = shufflevector <8 x double> %v197, <8 x double> poison, <8 x i32> zeroinitializer
  %v199 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v184, <8 x double> %v198, <8 x double> %v155)
  %v200 = getelementptr double, ptr %batch2.b, i64 28
  %v201 = load double, ptr %v200, align 8
  %v202 = insertelement <8 x double> poison, double %v201, i64 0
  %v203 = shufflevector <8 x double> %v202, <8 x double> poison, <8 x i32> zeroinitializer
  %v204 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v184, <8 x double> %v203, <8 x double> %v160)
  %v205 = getelementptr double, ptr %batch2.b, i64 36
  %v206 = load double, ptr %v205, align 8
  %v207 = insertelement <8 x double> poison, double %v206, i64 0
  %v208 = shufflevector <8 x double> %v207, <8 x double> poison, <8 x i32> zeroinitializer
  %v209 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v184, <8 x double> %v208, <8 x double> %v165)
  %v210 = getelementptr double, ptr %batch2.b, i64 44
  %v211 = load double, ptr %v210, align 8
  %v212 = insertelement <8 x double> poison, double %v211, i64 0
  %v213 = shufflevector <8 x double> %v212, <8 x double> poison, <8 x i32> zeroinitializer
  %v214 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v184, <8 x double> %v213, <8 x double> %v170)
  %v215 = getelementptr double, ptr %batch2.b, i64 52
  %v216 = load double, ptr %v215, align 8
  %v217 = insertelement <8 x double> poison, double %v216, i64 0
  %v218 = shufflevector <8 x double> %v217, <8 x double> poison, <8 x i32> zeroinitializer
  %v219 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v184, <8 x double> %v218, <8 x double> %v175)
  %v220 = getelementptr double, ptr %batch2.b, i64 60
  %v221 = load double, ptr %v220, align 8
  %v222 = insertelement <8 x double> poison, double %v221, i64 0
  %v223 = shufflevector <8 x double> %v222, <8 x double> poison, <8 x i32> zeroinitializer
  %v224 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v184, <8 x double> %v223, <8 x double> %v180)
  call void @llvm.prefetch.p0(ptr %v9, i32 0, i32 2, i32 1)
  %v225 = getelementptr double, ptr %v9, i64 8
  call void @llvm.prefetch.p0(ptr %v225, i32 0, i32 2, i32 1)
  %v226 = getelementptr double, ptr %batch2.a, i64 40
  %v227 = load <8 x double>, ptr %v226, align 8
  %v228 = getelementptr double, ptr %batch2.b, i64 5
  %v229 = load double, ptr %v228, align 8
  %v230 = insertelement <8 x double> poison, double %v229, i64 0
  %v231 = shufflevector <8 x double> %v230, <8 x double> poison, <8 x i32> zeroinitializer
  %v232 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v227, <8 x double> %v231, <8 x double> %v189)
  %v233 = getelementptr double, ptr %batch2.b, i64 13
  %v234 = load double, ptr %v233, align 8
  %v235 = insertelement <8 x double> poison, double %v234, i64 0
  %v236 = shufflevector <8 x double> %v235, <8 x double> poison, <8 x i32> zeroinitializer
  %v237 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v227, <8 x double> %v236, <8 x double> %v194)
  %v238 = getelementptr double, ptr %batch2.b, i64 21
  %v239 = load double, ptr %v238, align 8
  %v240 = insertelement <8 x double> poison, double %v239, i64 0
  %v241 = shufflevector <8 x double> %v240, <8 x double> poison, <8 x i32> zeroinitializer
  %v242 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v227, <8 x double> %v241, <8 x double> %v199)
  %v243 = getelementptr double, ptr %batch2.b, i64 29
  %v244 = load double, ptr %v243, align 8
  %v245 = insertelement <8 x double> poison, double %v244, i64 0
  %v246 = shufflevector <8 x double> %v245, <8 x double> poison, <8 x i32> zeroinitializer
  %v247 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v227, <8 x double> %v246, <8 x double> %v204)
  %v248 = getelementptr double, ptr %batch2.b, i64 37
  %v249 = load double, ptr %v248, align 8
  %v250 = insertelement <8 x double> poison, double %v249, i64 0
  %v251 = shufflevector <8 x double> %v250, <8 x double> poison, <8 x i32> zeroinitializer
  %v252 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v227, <8 x double> %v251, <8 x double> %v209)
  %v253 = getelementptr double, ptr %batch2.b, i64 45
  %v254 = load double, ptr %v253, align 8
  %v255 = insertelement <8 x double> poison, double %v254, i64 0
  %v256 = shufflevector <8 x double> %v255, <8 x double> poison, <8 x i32> zeroinitializer
  %v257 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v227, <8 x double> %v256, <8 x double> %v214)
  %v258 = getelementptr double, ptr %batch2.b, i64 53
  %v259 = load double, ptr %v258, align 8
  %v260 = insertelement <8 x double> poison, double %v259, i64 0
  %v261 = shufflevector <8 x double> %v260, <8 x double> poison, <8 x i32> zeroinitializer
  %v262 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v227, <8 x double> %v261, <8 x double> %v219)
  %v263 = getelementptr double, ptr %batch2.b, i64 61
  %v264 = load double, ptr %v263, align 8
  %v265 = insertelement <8 x double> poison, double %v264, i64 0
  %v266 = shufflevector <8 x double> %v265, <8 x double> poison, <8 x i32> zeroinitializer
  %v267 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v227, <8 x double> %v266, <8 x double> %v224)
  %v268 = getelementptr double, ptr %v9, i64 16
  call void @llvm.prefetch.p0(ptr %v268, i32 0, i32 2, i32 1)
  %v269 = getelementptr double, ptr %v9, i64 24
  call void @llvm.prefetch.p0(ptr %v269, i32 0, i32 2, i32 1)
  %v270 = getelementptr double, ptr %batch2.a, i64 48
  %v271 = load <8 x double>, ptr %v270, align 8
  %v272 = getelementptr double, ptr %batch2.b, i64 6
  %v273 = load double, ptr %v272, align 8
  %v274 = insertelement <8 x double> poison, double %v273, i64 0
  %v275 = shufflevector <8 x double> %v274, <8 x double> poison, <8 x i32> zeroinitializer
  %v276 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v271, <8 x double> %v275, <8 x double> %v232)
  %v277 = getelementptr double, ptr %batch2.b, i64 14
  %v278 = load double, ptr %v277, align 8
  %v279 = insertelement <8 x double> poison, double %v278, i64 0
  %v280 = shufflevector <8 x double> %v279, <8 x double> poison, <8 x i32> zeroinitializer
  %v281 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v271, <8 x double> %v280, <8 x double> %v237)
  %v282 = getelementptr double, ptr %batch2.b, i64 22
  %v283 = load double, ptr %v282, align 8
  %v284 = insertelement <8 x double> poison, double %v283, i64 0
  %v285 = shufflevector <8 x double> %v284, <8 x double> poison, <8 x i32> zeroinitializer
  %v286 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v271, <8 x double> %v285, <8 x double> %v242)
  %v287 = getelementptr double, ptr %batch2.b, i64 30
  %v288 = load double, ptr %v287, align 8
  %v289 = insertelement <8 x double> poison, double %v288, i64 0
  %v290 = shufflevector <8 x double> %v289, <8 x double> poison, <8 x i32> zeroinitializer
  %v291 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v271, <8 x double> %v290, <8 x double> %v247)
  %v292 = getelementptr double, ptr %batch2.b, i64 38
  %v293 = load double, ptr %v292, align 8
  %v294 = insertelement <8 x double> poison, double %v293, i64 0
  %v295 = shufflevector <8 x double> %v294, <8 x double> poison, <8 x i32> zeroinitializer
  %v296 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v271, <8 x double> %v295, <8 x double> %v252)
  %v297 = getelementptr double, ptr %batch2.b, i64 46
  %v298 = load double, ptr %v297, align 8
  %v299 = insertelement <8 x double> poison, double %v298, i64 0
  %v300 = shufflevector <8 x double> %v299, <8 x double> poison, <8 x i32> zeroinitializer
  %v301 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v271, <8 x double> %v300, <8 x double> %v257)
  %v302 = getelementptr double, ptr %batch2.b, i64 54
  %v303 = load double, ptr %v302, align 8
  %v304 = insertelement <8 x double> poison, double %v303, i64 0
  %v305 = shufflevector <8 x double> %v304, <8 x double> poison, <8 x i32> zeroinitializer
  %v306 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v271, <8 x double> %v305, <8 x double> %v262)
  %v307 = getelementptr double, ptr %batch2.b, i64 62
  %v308 = load double, ptr %v307, align 8
  %v309 = insertelement <8 x double> poison, double %v308, i64 0
  %v310 = shufflevector <8 x double> %v309, <8 x double> poison, <8 x i32> zeroinitializer
  %v311 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v271, <8 x double> %v310, <8 x double> %v267)
  %v312 = getelementptr double, ptr %v9, i64 32
  call void @llvm.prefetch.p0(ptr %v312, i32 0, i32 2, i32 1)
  %v313 = getelementptr double, ptr %v9, i64 40
  call void @llvm.prefetch.p0(ptr %v313, i32 0, i32 2, i32 1)
  %v314 = getelementptr double, ptr %batch2.a, i64 56
  %v315 = load <8 x double>, ptr %v314, align 8
  %v316 = getelementptr double, ptr %batch2.b, i64 7
  %v317 = load double, ptr %v316, align 8
  %v318 = insertelement <8 x double> poison, double %v317, i64 0
  %v319 = shufflevector <8 x double> %v318, <8 x double> poison, <8 x i32> zeroinitializer
  %v320 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v315, <8 x double> %v319, <8 x double> %v276)
  %v321 = getelementptr double, ptr %batch2.b, i64 15
  %v322 = load double, ptr %v321, align 8
  %v323 = insertelement <8 x double> poison, double %v322, i64 0
  %v324 = shufflevector <8 x double> %v323, <8 x double> poison, <8 x i32> zeroinitializer
  %v325 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v315, <8 x double> %v324, <8 x double> %v281)
  %v326 = getelementptr double, ptr %batch2.b, i64 23
  %v327 = load double, ptr %v326, align 8
  %v328 = insertelement <8 x double> poison, double %v327, i64 0
  %v329 = shufflevector <8 x double> %v328, <8 x double> poison, <8 x i32> zeroinitializer
  %v330 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v315, <8 x double> %v329, <8 x double> %v286)
  %v331 = getelementptr double, ptr %batch2.b, i64 31
  %v332 = load double, ptr %v331, align 8
  %v333 = insertelement <8 x double> poison, double %v332, i64 0
  %v334 = shufflevector <8 x double> %v333, <8 x double> poison, <8 x i32> zeroinitializer
  %v335 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v315, <8 x double> %v334, <8 x double> %v291)
  %v336 = getelementptr double, ptr %batch2.b, i64 39
  %v337 = load double, ptr %v336, align 8
  %v338 = insertelement <8 x double> poison, double %v337, i64 0
  %v339 = shufflevector <8 x double> %v338, <8 x double> poison, <8 x i32> zeroinitializer
  %v340 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v315, <8 x double> %v339, <8 x double> %v296)
  %v341 = getelementptr double, ptr %batch2.b, i64 47
  %v342 = load double, ptr %v341, align 8
  %v343 = insertelement <8 x double> poison, double %v342, i64 0
  %v344 = shufflevector <8 x double> %v343, <8 x double> poison, <8 x i32> zeroinitializer
  %v345 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v315, <8 x double> %v344, <8 x double> %v301)
  %v346 = getelementptr double, ptr %batch2.b, i64 55
  %v347 = load double, ptr %v346, align 8
  %v348 = insertelement <8 x double> poison, double %v347, i64 0
  %v349 = shufflevector <8 x double> %v348, <8 x double> poison, <8 x i32> zeroinitializer
  %v350 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v315, <8 x double> %v349, <8 x double> %v306)
  %v351 = getelementptr double, ptr %batch2.b, i64 63
  %v352 = load double, ptr %v351, align 8
  %v353 = insertelement <8 x double> poison, double %v352, i64 0
  %v354 = shufflevector <8 x double> %v353, <8 x double> poison, <8 x i32> zeroinitializer
  %v355 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v315, <8 x double> %v354, <8 x double> %v311)
  %v356 = getelementptr double, ptr %v9, i64 48
  call void @llvm.prefetch.p0(ptr %v356, i32 0, i32 2, i32 1)
  %v357 = getelementptr double, ptr %v9, i64 56
  call void @llvm.prefetch.p0(ptr %v357, i32 0, i32 2, i32 1)
  %v358 = getelementptr double, ptr %batch2.c, i64 8
  %v359 = getelementptr double, ptr %batch2.c, i64 16
  %v360 = getelementptr double, ptr %batch2.c, i64 24
  %v361 = getelementptr double, ptr %batch2.c, i64 32
  %v362 = getelementptr double, ptr %batch2.c, i64 40
  %v363 = getelementptr double, ptr %batch2.c, i64 48
  %v364 = getelementptr double, ptr %batch2.c, i64 56
  store <8 x double> %v320, ptr %batch2.c, align 64, !nontemporal !0
  store <8 x double> %v325, ptr %v358, align 64, !nontemporal !0
  store <8 x double> %v330, ptr %v359, align 64, !nontemporal !0
  store <8 x double> %v335, ptr %v360, align 64, !nontemporal !0
  store <8 x double> %v340, ptr %v361, align 64, !nontemporal !0
  store <8 x double> %v345, ptr %v362, align 64, !nontemporal !0
  store <8 x double> %v350, ptr %v363, align 64, !nontemporal !0
  store <8 x double> %v355, ptr %v364, align 64, !nontemporal !0
  br label %latch3
latch3:
  %v365 = add i64 %batch2.i, 1
  %v366 = getelementptr double, ptr %batch2.a, i64 %sa
  %v367 = getelementptr double, ptr %batch2.b, i64 %sb
  %v368 = getelementptr double, ptr %batch2.c, i64 %sc
  %v369 = icmp slt i64 %v365, %count
  br i1 %v369, label %batch2, label %done4
done4:
  ret void
}

define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = ptrtoint ptr %C to i64
  %v2 = mul i64 %sc, 8
  %v3 = or i64 %v1, %v2
  %v4 = and i64 %v3, 63
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

declare <8 x double> @llvm.fma.v8f64(<8 x double>, <8 x double>, <8 x double>)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare void @llvm.x86.sse.sfence()

!0 = !{i32 1}
