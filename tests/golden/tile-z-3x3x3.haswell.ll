; z:nn:3x3x3|packed|alpha=1|beta=0|ieee haswell
; vector_bits=256 tail=binary store=plain cmul=split blk_m=2 blk_n=2 blk_k=3 inner=column reg_a=2 reg_b=1 order=nm roll=0 prefetch=0 level=1
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
  %batch5.i = phi i64 [ 0, %before4 ], [ %v209, %latch6 ]
  %batch5.a = phi ptr [ %A, %before4 ], [ %v210, %latch6 ]
  %batch5.b = phi ptr [ %B, %before4 ], [ %v211, %latch6 ]
  %batch5.c = phi ptr [ %C, %before4 ], [ %v212, %latch6 ]
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
  %v43 = getelementptr double, ptr %batch5.a, i64 6
  %v44 = load <4 x double>, ptr %v43, align 8
  %v45 = getelementptr double, ptr %batch5.a, i64 10
  %v46 = load <2 x double>, ptr %v45, align 8
  %v47 = getelementptr double, ptr %batch5.b, i64 2
  %v48 = getelementptr double, ptr %v47, i64 1
  %v49 = load double, ptr %v47, align 8
  %v50 = load double, ptr %v48, align 8
  %v51 = insertelement <4 x double> poison, double %v49, i64 0
  %v52 = shufflevector <4 x double> %v51, <4 x double> poison, <4 x i32> zeroinitializer
  %v53 = insertelement <4 x double> poison, double %v50, i64 0
  %v54 = shufflevector <4 x double> %v53, <4 x double> poison, <4 x i32> zeroinitializer
  %v55 = insertelement <2 x double> poison, double %v49, i64 0
  %v56 = shufflevector <2 x double> %v55, <2 x double> poison, <2 x i32> zeroinitializer
  %v57 = insertelement <2 x double> poison, double %v50, i64 0
  %v58 = shufflevector <2 x double> %v57, <2 x double> poison, <2 x i32> zeroinitializer
  %v59 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v44, <4 x double> %v52, <4 x double> %v23)
  %v60 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v44, <4 x double> %v54, <4 x double> %v24)
  %v61 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v46, <2 x double> %v56, <2 x double> %v25)
  %v62 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v46, <2 x double> %v58, <2 x double> %v26)
  %v63 = getelementptr double, ptr %batch5.b, i64 8
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
  %v75 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v44, <4 x double> %v68, <4 x double> %v39)
  %v76 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v44, <4 x double> %v70, <4 x double> %v40)
  %v77 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v46, <2 x double> %v72, <2 x double> %v41)
  %v78 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v46, <2 x double> %v74, <2 x double> %v42)
  %v79 = getelementptr double, ptr %batch5.a, i64 12
  %v80 = load <4 x double>, ptr %v79, align 8
  %v81 = getelementptr double, ptr %batch5.a, i64 16
  %v82 = load <2 x double>, ptr %v81, align 8
  %v83 = getelementptr double, ptr %batch5.b, i64 4
  %v84 = getelementptr double, ptr %v83, i64 1
  %v85 = load double, ptr %v83, align 8
  %v86 = load double, ptr %v84, align 8
  %v87 = insertelement <4 x double> poison, double %v85, i64 0
  %v88 = shufflevector <4 x double> %v87, <4 x double> poison, <4 x i32> zeroinitializer
  %v89 = insertelement <4 x double> poison, double %v86, i64 0
  %v90 = shufflevector <4 x double> %v89, <4 x double> poison, <4 x i32> zeroinitializer
  %v91 = insertelement <2 x double> poison, double %v85, i64 0
  %v92 = shufflevector <2 x double> %v91, <2 x double> poison, <2 x i32> zeroinitializer
  %v93 = insertelement <2 x double> poison, double %v86, i64 0
  %v94 = shufflevector <2 x double> %v93, <2 x double> poison, <2 x i32> zeroinitializer
  %v95 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v80, <4 x double> %v88, <4 x double> %v59)
  %v96 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v80, <4 x double> %v90, <4 x double> %v60)
  %v97 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v82, <2 x double> %v92, <2 x double> %v61)
  %v98 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v82, <2 x double> %v94, <2 x double> %v62)
  %v99 = getelementptr double, ptr %batch5.b, i64 10
  %v100 = getelementptr double, ptr %v99, i64 1
  %v101 = load double, ptr %v99, align 8
  %v102 = load double, ptr %v100, align 8
  %v103 = insertelement <4 x double> poison, double %v101, i64 0
  %v104 = shufflevector <4 x double> %v103, <4 x double> poison, <4 x i32> zeroinitializer
  %v105 = insertelement <4 x double> poison, double %v102, i64 0
  %v106 = shufflevector <4 x double> %v105, <4 x double> poison, <4 x i32> zeroinitializer
  %v107 = insertelement <2 x double> poison, double %v101, i64 0
  %v108 = shufflevector <2 x double> %v107, <2 x double> poison, <2 x i32> zeroinitializer
  %v109 = insertelement <2 x double> poison, double %v102, i64 0
  %v110 = shufflevector <2 x double> %v109, <2 x double> poison, <2 x i32> zeroinitializer
  %v111 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v80, <4 x double> %v104, <4 x double> %v75)
  %v112 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v80, <4 x double> %v106, <4 x double> %v76)
  %v113 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v82, <2 x double> %v108, <2 x double> %v77)
  %v114 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v82, <2 x double> %v110, <2 x double> %v78)
  %v115 = getelementptr double, ptr %batch5.c, i64 4
  %v116 = getelementptr double, ptr %batch5.c, i64 6
  %v117 = getelementptr double, ptr %batch5.c, i64 10
  %v118 = shufflevector <4 x double> %v96, <4 x double> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %v119 = bitcast <4 x double> %v118 to <4 x i64>
  %v120 = xor <4 x i64> %v119, <i64 -9223372036854775808, i64 0, i64 -9223372036854775808, i64 0>
  %v121 = bitcast <4 x i64> %v120 to <4 x double>
  %v122 = fadd <4 x double> %v95, %v121
  %v123 = shufflevector <2 x double> %v98, <2 x double> poison, <2 x i32> <i32 1, i32 0>
  %v124 = bitcast <2 x double> %v123 to <2 x i64>
  %v125 = xor <2 x i64> %v124, <i64 -9223372036854775808, i64 0>
  %v126 = bitcast <2 x i64> %v125 to <2 x double>
  %v127 = fadd <2 x double> %v97, %v126
  %v128 = shufflevector <4 x double> %v112, <4 x double> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %v129 = bitcast <4 x double> %v128 to <4 x i64>
  %v130 = xor <4 x i64> %v129, <i64 -9223372036854775808, i64 0, i64 -9223372036854775808, i64 0>
  %v131 = bitcast <4 x i64> %v130 to <4 x double>
  %v132 = fadd <4 x double> %v111, %v131
  %v133 = shufflevector <2 x double> %v114, <2 x double> poison, <2 x i32> <i32 1, i32 0>
  %v134 = bitcast <2 x double> %v133 to <2 x i64>
  %v135 = xor <2 x i64> %v134, <i64 -9223372036854775808, i64 0>
  %v136 = bitcast <2 x i64> %v135 to <2 x double>
  %v137 = fadd <2 x double> %v113, %v136
  store <4 x double> %v122, ptr %batch5.c, align 8
  store <2 x double> %v127, ptr %v115, align 8
  store <4 x double> %v132, ptr %v116, align 8
  store <2 x double> %v137, ptr %v117, align 8
  %v138 = getelementptr double, ptr %batch5.b, i64 12
  %v139 = getelementptr double, ptr %batch5.c, i64 12
  %v140 = load <4 x double>, ptr %batch5.a, align 8
  %v141 = getelementptr double, ptr %batch5.a, i64 4
  %v142 = load <2 x double>, ptr %v141, align 8
  %v143 = getelementptr double, ptr %v138, i64 1
  %v144 = load double, ptr %v138, align 8
  %v145 = load double, ptr %v143, align 8
  %v146 = insertelement <4 x double> poison, double %v144, i64 0
  %v147 = shufflevector <4 x double> %v146, <4 x double> poison, <4 x i32> zeroinitializer
  %v148 = insertelement <4 x double> poison, double %v145, i64 0
  %v149 = shufflevector <4 x double> %v148, <4 x double> poison, <4 x i32> zeroinitializer
  %v150 = insertelement <2 x double> poison, double %v144, i64 0
  %v151 = shufflevector <2 x double> %v150, <2 x double> poison, <2 x i32> zeroinitializer
  %v152 = insertelement <2 x double> poison, double %v145, i64 0
  %v153 = shufflevector <2 x double> %v152, <2 x double> poison, <2 x i32> zeroinitializer
  %v154 = fmul <4 x double> %v140, %v147
  %v155 = fmul <4 x double> %v140, %v149
  %v156 = fmul <2 x double> %v142, %v151
  %v157 = fmul <2 x double> %v142, %v153
  %v158 = getelementptr double, ptr %batch5.a, i64 6
  %v159 = load <4 x double>, ptr %v158, align 8
  %v160 = getelementptr double, ptr %batch5.a, i64 10
  %v161 = load <2 x double>, ptr %v160, align 8
  %v162 = getelementptr double, ptr %v138, i64 2
  %v163 = getelementptr double, ptr %v162, i64 1
  %v164 = load double, ptr %v162, align 8
  %v165 = load double, ptr %v163, align 8
  %v166 = insertelement <4 x double> poison, double %v164, i64 0
  %v167 = shufflevector <4 x double> %v166, <4 x double> poison, <4 x i32> zeroinitializer
  %v168 = insertelement <4 x double> poison, double %v165, i64 0
  %v169 = shufflevector <4 x double> %v168, <4 x double> poison, <4 x i32> zeroinitializer
  %v170 = insertelement <2 x double> poison, double %v164, i64 0
  %v171 = shufflevector <2 x double> %v170, <2 x double> poison, <2 x i32> zeroinitializer
  %v172 = insertelement <2 x double> poison, double %v165, i64 0
  %v173 = shufflevector <2 x double> %v172, <2 x double> poison, <2 x i32> zeroinitializer
  %v174 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v159, <4 x double> %v167, <4 x double> %v154)
  %v175 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v159, <4 x double> %v169, <4 x double> %v155)
  %v176 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v161, <2 x double> %v171, <2 x double> %v156)
  %v177 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v161, <2 x double> %v173, <2 x double> %v157)
  %v178 = getelementptr double, ptr %batch5.a, i64 12
  %v179 = load <4 x double>, ptr %v178, align 8
  %v180 = getelementptr double, ptr %batch5.a, i64 16
  %v181 = load <2 x double>, ptr %v180, align 8
  %v182 = getelementptr double, ptr %v138, i64 4
  %v183 = getelementptr double, ptr %v182, i64 1
  %v184 = load double, ptr %v182, align 8
  %v185 = load double, ptr %v183, align 8
  %v186 = insertelement <4 x double> poison, double %v184, i64 0
  %v187 = shufflevector <4 x double> %v186, <4 x double> poison, <4 x i32> zeroinitializer
  %v188 = insertelement <4 x double> poison, double %v185, i64 0
  %v189 = shufflevector <4 x double> %v188, <4 x double> poison, <4 x i32> zeroinitializer
  %v190 = insertelement <2 x double> poison, double %v184, i64 0
  %v191 = shufflevector <2 x double> %v190, <2 x double> poison, <2 x i32> zeroinitializer
  %v192 = insertelement <2 x double> poison, double %v185, i64 0
  %v193 = shufflevector <2 x double> %v192, <2 x double> poison, <2 x i32> zeroinitializer
  %v194 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v179, <4 x double> %v187, <4 x double> %v174)
  %v195 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v179, <4 x double> %v189, <4 x double> %v175)
  %v196 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v181, <2 x double> %v191, <2 x double> %v176)
  %v197 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v181, <2 x double> %v193, <2 x double> %v177)
  %v198 = getelementptr double, ptr %v139, i64 4
  %v199 = shufflevector <4 x double> %v195, <4 x double> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %v200 = bitcast <4 x double> %v199 to <4 x i64>
  %v201 = xor <4 x i64> %v200, <i64 -9223372036854775808, i64 0, i64 -9223372036854775808, i64 0>
  %v202 = bitcast <4 x i64> %v201 to <4 x double>
  %v203 = fadd <4 x double> %v194, %v202
  %v204 = shufflevector <2 x double> %v197, <2 x double> poison, <2 x i32> <i32 1, i32 0>
  %v205 = bitcast <2 x double> %v204 to <2 x i64>
  %v206 = xor <2 x i64> %v205, <i64 -9223372036854775808, i64 0>
  %v207 = bitcast <2 x i64> %v206 to <2 x double>
  %v208 = fadd <2 x double> %v196, %v207
  store <4 x double> %v203, ptr %v139, align 8
  store <2 x double> %v208, ptr %v198, align 8
  br label %latch6
latch6:
  %v209 = add i64 %batch5.i, 1
  %v210 = getelementptr double, ptr %batch5.a, i64 %v1
  %v211 = getelementptr double, ptr %batch5.b, i64 %v2
  %v212 = getelementptr double, ptr %batch5.c, i64 %v3
  %v213 = icmp slt i64 %v209, %count
  br i1 %v213, label %batch5, label %done7
done7:
  ret void
}

declare <2 x double> @llvm.fma.v2f64(<2 x double>, <2 x double>, <2 x double>)
declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)

!0 = !{i32 1}
