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
  %batch11.i = phi i64 [ 0, %before10 ], [ %v412, %latch12 ]
  %batch11.a = phi ptr [ %A, %before10 ], [ %v413, %latch12 ]
  %batch11.b = phi ptr [ %B, %before10 ], [ %v414, %latch12 ]
  %batch11.c = phi ptr [ %C, %before10 ], [ %v415, %latch12 ]
  %v15 = mul i64 %sa, 4
  %v16 = getelementptr double, ptr %batch11.a, i64 %v15
  %v17 = mul i64 %sb, 4
  %v18 = getelementptr double, ptr %batch11.b, i64 %v17
  %v19 = load i64, ptr %v2
  %v20 = getelementptr double, ptr %v1, i64 %v19
  %v21 = load <8 x double>, ptr %batch11.a, align 8
  %v22 = load double, ptr %batch11.b, align 8
  %v23 = insertelement <8 x double> poison, double %v22, i64 0
  %v24 = shufflevector <8 x double> %v23, <8 x double> poison, <8 x i32> zeroinitializer
  %v25 = fmul <8 x double> %v21, %v24
  %v26 = getelementptr double, ptr %batch11.b, i64 8
  %v27 = load double, ptr %v26, align 8
  %v28 = insertelement <8 x double> poison, double %v27, i64 0
  %v29 = shufflevector <8 x double> %v28, <8 x double> poison, <8 x i32> zeroinitializer
  %v30 = fmul <8 x double> %v21, %v29
  %v31 = getelementptr double, ptr %batch11.b, i64 16
  %v32 = load double, ptr %v31, align 8
  %v33 = insertelement <8 x double> poison, double %v32, i64 0
  %v34 = shufflevector <8 x double> %v33, <8 x double> poison, <8 x i32> zeroinitializer
  %v35 = fmul <8 x double> %v21, %v34
  %v36 = getelementptr double, ptr %batch11.b, i64 24
  %v37 = load double, ptr %v36, align 8
  %v38 = insertelement <8 x double> poison, double %v37, i64 0
  %v39 = shufflevector <8 x double> %v38, <8 x double> poison, <8 x i32> zeroinitializer
  %v40 = fmul <8 x double> %v21, %v39
  %v41 = getelementptr double, ptr %batch11.b, i64 32
  %v42 = load double, ptr %v41, align 8
  %v43 = insertelement <8 x double> poison, double %v42, i64 0
  %v44 = shufflevector <8 x double> %v43, <8 x double> poison, <8 x i32> zeroinitializer
  %v45 = fmul <8 x double> %v21, %v44
  %v46 = getelementptr double, ptr %batch11.b, i64 40
  %v47 = load double, ptr %v46, align 8
  %v48 = insertelement <8 x double> poison, double %v47, i64 0
  %v49 = shufflevector <8 x double> %v48, <8 x double> poison, <8 x i32> zeroinitializer
  %v50 = fmul <8 x double> %v21, %v49
  %v51 = getelementptr double, ptr %batch11.b, i64 48
  %v52 = load double, ptr %v51, align 8
  %v53 = insertelement <8 x double> poison, double %v52, i64 0
  %v54 = shufflevector <8 x double> %v53, <8 x double> poison, <8 x i32> zeroinitializer
  %v55 = fmul <8 x double> %v21, %v54
  %v56 = getelementptr double, ptr %batch11.b, i64 56
  %v57 = load double, ptr %v56, align 8
  %v58 = insertelement <8 x double> poison, double %v57, i64 0
  %v59 = shufflevector <8 x double> %v58, <8 x double> poison, <8 x i32> zeroinitializer
  %v60 = fmul <8 x double> %v21, %v59
  call void @llvm.prefetch.p0(ptr %v16, i32 0, i32 2, i32 1)
  %v61 = getelementptr double, ptr %v16, i64 8
  call void @llvm.prefetch.p0(ptr %v61, i32 0, i32 2, i32 1)
  %v62 = getelementptr double, ptr %batch11.a, i64 8
  %v63 = load <8 x double>, ptr %v62, align 8
  %v64 = getelementptr double, ptr %batch11.b, i64 1
  %v65 = load double, ptr %v64, align 8
  %v66 = insertelement <8 x double> poison, double %v65, i64 0
  %v67 = shufflevector <8 x double> %v66, <8 x double> poison, <8 x i32> zeroinitializer
  %v68 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v63, <8 x double> %v67, <8 x double> %v25)
  %v69 = getelementptr double, ptr %batch11.b, i64 9
  %v70 = load double, ptr %v69, align 8
  %v71 = insertelement <8 x double> poison, double %v70, i64 0
  %v72 = shufflevector <8 x double> %v71, <8 x double> poison, <8 x i32> zeroinitializer
  %v73 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v63, <8 x double> %v72, <8 x double> %v30)
  %v74 = getelementptr double, ptr %batch11.b, i64 17
  %v75 = load double, ptr %v74, align 8
  %v76 = insertelement <8 x double> poison, double %v75, i64 0
  %v77 = shufflevector <8 x double> %v76, <8 x double> poison, <8 x i32> zeroinitializer
  %v78 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v63, <8 x double> %v77, <8 x double> %v35)
  %v79 = getelementptr double, ptr %batch11.b, i64 25
  %v80 = load double, ptr %v79, align 8
  %v81 = insertelement <8 x double> poison, double %v80, i64 0
  %v82 = shufflevector <8 x double> %v81, <8 x double> poison, <8 x i32> zeroinitializer
  %v83 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v63, <8 x double> %v82, <8 x double> %v40)
  %v84 = getelementptr double, ptr %batch11.b, i64 33
  %v85 = load double, ptr %v84, align 8
  %v86 = insertelement <8 x double> poison, double %v85, i64 0
  %v87 = shufflevector <8 x double> %v86, <8 x double> poison, <8 x i32> zeroinitializer
  %v88 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v63, <8 x double> %v87, <8 x double> %v45)
  %v89 = getelementptr double, ptr %batch11.b, i64 41
  %v90 = load double, ptr %v89, align 8
  %v91 = insertelement <8 x double> poison, double %v90, i64 0
  %v92 = shufflevector <8 x double> %v91, <8 x double> poison, <8 x i32> zeroinitializer
  %v93 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v63, <8 x double> %v92, <8 x double> %v50)
  %v94 = getelementptr double, ptr %batch11.b, i64 49
  %v95 = load double, ptr %v94, align 8
  %v96 = insertelement <8 x double> poison, double %v95, i64 0
  %v97 = shufflevector <8 x double> %v96, <8 x double> poison, <8 x i32> zeroinitializer
  %v98 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v63, <8 x double> %v97, <8 x double> %v55)
  %v99 = getelementptr double, ptr %batch11.b, i64 57
  %v100 = load double, ptr %v99, align 8
  %v101 = insertelement <8 x double> poison, double %v100, i64 0
  %v102 = shufflevector <8 x double> %v101, <8 x double> poison, <8 x i32> zeroinitializer
  %v103 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v63, <8 x double> %v102, <8 x double> %v60)
  %v104 = getelementptr double, ptr %v16, i64 16
  call void @llvm.prefetch.p0(ptr %v104, i32 0, i32 2, i32 1)
  %v105 = getelementptr double, ptr %v16, i64 24
  call void @llvm.prefetch.p0(ptr %v105, i32 0, i32 2, i32 1)
  %v106 = getelementptr double, ptr %batch11.a, i64 16
  %v107 = load <8 x double>, ptr %v106, align 8
  %v108 = getelementptr double, ptr %batch11.b, i64 2
  %v109 = load double, ptr %v108, align 8
  %v110 = insertelement <8 x double> poison, double %v109, i64 0
  %v111 = shufflevector <8 x double> %v110, <8 x double> poison, <8 x i32> zeroinitializer
  %v112 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v107, <8 x double> %v111, <8 x double> %v68)
  %v113 = getelementptr double, ptr %batch11.b, i64 10
  %v114 = load double, ptr %v113, align 8
  %v115 = insertelement <8 x double> poison, double %v114, i64 0
  %v116 = shufflevector <8 x double> %v115, <8 x double> poison, <8 x i32> zeroinitializer
  %v117 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v107, <8 x double> %v116, <8 x double> %v73)
  %v118 = getelementptr double, ptr %batch11.b, i64 18
  %v119 = load double, ptr %v118, align 8
  %v120 = insertelement <8 x double> poison, double %v119, i64 0
  %v121 = shufflevector <8 x double> %v120, <8 x double> poison, <8 x i32> zeroinitializer
  %v122 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v107, <8 x double> %v121, <8 x double> %v78)
  %v123 = getelementptr double, ptr %batch11.b, i64 26
  %v124 = load double, ptr %v123, align 8
  %v125 = insertelement <8 x double> poison, double %v124, i64 0
  %v126 = shufflevector <8 x double> %v125, <8 x double> poison, <8 x i32> zeroinitializer
  %v127 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v107, <8 x double> %v126, <8 x double> %v83)
  %v128 = getelementptr double, ptr %batch11.b, i64 34
  %v129 = load double, ptr %v128, align 8
  %v130 = insertelement <8 x double> poison, double %v129, i64 0
  %v131 = shufflevector <8 x double> %v130, <8 x double> poison, <8 x i32> zeroinitializer
  %v132 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v107, <8 x double> %v131, <8 x double> %v88)
  %v133 = getelementptr double, ptr %batch11.b, i64 42
  %v134 = load double, ptr %v133, align 8
  %v135 = insertelement <8 x double> poison, double %v134, i64 0
  %v136 = shufflevector <8 x double> %v135, <8 x double> poison, <8 x i32> zeroinitializer
  %v137 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v107, <8 x double> %v136, <8 x double> %v93)
  %v138 = getelementptr double, ptr %batch11.b, i64 50
  %v139 = load double, ptr %v138, align 8
  %v140 = insertelement <8 x double> poison, double %v139, i64 0
  %v141 = shufflevector <8 x double> %v140, <8 x double> poison, <8 x i32> zeroinitializer
  %v142 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v107, <8 x double> %v141, <8 x double> %v98)
  %v143 = getelementptr double, ptr %batch11.b, i64 58
  %v144 = load double, ptr %v143, align 8
  %v145 = insertelement <8 x double> poison, double %v144, i64 0
  %v146 = shufflevector <8 x double> %v145, <8 x double> poison, <8 x i32> zeroinitializer
  %v147 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v107, <8 x double> %v146, <8 x double> %v103)
  %v148 = getelementptr double, ptr %v16, i64 32
  call void @llvm.prefetch.p0(ptr %v148, i32 0, i32 2, i32 1)
  %v149 = getelementptr double, ptr %v16, i64 40
  call void @llvm.prefetch.p0(ptr %v149, i32 0, i32 2, i32 1)
  %v150 = getelementptr double, ptr %batch11.a, i64 24
  %v151 = load <8 x double>, ptr %v150, align 8
  %v152 = getelementptr double, ptr %batch11.b, i64 3
  %v153 = load double, ptr %v152, align 8
  %v154 = insertelement <8 x double> poison, double %v153, i64 0
  %v155 = shufflevector <8 x double> %v154, <8 x double> poison, <8 x i32> zeroinitializer
  %v156 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v151, <8 x double> %v155, <8 x double> %v112)
  %v157 = getelementptr double, ptr %batch11.b, i64 11
  %v158 = load double, ptr %v157, align 8
  %v159 = insertelement <8 x double> poison, double %v158, i64 0
  %v160 = shufflevector <8 x double> %v159, <8 x double> poison, <8 x i32> zeroinitializer
  %v161 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v151, <8 x double> %v160, <8 x double> %v117)
  %v162 = getelementptr double, ptr %batch11.b, i64 19
  %v163 = load double, ptr %v162, align 8
  %v164 = insertelement <8 x double> poison, double %v163, i64 0
  %v165 = shufflevector <8 x double> %v164, <8 x double> poison, <8 x i32> zeroinitializer
  %v166 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v151, <8 x double> %v165, <8 x double> %v122)
  %v167 = getelementptr double, ptr %batch11.b, i64 27
  %v168 = load double, ptr %v167, align 8
  %v169 = insertelement <8 x double> poison, double %v168, i64 0
  %v170 = shufflevector <8 x double> %v169, <8 x double> poison, <8 x i32> zeroinitializer
  %v171 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v151, <8 x double> %v170, <8 x double> %v127)
  %v172 = getelementptr double, ptr %batch11.b, i64 35
  %v173 = load double, ptr %v172, align 8
  %v174 = insertelement <8 x double> poison, double %v173, i64 0
  %v175 = shufflevector <8 x double> %v174, <8 x double> poison, <8 x i32> zeroinitializer
  %v176 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v151, <8 x double> %v175, <8 x double> %v132)
  %v177 = getelementptr double, ptr %batch11.b, i64 43
  %v178 = load double, ptr %v177, align 8
  %v179 = insertelement <8 x double> poison, double %v178, i64 0
  %v180 = shufflevector <8 x double> %v179, <8 x double> poison, <8 x i32> zeroinitializer
  %v181 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v151, <8 x double> %v180, <8 x double> %v137)
  %v182 = getelementptr double, ptr %batch11.b, i64 51
  %v183 = load double, ptr %v182, align 8
  %v184 = insertelement <8 x double> poison, double %v183, i64 0
  %v185 = shufflevector <8 x double> %v184, <8 x double> poison, <8 x i32> zeroinitializer
  %v186 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v151, <8 x double> %v185, <8 x double> %v142)
  %v187 = getelementptr double, ptr %batch11.b, i64 59
  %v188 = load double, ptr %v187, align 8
  %v189 = insertelement <8 x double> poison, double %v188, i64 0
  %v190 = shufflevector <8 x double> %v189, <8 x double> poison, <8 x i32> zeroinitializer
  %v191 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v151, <8 x double> %v190, <8 x double> %v147)
  %v192 = getelementptr double, ptr %v16, i64 48
  call void @llvm.prefetch.p0(ptr %v192, i32 0, i32 2, i32 1)
  %v193 = getelementptr double, ptr %v16, i64 56
  call void @llvm.prefetch.p0(ptr %v193, i32 0, i32 2, i32 1)
  %v194 = getelementptr double, ptr %batch11.a, i64 32
  %v195 = load <8 x double>, ptr %v194, align 8
  %v196 = getelementptr double, ptr %batch11.b, i64 4
  %v197 = load double, ptr %v196, align 8
  %v198 = insertelement <8 x double> poison, double %v197, i64 0
  %v199 = shufflevector <8 x double> %v198, <8 x double> poison, <8 x i32> zeroinitializer
  %v200 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v195, <8 x double> %v199, <8 x double> %v156)
  %v201 = getelementptr double, ptr %batch11.b, i64 12
  %v202 = load double, ptr %v201, align 8
  %v203 = insertelement <8 x double> poison, double %v202, i64 0
  %v204 = shufflevector <8 x double> %v203, <8 x double> poison, <8 x i32> zeroinitializer
  %v205 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v195, <8 x double> %v204, <8 x double> %v161)
  %v206 = getelementptr double, ptr %batch11.b, i64 20
  %v207 = load double, ptr %v206, align 8
  %v208 = insertelement <8 x double> poison, double %v207, i64 0
  %v209 = shufflevector <8 x double> %v208, <8 x double> poison, <8 x i32> zeroinitializer
  %v210 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v195, <8 x double> %v209, <8 x double> %v166)
  %v211 = getelementptr double, ptr %batch11.b, i64 28
  %v212 = load double, ptr %v211, align 8
  %v213 = insertelement <8 x double> poison, double %v212, i64 0
  %v214 = shufflevector <8 x double> %v213, <8 x double> poison, <8 x i32> zeroinitializer
  %v215 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v195, <8 x double> %v214, <8 x double> %v171)
  %v216 = getelementptr double, ptr %batch11.b, i64 36
  %v217 = load double, ptr %v216, align 8
  %v218 = insertelement <8 x double> poison, double %v217, i64 0
  %v219 = shufflevector <8 x double> %v218, <8 x double> poison, <8 x i32> zeroinitializer
  %v220 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v195, <8 x double> %v219, <8 x double> %v176)
  %v221 = getelementptr double, ptr %batch11.b, i64 44
  %v222 = load double, ptr %v221, align 8
  %v223 = insertelement <8 x double> poison, double %v222, i64 0
  %v224 = shufflevector <8 x double> %v223, <8 x double> poison, <8 x i32> zeroinitializer
  %v225 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v195, <8 x double> %v224, <8 x double> %v181)
  %v226 = getelementptr double, ptr %batch11.b, i64 52
  %v227 = load double, ptr %v226, align 8
  %v228 = insertelement <8 x double> poison, double %v227, i64 0
  %v229 = shufflevector <8 x double> %v228, <8 x double> poison, <8 x i32> zeroinitializer
  %v230 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v195, <8 x double> %v229, <8 x double> %v186)
  %v231 = getelementptr double, ptr %batch11.b, i64 60
  %v232 = load double, ptr %v231, align 8
  %v233 = insertelement <8 x double> poison, double %v232, i64 0
  %v234 = shufflevector <8 x double> %v233, <8 x double> poison, <8 x i32> zeroinitializer
  %v235 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v195, <8 x double> %v234, <8 x double> %v191)
  call void @llvm.prefetch.p0(ptr %v18, i32 0, i32 2, i32 1)
  %v236 = getelementptr double, ptr %v18, i64 8
  call void @llvm.prefetch.p0(ptr %v236, i32 0, i32 2, i32 1)
  %v237 = getelementptr double, ptr %batch11.a, i64 40
  %v238 = load <8 x double>, ptr %v237, align 8
  %v239 = getelementptr double, ptr %batch11.b, i64 5
  %v240 = load double, ptr %v239, align 8
  %v241 = insertelement <8 x double> poison, double %v240, i64 0
  %v242 = shufflevector <8 x double> %v241, <8 x double> poison, <8 x i32> zeroinitializer
  %v243 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v238, <8 x double> %v242, <8 x double> %v200)
  %v244 = getelementptr double, ptr %batch11.b, i64 13
  %v245 = load double, ptr %v244, align 8
  %v246 = insertelement <8 x double> poison, double %v245, i64 0
  %v247 = shufflevector <8 x double> %v246, <8 x double> poison, <8 x i32> zeroinitializer
  %v248 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v238, <8 x double> %v247, <8 x double> %v205)
  %v249 = getelementptr double, ptr %batch11.b, i64 21
  %v250 = load double, ptr %v249, align 8
  %v251 = insertelement <8 x double> poison, double %v250, i64 0
  %v252 = shufflevector <8 x double> %v251, <8 x double> poison, <8 x i32> zeroinitializer
  %v253 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v238, <8 x double> %v252, <8 x double> %v210)
  %v254 = getelementptr double, ptr %batch11.b, i64 29
  %v255 = load double, ptr %v254, align 8
  %v256 = insertelement <8 x double> poison, double %v255, i64 0
  %v257 = shufflevector <8 x double> %v256, <8 x double> poison, <8 x i32> zeroinitializer
  %v258 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v238, <8 x double> %v257, <8 x double> %v215)
  %v259 = getelementptr double, ptr %batch11.b, i64 37
  %v260 = load double, ptr %v259, align 8
  %v261 = insertelement <8 x double> poison, double %v260, i64 0
  %v262 = shufflevector <8 x double> %v261, <8 x double> poison, <8 x i32> zeroinitializer
  %v263 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v238, <8 x double> %v262, <8 x double> %v220)
  %v264 = getelementptr double, ptr %batch11.b, i64 45
  %v265 = load double, ptr %v264, align 8
  %v266 = insertelement <8 x double> poison, double %v265, i64 0
  %v267 = shufflevector <8 x double> %v266, <8 x double> poison, <8 x i32> zeroinitializer
  %v268 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v238, <8 x double> %v267, <8 x double> %v225)
  %v269 = getelementptr double, ptr %batch11.b, i64 53
  %v270 = load double, ptr %v269, align 8
  %v271 = insertelement <8 x double> poison, double %v270, i64 0
  %v272 = shufflevector <8 x double> %v271, <8 x double> poison, <8 x i32> zeroinitializer
  %v273 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v238, <8 x double> %v272, <8 x double> %v230)
  %v274 = getelementptr double, ptr %batch11.b, i64 61
  %v275 = load double, ptr %v274, align 8
  %v276 = insertelement <8 x double> poison, double %v275, i64 0
  %v277 = shufflevector <8 x double> %v276, <8 x double> poison, <8 x i32> zeroinitializer
  %v278 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v238, <8 x double> %v277, <8 x double> %v235)
  %v279 = getelementptr double, ptr %v18, i64 16
  call void @llvm.prefetch.p0(ptr %v279, i32 0, i32 2, i32 1)
  %v280 = getelementptr double, ptr %v18, i64 24
  call void @llvm.prefetch.p0(ptr %v280, i32 0, i32 2, i32 1)
  %v281 = getelementptr double, ptr %batch11.a, i64 48
  %v282 = load <8 x double>, ptr %v281, align 8
  %v283 = getelementptr double, ptr %batch11.b, i64 6
  %v284 = load double, ptr %v283, align 8
  %v285 = insertelement <8 x double> poison, double %v284, i64 0
  %v286 = shufflevector <8 x double> %v285, <8 x double> poison, <8 x i32> zeroinitializer
  %v287 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v282, <8 x double> %v286, <8 x double> %v243)
  %v288 = getelementptr double, ptr %batch11.b, i64 14
  %v289 = load double, ptr %v288, align 8
  %v290 = insertelement <8 x double> poison, double %v289, i64 0
  %v291 = shufflevector <8 x double> %v290, <8 x double> poison, <8 x i32> zeroinitializer
  %v292 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v282, <8 x double> %v291, <8 x double> %v248)
  %v293 = getelementptr double, ptr %batch11.b, i64 22
  %v294 = load double, ptr %v293, align 8
  %v295 = insertelement <8 x double> poison, double %v294, i64 0
  %v296 = shufflevector <8 x double> %v295, <8 x double> poison, <8 x i32> zeroinitializer
  %v297 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v282, <8 x double> %v296, <8 x double> %v253)
  %v298 = getelementptr double, ptr %batch11.b, i64 30
  %v299 = load double, ptr %v298, align 8
  %v300 = insertelement <8 x double> poison, double %v299, i64 0
  %v301 = shufflevector <8 x double> %v300, <8 x double> poison, <8 x i32> zeroinitializer
  %v302 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v282, <8 x double> %v301, <8 x double> %v258)
  %v303 = getelementptr double, ptr %batch11.b, i64 38
  %v304 = load double, ptr %v303, align 8
  %v305 = insertelement <8 x double> poison, double %v304, i64 0
  %v306 = shufflevector <8 x double> %v305, <8 x double> poison, <8 x i32> zeroinitializer
  %v307 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v282, <8 x double> %v306, <8 x double> %v263)
  %v308 = getelementptr double, ptr %batch11.b, i64 46
  %v309 = load double, ptr %v308, align 8
  %v310 = insertelement <8 x double> poison, double %v309, i64 0
  %v311 = shufflevector <8 x double> %v310, <8 x double> poison, <8 x i32> zeroinitializer
  %v312 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v282, <8 x double> %v311, <8 x double> %v268)
  %v313 = getelementptr double, ptr %batch11.b, i64 54
  %v314 = load double, ptr %v313, align 8
  %v315 = insertelement <8 x double> poison, double %v314, i64 0
  %v316 = shufflevector <8 x double> %v315, <8 x double> poison, <8 x i32> zeroinitializer
  %v317 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v282, <8 x double> %v316, <8 x double> %v273)
  %v318 = getelementptr double, ptr %batch11.b, i64 62
  %v319 = load double, ptr %v318, align 8
  %v320 = insertelement <8 x double> poison, double %v319, i64 0
  %v321 = shufflevector <8 x double> %v320, <8 x double> poison, <8 x i32> zeroinitializer
  %v322 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v282, <8 x double> %v321, <8 x double> %v278)
  %v323 = getelementptr double, ptr %v18, i64 32
  call void @llvm.prefetch.p0(ptr %v323, i32 0, i32 2, i32 1)
  %v324 = getelementptr double, ptr %v18, i64 40
  call void @llvm.prefetch.p0(ptr %v324, i32 0, i32 2, i32 1)
  %v325 = getelementptr double, ptr %batch11.a, i64 56
  %v326 = load <8 x double>, ptr %v325, align 8
  %v327 = getelementptr double, ptr %batch11.b, i64 7
  %v328 = load double, ptr %v327, align 8
  %v329 = insertelement <8 x double> poison, double %v328, i64 0
  %v330 = shufflevector <8 x double> %v329, <8 x double> poison, <8 x i32> zeroinitializer
  %v331 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v326, <8 x double> %v330, <8 x double> %v287)
  %v332 = getelementptr double, ptr %batch11.b, i64 15
  %v333 = load double, ptr %v332, align 8
  %v334 = insertelement <8 x double> poison, double %v333, i64 0
  %v335 = shufflevector <8 x double> %v334, <8 x double> poison, <8 x i32> zeroinitializer
  %v336 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v326, <8 x double> %v335, <8 x double> %v292)
  %v337 = getelementptr double, ptr %batch11.b, i64 23
  %v338 = load double, ptr %v337, align 8
  %v339 = insertelement <8 x double> poison, double %v338, i64 0
  %v340 = shufflevector <8 x double> %v339, <8 x double> poison, <8 x i32> zeroinitializer
  %v341 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v326, <8 x double> %v340, <8 x double> %v297)
  %v342 = getelementptr double, ptr %batch11.b, i64 31
  %v343 = load double, ptr %v342, align 8
  %v344 = insertelement <8 x double> poison, double %v343, i64 0
  %v345 = shufflevector <8 x double> %v344, <8 x double> poison, <8 x i32> zeroinitializer
  %v346 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v326, <8 x double> %v345, <8 x double> %v302)
  %v347 = getelementptr double, ptr %batch11.b, i64 39
  %v348 = load double, ptr %v347, align 8
  %v349 = insertelement <8 x double> poison, double %v348, i64 0
  %v350 = shufflevector <8 x double> %v349, <8 x double> poison, <8 x i32> zeroinitializer
  %v351 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v326, <8 x double> %v350, <8 x double> %v307)
  %v352 = getelementptr double, ptr %batch11.b, i64 47
  %v353 = load double, ptr %v352, align 8
  %v354 = insertelement <8 x double> poison, double %v353, i64 0
  %v355 = shufflevector <8 x double> %v354, <8 x double> poison, <8 x i32> zeroinitializer
  %v356 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v326, <8 x double> %v355, <8 x double> %v312)
  %v357 = getelementptr double, ptr %batch11.b, i64 55
  %v358 = load double, ptr %v357, align 8
  %v359 = insertelement <8 x double> poison, double %v358, i64 0
  %v360 = shufflevector <8 x double> %v359, <8 x double> poison, <8 x i32> zeroinitializer
  %v361 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v326, <8 x double> %v360, <8 x double> %v317)
  %v362 = getelementptr double, ptr %batch11.b, i64 63
  %v363 = load double, ptr %v362, align 8
  %v364 = insertelement <8 x double> poison, double %v363, i64 0
  %v365 = shufflevector <8 x double> %v364, <8 x double> poison, <8 x i32> zeroinitializer
  %v366 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v326, <8 x double> %v365, <8 x double> %v322)
  %v367 = getelementptr double, ptr %v18, i64 48
  call void @llvm.prefetch.p0(ptr %v367, i32 0, i32 2, i32 1)
  %v368 = getelementptr double, ptr %v18, i64 56
  call void @llvm.prefetch.p0(ptr %v368, i32 0, i32 2, i32 1)
  %v369 = getelementptr double, ptr %v20, i64 8
  %v370 = getelementptr double, ptr %v20, i64 16
  %v371 = getelementptr double, ptr %v20, i64 24
  %v372 = getelementptr double, ptr %v20, i64 32
  %v373 = getelementptr double, ptr %v20, i64 40
  %v374 = getelementptr double, ptr %v20, i64 48
  %v375 = getelementptr double, ptr %v20, i64 56
  store <8 x double> %v331, ptr %v20, align 8
  store <8 x double> %v336, ptr %v369, align 8
  store <8 x double> %v341, ptr %v370, align 8
  store <8 x double> %v346, ptr %v371, align 8
  store <8 x double> %v351, ptr %v372, align 8
  store <8 x double> %v356, ptr %v373, align 8
  store <8 x double> %v361, ptr %v374, align 8
  store <8 x double> %v366, ptr %v375, align 8
  %v376 = load i64, ptr %v2
  %v377 = add i64 %v376, 64
  store i64 %v377, ptr %v2
  %v380 = icmp uge i64 %v377, 128
  br i1 %v380, label %leave378, label %stay379
leave378:
  %v381 = load i64, ptr %v3
  %v382 = load i64, ptr %v2
  %v383 = load ptr, ptr %v4
  %v384 = and i64 %v382, -8
  %v385 = icmp ne i64 %v384, 0
  %v386 = icmp ne i64 %v381, 0
  %v387 = and i1 %v385, %v386
  %v388 = select i1 %v387, i64 8, i64 0
  br label %from389
from389:
  %v392 = icmp ult i64 %v381, %v388
  br i1 %v392, label %each390, label %end391
each390:
  %each390.i = phi i64 [ %v381, %from389 ], [ %v396, %each390 ]
  %v393 = getelementptr double, ptr %v1, i64 %each390.i
  %v394 = load double, ptr %v393, align 8
  %v395 = getelementptr double, ptr %v383, i64 %each390.i
  store double %v394, ptr %v395, align 8
  %v396 = add i64 %each390.i, 1
  %v397 = icmp ult i64 %v396, %v388
  br i1 %v397, label %each390, label %end391
end391:
  br label %from398
from398:
  %v401 = icmp ult i64 %v388, %v384
  br i1 %v401, label %each399, label %end400
each399:
  %each399.i = phi i64 [ %v388, %from398 ], [ %v405, %each399 ]
  %v402 = getelementptr double, ptr %v1, i64 %each399.i
  %v403 = getelementptr double, ptr %v383, i64 %each399.i
  %v404 = load <8 x double>, ptr %v402, align 8
  store <8 x double> %v404, ptr %v403, align 64, !nontemporal !0
  %v405 = add i64 %each399.i, 8
  %v406 = icmp ult i64 %v405, %v384
  br i1 %v406, label %each399, label %end400
end400:
  %v407 = getelementptr double, ptr %v1, i64 %v384
  %v408 = load <8 x double>, ptr %v407, align 8
  store <8 x double> %v408, ptr %v1, align 8
  %v409 = sub i64 %v382, %v384
  store i64 %v409, ptr %v2
  %v410 = select i1 %v385, i64 0, i64 %v381
  store i64 %v410, ptr %v3
  %v411 = getelementptr double, ptr %v383, i64 %v384
  store ptr %v411, ptr %v4
  br label %stay379
stay379:
  br label %latch12
latch12:
  %v412 = add i64 %batch11.i, 1
  %v413 = getelementptr double, ptr %batch11.a, i64 %sa
  %v414 = getelementptr double, ptr %batch11.b, i64 %sb
  %v415 = getelementptr double, ptr %batch11.c, i64 %sc
  %v416 = icmp slt i64 %v412, %count
  br i1 %v416, label %batch11, label %done13
done13:
  %v417 = load i64, ptr %v3
  %v418 = load i64, ptr %v2
  %v419 = load ptr, ptr %v4
  %v420 = and i64 %v418, -8
  %v421 = icmp ne i64 %v420, 0
  %v422 = icmp ne i64 %v417, 0
  %v423 = and i1 %v421, %v422
  %v424 = select i1 %v423, i64 8, i64 0
  br label %from425
from425:
  %v428 = icmp ult i64 %v417, %v424
  br i1 %v428, label %each426, label %end427
each426:
  %each426.i = phi i64 [ %v417, %from425 ], [ %v432, %each426 ]
  %v429 = getelementptr double, ptr %v1, i64 %each426.i
  %v430 = load double, ptr %v429, align 8
  %v431 = getelementptr double, ptr %v419, i64 %each426.i
  store double %v430, ptr %v431, align 8
  %v432 = add i64 %each426.i, 1
  %v433 = icmp ult i64 %v432, %v424
  br i1 %v433, label %each426, label %end427
end427:
  br label %from434
from434:
  %v437 = icmp ult i64 %v424, %v420
  br i1 %v437, label %each435, label %end436
each435:
  %each435.i = phi i64 [ %v424, %from434 ], [ %v441, %each435 ]
  %v438 = getelementptr double, ptr %v1, i64 %each435.i
  %v439 = getelementptr double, ptr %v419, i64 %each435.i
  %v440 = load <8 x double>, ptr %v438, align 8
  store <8 x double> %v440, ptr %v439, align 64, !nontemporal !0
  %v441 = add i64 %each435.i, 8
  %v442 = icmp ult i64 %v441, %v420
  br i1 %v442, label %each435, label %end436
end436:
  %v443 = getelementptr double, ptr %v1, i64 %v420
  %v444 = load <8 x double>, ptr %v443, align 8
  store <8 x double> %v444, ptr %v1, align 8
  %v445 = sub i64 %v418, %v420
  store i64 %v445, ptr %v2
  %v446 = select i1 %v421, i64 0, i64 %v417
  store i64 %v446, ptr %v3
  %v447 = getelementptr double, ptr %v419, i64 %v420
  store ptr %v447, ptr %v4
  %v448 = load i64, ptr %v3
  %v449 = load i64, ptr %v2
  %v450 = load ptr, ptr %v4
  br label %from451
from451:
  %v454 = icmp ult i64 %v448, %v449
  br i1 %v454, label %each452, label %end453
each452:
  %each452.i = phi i64 [ %v448, %from451 ], [ %v458, %each452 ]
  %v455 = getelementptr double, ptr %v1, i64 %each452.i
  %v456 = load double, ptr %v455, align 8
  %v457 = getelementptr double, ptr %v450, i64 %each452.i
  store double %v456, ptr %v457, align 8
  %v458 = add i64 %each452.i, 1
  %v459 = icmp ult i64 %v458, %v449
  br i1 %v459, label %each452, label %end453
end453:
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

declare <8 x double> @llvm.fma.v8f64(<8 x double>, <8 x double>, <8 x double>)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare void @llvm.x86.sse.sfence()

!0 = !{i32 1}
