; z:nn:3x3x3|packed|alpha=1|beta=0|ieee haswell
; vector_bits=256 tail=binary store=plain cmul=rotate blk_m=2 blk_n=3 blk_k=3 inner=column reg_a=2 reg_b=1 order=nm roll=0 prefetch=0 level=1
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
  %batch5.i = phi i64 [ 0, %before4 ], [ %v192, %latch6 ]
  %batch5.a = phi ptr [ %A, %before4 ], [ %v193, %latch6 ]
  %batch5.b = phi ptr [ %B, %before4 ], [ %v194, %latch6 ]
  %batch5.c = phi ptr [ %C, %before4 ], [ %v195, %latch6 ]
  %v9 = load <4 x double>, ptr %batch5.a, align 8
  %v10 = shufflevector <4 x double> %v9, <4 x double> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %v11 = bitcast <4 x double> %v10 to <4 x i64>
  %v12 = xor <4 x i64> %v11, <i64 -9223372036854775808, i64 0, i64 -9223372036854775808, i64 0>
  %v13 = bitcast <4 x i64> %v12 to <4 x double>
  %v14 = getelementptr double, ptr %batch5.a, i64 4
  %v15 = load <2 x double>, ptr %v14, align 8
  %v16 = shufflevector <2 x double> %v15, <2 x double> poison, <2 x i32> <i32 1, i32 0>
  %v17 = bitcast <2 x double> %v16 to <2 x i64>
  %v18 = xor <2 x i64> %v17, <i64 -9223372036854775808, i64 0>
  %v19 = bitcast <2 x i64> %v18 to <2 x double>
  %v20 = getelementptr double, ptr %batch5.b, i64 1
  %v21 = load double, ptr %batch5.b, align 8
  %v22 = load double, ptr %v20, align 8
  %v23 = insertelement <4 x double> poison, double %v21, i64 0
  %v24 = shufflevector <4 x double> %v23, <4 x double> poison, <4 x i32> zeroinitializer
  %v25 = insertelement <4 x double> poison, double %v22, i64 0
  %v26 = shufflevector <4 x double> %v25, <4 x double> poison, <4 x i32> zeroinitializer
  %v27 = insertelement <2 x double> poison, double %v21, i64 0
  %v28 = shufflevector <2 x double> %v27, <2 x double> poison, <2 x i32> zeroinitializer
  %v29 = insertelement <2 x double> poison, double %v22, i64 0
  %v30 = shufflevector <2 x double> %v29, <2 x double> poison, <2 x i32> zeroinitializer
  %v31 = fmul <4 x double> %v9, %v24
  %v32 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v13, <4 x double> %v26, <4 x double> %v31)
  %v33 = fmul <2 x double> %v15, %v28
  %v34 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v19, <2 x double> %v30, <2 x double> %v33)
  %v35 = getelementptr double, ptr %batch5.b, i64 6
  %v36 = getelementptr double, ptr %v35, i64 1
  %v37 = load double, ptr %v35, align 8
  %v38 = load double, ptr %v36, align 8
  %v39 = insertelement <4 x double> poison, double %v37, i64 0
  %v40 = shufflevector <4 x double> %v39, <4 x double> poison, <4 x i32> zeroinitializer
  %v41 = insertelement <4 x double> poison, double %v38, i64 0
  %v42 = shufflevector <4 x double> %v41, <4 x double> poison, <4 x i32> zeroinitializer
  %v43 = insertelement <2 x double> poison, double %v37, i64 0
  %v44 = shufflevector <2 x double> %v43, <2 x double> poison, <2 x i32> zeroinitializer
  %v45 = insertelement <2 x double> poison, double %v38, i64 0
  %v46 = shufflevector <2 x double> %v45, <2 x double> poison, <2 x i32> zeroinitializer
  %v47 = fmul <4 x double> %v9, %v40
  %v48 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v13, <4 x double> %v42, <4 x double> %v47)
  %v49 = fmul <2 x double> %v15, %v44
  %v50 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v19, <2 x double> %v46, <2 x double> %v49)
  %v51 = getelementptr double, ptr %batch5.b, i64 12
  %v52 = getelementptr double, ptr %v51, i64 1
  %v53 = load double, ptr %v51, align 8
  %v54 = load double, ptr %v52, align 8
  %v55 = insertelement <4 x double> poison, double %v53, i64 0
  %v56 = shufflevector <4 x double> %v55, <4 x double> poison, <4 x i32> zeroinitializer
  %v57 = insertelement <4 x double> poison, double %v54, i64 0
  %v58 = shufflevector <4 x double> %v57, <4 x double> poison, <4 x i32> zeroinitializer
  %v59 = insertelement <2 x double> poison, double %v53, i64 0
  %v60 = shufflevector <2 x double> %v59, <2 x double> poison, <2 x i32> zeroinitializer
  %v61 = insertelement <2 x double> poison, double %v54, i64 0
  %v62 = shufflevector <2 x double> %v61, <2 x double> poison, <2 x i32> zeroinitializer
  %v63 = fmul <4 x double> %v9, %v56
  %v64 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v13, <4 x double> %v58, <4 x double> %v63)
  %v65 = fmul <2 x double> %v15, %v60
  %v66 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v19, <2 x double> %v62, <2 x double> %v65)
  %v67 = getelementptr double, ptr %batch5.a, i64 6
  %v68 = load <4 x double>, ptr %v67, align 8
  %v69 = shufflevector <4 x double> %v68, <4 x double> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %v70 = bitcast <4 x double> %v69 to <4 x i64>
  %v71 = xor <4 x i64> %v70, <i64 -9223372036854775808, i64 0, i64 -9223372036854775808, i64 0>
  %v72 = bitcast <4 x i64> %v71 to <4 x double>
  %v73 = getelementptr double, ptr %batch5.a, i64 10
  %v74 = load <2 x double>, ptr %v73, align 8
  %v75 = shufflevector <2 x double> %v74, <2 x double> poison, <2 x i32> <i32 1, i32 0>
  %v76 = bitcast <2 x double> %v75 to <2 x i64>
  %v77 = xor <2 x i64> %v76, <i64 -9223372036854775808, i64 0>
  %v78 = bitcast <2 x i64> %v77 to <2 x double>
  %v79 = getelementptr double, ptr %batch5.b, i64 2
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
  %v91 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v68, <4 x double> %v84, <4 x double> %v32)
  %v92 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v72, <4 x double> %v86, <4 x double> %v91)
  %v93 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v74, <2 x double> %v88, <2 x double> %v34)
  %v94 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v78, <2 x double> %v90, <2 x double> %v93)
  %v95 = getelementptr double, ptr %batch5.b, i64 8
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
  %v107 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v68, <4 x double> %v100, <4 x double> %v48)
  %v108 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v72, <4 x double> %v102, <4 x double> %v107)
  %v109 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v74, <2 x double> %v104, <2 x double> %v50)
  %v110 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v78, <2 x double> %v106, <2 x double> %v109)
  %v111 = getelementptr double, ptr %batch5.b, i64 14
  %v112 = getelementptr double, ptr %v111, i64 1
  %v113 = load double, ptr %v111, align 8
  %v114 = load double, ptr %v112, align 8
  %v115 = insertelement <4 x double> poison, double %v113, i64 0
  %v116 = shufflevector <4 x double> %v115, <4 x double> poison, <4 x i32> zeroinitializer
  %v117 = insertelement <4 x double> poison, double %v114, i64 0
  %v118 = shufflevector <4 x double> %v117, <4 x double> poison, <4 x i32> zeroinitializer
  %v119 = insertelement <2 x double> poison, double %v113, i64 0
  %v120 = shufflevector <2 x double> %v119, <2 x double> poison, <2 x i32> zeroinitializer
  %v121 = insertelement <2 x double> poison, double %v114, i64 0
  %v122 = shufflevector <2 x double> %v121, <2 x double> poison, <2 x i32> zeroinitializer
  %v123 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v68, <4 x double> %v116, <4 x double> %v64)
  %v124 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v72, <4 x double> %v118, <4 x double> %v123)
  %v125 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v74, <2 x double> %v120, <2 x double> %v66)
  %v126 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v78, <2 x double> %v122, <2 x double> %v125)
  %v127 = getelementptr double, ptr %batch5.a, i64 12
  %v128 = load <4 x double>, ptr %v127, align 8
  %v129 = shufflevector <4 x double> %v128, <4 x double> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %v130 = bitcast <4 x double> %v129 to <4 x i64>
  %v131 = xor <4 x i64> %v130, <i64 -9223372036854775808, i64 0, i64 -9223372036854775808, i64 0>
  %v132 = bitcast <4 x i64> %v131 to <4 x double>
  %v133 = getelementptr double, ptr %batch5.a, i64 16
  %v134 = load <2 x double>, ptr %v133, align 8
  %v135 = shufflevector <2 x double> %v134, <2 x double> poison, <2 x i32> <i32 1, i32 0>
  %v136 = bitcast <2 x double> %v135 to <2 x i64>
  %v137 = xor <2 x i64> %v136, <i64 -9223372036854775808, i64 0>
  %v138 = bitcast <2 x i64> %v137 to <2 x double>
  %v139 = getelementptr double, ptr %batch5.b, i64 4
  %v140 = getelementptr double, ptr %v139, i64 1
  %v141 = load double, ptr %v139, align 8
  %v142 = load double, ptr %v140, align 8
  %v143 = insertelement <4 x double> poison, double %v141, i64 0
  %v144 = shufflevector <4 x double> %v143, <4 x double> poison, <4 x i32> zeroinitializer
  %v145 = insertelement <4 x double> poison, double %v142, i64 0
  %v146 = shufflevector <4 x double> %v145, <4 x double> poison, <4 x i32> zeroinitializer
  %v147 = insertelement <2 x double> poison, double %v141, i64 0
  %v148 = shufflevector <2 x double> %v147, <2 x double> poison, <2 x i32> zeroinitializer
  %v149 = insertelement <2 x double> poison, double %v142, i64 0
  %v150 = shufflevector <2 x double> %v149, <2 x double> poison, <2 x i32> zeroinitializer
  %v151 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v128, <4 x double> %v144, <4 x double> %v92)
  %v152 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v132, <4 x double> %v146, <4 x double> %v151)
  %v153 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v134, <2 x double> %v148, <2 x double> %v94)
  %v154 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v138, <2 x double> %v150, <2 x double> %v153)
  %v155 = getelementptr double, ptr %batch5.b, i64 10
  %v156 = getelementptr double, ptr %v155, i64 1
  %v157 = load double, ptr %v155, align 8
  %v158 = load double, ptr %v156, align 8
  %v159 = insertelement <4 x double> poison, double %v157, i64 0
  %v160 = shufflevector <4 x double> %v159, <4 x double> poison, <4 x i32> zeroinitializer
  %v161 = insertelement <4 x double> poison, double %v158, i64 0
  %v162 = shufflevector <4 x double> %v161, <4 x double> poison, <4 x i32> zeroinitializer
  %v163 = insertelement <2 x double> poison, double %v157, i64 0
  %v164 = shufflevector <2 x double> %v163, <2 x double> poison, <2 x i32> zeroinitializer
  %v165 = insertelement <2 x double> poison, double %v158, i64 0
  %v166 = shufflevector <2 x double> %v165, <2 x double> poison, <2 x i32> zeroinitializer
  %v167 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v128, <4 x double> %v160, <4 x double> %v108)
  %v168 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v132, <4 x double> %v162, <4 x double> %v167)
  %v169 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v134, <2 x double> %v164, <2 x double> %v110)
  %v170 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v138, <2 x double> %v166, <2 x double> %v169)
  %v171 = getelementptr double, ptr %batch5.b, i64 16
  %v172 = getelementptr double, ptr %v171, i64 1
  %v173 = load double, ptr %v171, align 8
  %v174 = load double, ptr %v172, align 8
  %v175 = insertelement <4 x double> poison, double %v173, i64 0
  %v176 = shufflevector <4 x double> %v175, <4 x double> poison, <4 x i32> zeroinitializer
  %v177 = insertelement <4 x double> poison, double %v174, i64 0
  %v178 = shufflevector <4 x double> %v177, <4 x double> poison, <4 x i32> zeroinitializer
  %v179 = insertelement <2 x double> poison, double %v173, i64 0
  %v180 = shufflevector <2 x double> %v179, <2 x double> poison, <2 x i32> zeroinitializer
  %v181 = insertelement <2 x double> poison, double %v174, i64 0
  %v182 = shufflevector <2 x double> %v181, <2 x double> poison, <2 x i32> zeroinitializer
  %v183 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v128, <4 x double> %v176, <4 x double> %v124)
  %v184 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v132, <4 x double> %v178, <4 x double> %v183)
  %v185 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v134, <2 x double> %v180, <2 x double> %v126)
  %v186 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v138, <2 x double> %v182, <2 x double> %v185)
  %v187 = getelementptr double, ptr %batch5.c, i64 4
  %v188 = getelementptr double, ptr %batch5.c, i64 6
  %v189 = getelementptr double, ptr %batch5.c, i64 10
  %v190 = getelementptr double, ptr %batch5.c, i64 12
  %v191 = getelementptr double, ptr %batch5.c, i64 16
  store <4 x double> %v152, ptr %batch5.c, align 8
  store <2 x double> %v154, ptr %v187, align 8
  store <4 x double> %v168, ptr %v188, align 8
  store <2 x double> %v170, ptr %v189, align 8
  store <4 x double> %v184, ptr %v190, align 8
  store <2 x double> %v186, ptr %v191, align 8
  br label %latch6
latch6:
  %v192 = add i64 %batch5.i, 1
  %v193 = getelementptr double, ptr %batch5.a, i64 %v1
  %v194 = getelementptr double, ptr %batch5.b, i64 %v2
  %v195 = getelementptr double, ptr %batch5.c, i64 %v3
  %v196 = icmp slt i64 %v192, %count
  br i1 %v196, label %batch5, label %done7
done7:
  ret void
}

declare <2 x double> @llvm.fma.v2f64(<2 x double>, <2 x double>, <2 x double>)
declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)

!0 = !{i32 1}
