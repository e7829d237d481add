; z:nn:3x3x3|packed|alpha=1|beta=0|ieee skylake-avx512
; vector_bits=256 tail=binary store=plain cmul=split blk_m=2 blk_n=3 blk_k=3 inner=column reg_a=2 reg_b=1 order=nm roll=0 prefetch=0 level=1
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
  %batch5.i = phi i64 [ 0, %before4 ], [ %v198, %latch6 ]
  %batch5.a = phi ptr [ %A, %before4 ], [ %v199, %latch6 ]
  %batch5.b = phi ptr [ %B, %before4 ], [ %v200, %latch6 ]
  %batch5.c = phi ptr [ %C, %before4 ], [ %v201, %latch6 ]
  %v9 = load <4 x double>, ptr %batch5.a, align 8
  %v10 = getelementptr double, ptr %batch5.a, i64 4
  %v11 = load <2 x double>, ptr %v10, align 8
  %v12 = getelementptr double, ptr %batch5.b, i64 1
  %v13 = load double, ptr %batch5.b, align 8
  %v14 = load double, ptr %v12, align 8
  %v15 = insertelement <4 x double> poison, double %v13, i64 0
  %v16 = shufflevector <4 x double> %v15, <4 x double> poison, <4 x i32> zeroinitializer
  %v17 = insertelement <4 x double> poison, double %v14, i64 0
  %v18 = shufflevector <4 x double> %v17, <4 x double> poison, <4 x i32> zeroinitializer
  %v19 = insertelement <2 x double> poison, double %v13, i64 0
  %v20 = shufflevector <2 x double> %v19, <2 x double> poison, <2 x i32> zeroinitializer
  %v21 = insertelement <2 x double> poison, double %v14, i64 0
  %v22 = shufflevector <2 x double> %v21, <2 x double> poison, <2 x i32> zeroinitializer
  %v23 = fmul <4 x double> %v9, %v16
  %v24 = fmul <4 x double> %v9, %v18
  %v25 = fmul <2 x double> %v11, %v20
  %v26 = fmul <2 x double> %v11, %v22
  %v27 = getelementptr double, ptr %batch5.b, i64 6
  %v28 = getelementptr double, ptr %v27, i64 1
  %v29 = load double, ptr %v27, align 8
  %v30 = load double, ptr %v28, align 8
  %v31 = insertelement <4 x double> poison, double %v29, i64 0
  %v32 = shufflevector <4 x double> %v31, <4 x double> poison, <4 x i32> zeroinitializer
  %v33 = insertelement <4 x double> poison, double %v30, i64 0
  %v34 = shufflevector <4 x double> %v33, <4 x double> poison, <4 x i32> zeroinitializer
  %v35 = insertelement <2 x double> poison, double %v29, i64 0
  %v36 = shufflevector <2 x double> %v35, <2 x double> poison, <2 x i32> zeroinitializer
  %v37 = insertelement <2 x double> poison, double %v30, i64 0
  %v38 = shufflevector <2 x double> %v37, <2 x double> poison, <2 x i32> zeroinitializer
  %v39 = fmul <4 x double> %v9, %v32
  %v40 = fmul <4 x double> %v9, %v34
  %v41 = fmul <2 x double> %v11, %v36
  %v42 = fmul <2 x double> %v11, %v38
  %v43 = getelementptr double, ptr %batch5.b, i64 12
  %v44 = getelementptr double, ptr %v43, i64 1
  %v45 = load double, ptr %v43, align 8
  %v46 = load double, ptr %v44, align 8
  %v47 = insertelement <4 x double> poison, double %v45, i64 0
  %v48 = shufflevector <4 x double> %v47, <4 x double> poison, <4 x i32> zeroinitializer
  %v49 = insertelement <4 x double> poison, double %v46, i64 0
  %v50 = shufflevector <4 x double> %v49, <4 x double> poison, <4 x i32> zeroinitializer
  %v51 = insertelement <2 x double> poison, double %v45, i64 0
  %v52 = shufflevector <2 x double> %v51, <2 x double> poison, <2 x i32> zeroinitializer
  %v53 = insertelement <2 x double> poison, double %v46, i64 0
  %v54 = shufflevector <2 x double> %v53, <2 x double> poison, <2 x i32> zeroinitializer
  %v55 = fmul <4 x double> %v9, %v48
  %v56 = fmul <4 x double> %v9, %v50
  %v57 = fmul <2 x double> %v11, %v52
  %v58 = fmul <2 x double> %v11, %v54
  %v59 = getelementptr double, ptr %batch5.a, i64 6
  %v60 = load <4 x double>, ptr %v59, align 8
  %v61 = getelementptr double, ptr %batch5.a, i64 10
  %v62 = load <2 x double>, ptr %v61, align 8
  %v63 = getelementptr double, ptr %batch5.b, i64 2
  %v64 = getelementptr double, ptr %v63, i64 1
  %v65 = load double, ptr %v63, align 8
  %v66 = load double, ptr %v64, align 8
  %v67 = insertelement <4 x double> poison, double %v65, i64 0
  %v68 = shufflevector <4 x double> %v67, <4 x double> poison, <4 x i32> zeroinitializer
  %v69 = insertelement <4 x double> poison, double %v66, i64 0
  %v70 = shufflevector <4 x double> %v69, <4 x double> poison, <4 x i32> zeroinitializer
  %v71 = insertelement <2 x double> poison, double %v65, i64 0
  %v72 = shufflevector <2 x double> %v71, <2 x double> poison, <2 x i32> zeroinitializer
  %v73 = insertelement <2 x double> poison, double %v66, i64 0
  %v74 = shufflevector <2 x double> %v73, <2 x double> poison, <2 x i32> zeroinitializer
  %v75 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v60, <4 x double> %v68, <4 x double> %v23)
  %v76 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v60, <4 x double> %v70, <4 x double> %v24)
  %v77 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v62, <2 x double> %v72, <2 x double> %v25)
  %v78 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v62, <2 x double> %v74, <2 x double> %v26)
  %v79 = getelementptr double, ptr %batch5.b, i64 8
  %v80 = getelementptr double, ptr %v79, i64 1
  %v81 = load double, ptr %v79, align 8
  %v82 = load double, ptr %v80, align 8
  %v83 = insertelement <4 x double> poison, double %v81, i64 0
  %v84 = shufflevector <4 x double> %v83, <4 x double> poison, <4 x i32> zeroinitializer
  %v85 = insertelement <4 x double> poison, double %v82, i64 0
  %v86 = shufflevector <4 x double> %v85, <4 x double> poison, <4 x i32> zeroinitializer
  %v87 = insertelement <2 x double> poison, double %v81, i64 0
  %v88 = shufflevector <2 x double> %v87, <2 x double> poison, <2 x i32> zeroinitializer
  %v89 = insertelement <2 x double> poison, double %v82, i64 0
  %v90 = shufflevector <2 x double> %v89, <2 x double> poison, <2 x i32> zeroinitializer
  %v91 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v60, <4 x double> %v84, <4 x double> %v39)
  %v92 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v60, <4 x double> %v86, <4 x double> %v40)
  %v93 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v62, <2 x double> %v88, <2 x double> %v41)
  %v94 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v62, <2 x double> %v90, <2 x double> %v42)
  %v95 = getelementptr double, ptr %batch5.b, i64 14
  %v96 = getelementptr double, ptr %v95, i64 1
  %v97 = load double, ptr %v95, align 8
  %v98 = load double, ptr %v96, align 8
  %v99 = insertelement <4 x double> poison, double %v97, i64 0
  %v100 = shufflevector <4 x double> %v99, <4 x double> poison, <4 x i32> zeroinitializer
  %v101 = insertelement <4 x double> poison, double %v98, i64 0
  %v102 = shufflevector <4 x double> %v101, <4 x double> poison, <4 x i32> zeroinitializer
  %v103 = insertelement <2 x double> poison, double %v97, i64 0
  %v104 = shufflevector <2 x double> %v103, <2 x double> poison, <2 x i32> zeroinitializer
  %v105 = insertelement <2 x double> poison, double %v98, i64 0
  %v106 = shufflevector <2 x double> %v105, <2 x double> poison, <2 x i32> zeroinitializer
  %v107 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v60, <4 x double> %v100, <4 x double> %v55)
  %v108 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v60, <4 x double> %v102, <4 x double> %v56)
  %v109 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v62, <2 x double> %v104, <2 x double> %v57)
  %v110 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v62, <2 x double> %v106, <2 x double> %v58)
  %v111 = getelementptr double, ptr %batch5.a, i64 12
  %v112 = load <4 x double>, ptr %v111, align 8
  %v113 = getelementptr double, ptr %batch5.a, i64 16
  %v114 = load <2 x double>, ptr %v113, align 8
  %v115 = getelementptr double, ptr %batch5.b, i64 4
  %v116 = getelementptr double, ptr %v115, i64 1
  %v117 = load double, ptr %v115, align 8
  %v118 = load double, ptr %v116, align 8
  %v119 = insertelement <4 x double> poison, double %v117, i64 0
  %v120 = shufflevector <4 x double> %v119, <4 x double> poison, <4 x i32> zeroinitializer
  %v121 = insertelement <4 x double> poison, double %v118, i64 0
  %v122 = shufflevector <4 x double> %v121, <4 x double> poison, <4 x i32> zeroinitializer
  %v123 = insertelement <2 x double> poison, double %v117, i64 0
  %v124 = shufflevector <2 x double> %v123, <2 x double> poison, <2 x i32> zeroinitializer
  %v125 = insertelement <2 x double> poison, double %v118, i64 0
  %v126 = shufflevector <2 x double> %v125, <2 x double> poison, <2 x i32> zeroinitializer
  %v127 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v112, <4 x double> %v120, <4 x double> %v75)
  %v128 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v112, <4 x double> %v122, <4 x double> %v76)
  %v129 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v114, <2 x double> %v124, <2 x double> %v77)
  %v130 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v114, <2 x double> %v126, <2 x double> %v78)
  %v131 = getelementptr double, ptr %batch5.b, i64 10
  %v132 = getelementptr double, ptr %v131, i64 1
  %v133 = load double, ptr %v131, align 8
  %v134 = load double, ptr %v132, align 8
  %v135 = insertelement <4 x double> poison, double %v133, i64 0
  %v136 = shufflevector <4 x double> %v135, <4 x double> poison, <4 x i32> zeroinitializer
  %v137 = insertelement <4 x double> poison, double %v134, i64 0
  %v138 = shufflevector <4 x double> %v137, <4 x double> poison, <4 x i32> zeroinitializer
  %v139 = insertelement <2 x double> poison, double %v133, i64 0
  %v140 = shufflevector <2 x double> %v139, <2 x double> poison, <2 x i32> zeroinitializer
  %v141 = insertelement <2 x double> poison, double %v134, i64 0
  %v142 = shufflevector <2 x double> %v141, <2 x double> poison, <2 x i32> zeroinitializer
  %v143 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v112, <4 x double> %v136, <4 x double> %v91)
  %v144 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v112, <4 x double> %v138, <4 x double> %v92)
  %v145 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v114, <2 x double> %v140, <2 x double> %v93)
  %v146 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v114, <2 x double> %v142, <2 x double> %v94)
  %v147 = getelementptr double, ptr %batch5.b, i64 16
  %v148 = getelementptr double, ptr %v147, i64 1
  %v149 = load double, ptr %v147, align 8
  %v150 = load double, ptr %v148, align 8
  %v151 = insertelement <4 x double> poison, double %v149, i64 0
  %v152 = shufflevector <4 x double> %v151, <4 x double> poison, <4 x i32> zeroinitializer
  %v153 = insertelement <4 x double> poison, double %v150, i64 0
  %v154 = shufflevector <4 x double> %v153, <4 x double> poison, <4 x i32> zeroinitializer
  %v155 = insertelement <2 x double> poison, double %v149, i64 0
  %v156 = shufflevector <2 x double> %v155, <2 x double> poison, <2 x i32> zeroinitializer
  %v157 = insertelement <2 x double> poison, double %v150, i64 0
  %v158 = shufflevector <2 x double> %v157, <2 x double> poison, <2 x i32> zeroinitializer
  %v159 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v112, <4 x double> %v152, <4 x double> %v107)
  %v160 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v112, <4 x double> %v154, <4 x double> %v108)
  %v161 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v114, <2 x double> %v156, <2 x double> %v109)
  %v162 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v114, <2 x double> %v158, <2 x double> %v110)
  %v163 = getelementptr double, ptr %batch5.c, i64 4
  %v164 = getelementptr double, ptr %batch5.c, i64 6
  %v165 = getelementptr double, ptr %batch5.c, i64 10
  %v166 = getelementptr double, ptr %batch5.c, i64 12
  %v167 = getelementptr double, ptr %batch5.c, i64 16
  %v168 = shufflevector <4 x double> %v128, <4 x double> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %v169 = bitcast <4 x double> %v168 to <4 x i64>
  %v170 = xor <4 x i64> %v169, <i64 -9223372036854775808, i64 0, i64 -9223372036854775808, i64 0>
  %v171 = bitcast <4 x i64> %v170 to <4 x double>
  %v172 = fadd <4 x double> %v127, %v171
  %v173 = shufflevector <2 x double> %v130, <2 x double> poison, <2 x i32> <i32 1, i32 0>
  %v174 = bitcast <2 x double> %v173 to <2 x i64>
  %v175 = xor <2 x i64> %v174, <i64 -9223372036854775808, i64 0>
  %v176 = bitcast <2 x i64> %v175 to <2 x double>
  %v177 = fadd <2 x double> %v129, %v176
  %v178 = shufflevector <4 x double> %v144, <4 x double> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %v179 = bitcast <4 x double> %v178 to <4 x i64>
  %v180 = xor <4 x i64> %v179, <i64 -9223372036854775808, i64 0, i64 -9223372036854775808, i64 0>
  %v181 = bitcast <4 x i64> %v180 to <4 x double>
  %v182 = fadd <4 x double> %v143, %v181
  %v183 = shufflevector <2 x double> %v146, <2 x double> poison, <2 x i32> <i32 1, i32 0>
  %v184 = bitcast <2 x double> %v183 to <2 x i64>
  %v185 = xor <2 x i64> %v184, <i64 -9223372036854775808, i64 0>
  %v186 = bitcast <2 x i64> %v185 to <2 x double>
  %v187 = fadd <2 x double> %v145, %v186
  %v188 = shufflevector <4 x double> %v160, <4 x double> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %v189 = bitcast <4 x double> %v188 to <4 x i64>
  %v190 = xor <4 x i64> %v189, <i64 -9223372036854775808, i64 0, i64 -9223372036854775808, i64 0>
  %v191 = bitcast <4 x i64> %v190 to <4 x double>
  %v192 = fadd <4 x double> %v159, %v191
  %v193 = shufflevector <2 x double> %v162, <2 x double> poison, <2 x i32> <i32 1, i32 0>
  %v194 = bitcast <2 x double> %v193 to <2 x i64>
  %v195 = xor <2 x i64> %v194, <i64 -9223372036854775808, i64 0>
  %v196 = bitcast <2 x i64> %v195 to <2 x double>
  %v197 = fadd <2 x double> %v161, %v196
  store <4 x double> %v172, ptr %batch5.c, align 8
  store <2 x double> %v177, ptr %v163, align 8
  store <4 x double> %v182, ptr %v164, align 8
  store <2 x double> %v187, ptr %v165, align 8
  store <4 x double> %v192, ptr %v166, align 8
  store <2 x double> %v197, ptr %v167, align 8
  br label %latch6
latch6:
  %v198 = add i64 %batch5.i, 1
  %v199 = getelementptr double, ptr %batch5.a, i64 %v1
  %v200 = getelementptr double, ptr %batch5.b, i64 %v2
  %v201 = getelementptr double, ptr %batch5.c, i64 %v3
  %v202 = icmp slt i64 %v198, %count
  br i1 %v202, label %batch5, label %done7
done7:
  ret void
}

declare <2 x double> @llvm.fma.v2f64(<2 x double>, <2 x double>, <2 x double>)
declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)

!0 = !{i32 1}
