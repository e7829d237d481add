; hc:nn:2x1x2|packed|alpha=1|beta=0|ieee skylake-avx512
; vector_bits=256 columns=0 cmul=split window_a=near group=8 window_b=near store=plain prefetch=0
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = udiv i64 %count, 8
  br label %before2
before2:
  %v6 = icmp sgt i64 %v1, 0
  br i1 %v6, label %batch3, label %done5
batch3:
  %batch3.i = phi i64 [ 0, %before2 ], [ %v159, %latch4 ]
  %batch3.a = phi ptr [ %A, %before2 ], [ %v160, %latch4 ]
  %batch3.b = phi ptr [ %B, %before2 ], [ %v161, %latch4 ]
  %batch3.c = phi ptr [ %C, %before2 ], [ %v162, %latch4 ]
  %v7 = load <4 x half>, ptr %batch3.a, align 2
  %v8 = fpext <4 x half> %v7 to <4 x float>
  %v9 = getelementptr half, ptr %batch3.a, i64 8
  %v10 = load <4 x half>, ptr %v9, align 2
  %v11 = fpext <4 x half> %v10 to <4 x float>
  %v12 = shufflevector <4 x float> %v8, <4 x float> %v11, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v13 = load <8 x half>, ptr %batch3.b, align 2
  %v14 = fpext <8 x half> %v13 to <8 x float>
  %v15 = shufflevector <8 x float> %v14, <8 x float> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 4, i32 4, i32 4, i32 4>
  %v16 = fmul <8 x float> %v12, %v15
  %v17 = getelementptr half, ptr %batch3.b, i64 1
  %v18 = load <8 x half>, ptr %v17, align 2
  %v19 = fpext <8 x half> %v18 to <8 x float>
  %v20 = shufflevector <8 x float> %v19, <8 x float> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 4, i32 4, i32 4, i32 4>
  %v21 = fmul <8 x float> %v12, %v20
  %v22 = getelementptr half, ptr %batch3.a, i64 4
  %v23 = load <4 x half>, ptr %v22, align 2
  %v24 = fpext <4 x half> %v23 to <4 x float>
  %v25 = getelementptr half, ptr %batch3.a, i64 12
  %v26 = load <4 x half>, ptr %v25, align 2
  %v27 = fpext <4 x half> %v26 to <4 x float>
  %v28 = shufflevector <4 x float> %v24, <4 x float> %v27, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v29 = getelementptr half, ptr %batch3.b, i64 2
  %v30 = load <8 x half>, ptr %v29, align 2
  %v31 = fpext <8 x half> %v30 to <8 x float>
  %v32 = shufflevector <8 x float> %v31, <8 x float> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 4, i32 4, i32 4, i32 4>
  %v33 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v28, <8 x float> %v32, <8 x float> %v16)
  %v34 = getelementptr half, ptr %batch3.b, i64 3
  %v35 = load <8 x half>, ptr %v34, align 2
  %v36 = fpext <8 x half> %v35 to <8 x float>
  %v37 = shufflevector <8 x float> %v36, <8 x float> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 4, i32 4, i32 4, i32 4>
  %v38 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v28, <8 x float> %v37, <8 x float> %v21)
  %v39 = shufflevector <8 x float> %v38, <8 x float> poison, <8 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6>
  %v40 = bitcast <8 x float> %v39 to <8 x i32>
  %v41 = xor <8 x i32> %v40, <i32 -2147483648, i32 0, i32 -2147483648, i32 0, i32 -2147483648, i32 0, i32 -2147483648, i32 0>
  %v42 = bitcast <8 x i32> %v41 to <8 x float>
  %v43 = fadd <8 x float> %v33, %v42
  %v44 = fptrunc <8 x float> %v43 to <8 x half>
  store <8 x half> %v44, ptr %batch3.c, align 2
  %v45 = getelementptr half, ptr %batch3.a, i64 16
  %v46 = load <4 x half>, ptr %v45, align 2
  %v47 = fpext <4 x half> %v46 to <4 x float>
  %v48 = getelementptr half, ptr %batch3.a, i64 24
  %v49 = load <4 x half>, ptr %v48, align 2
  %v50 = fpext <4 x half> %v49 to <4 x float>
  %v51 = shufflevector <4 x float> %v47, <4 x float> %v50, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v52 = getelementptr half, ptr %batch3.b, i64 8
  %v53 = load <8 x half>, ptr %v52, align 2
  %v54 = fpext <8 x half> %v53 to <8 x float>
  %v55 = shufflevector <8 x float> %v54, <8 x float> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 4, i32 4, i32 4, i32 4>
  %v56 = fmul <8 x float> %v51, %v55
  %v57 = getelementptr half, ptr %batch3.b, i64 9
  %v58 = load <8 x half>, ptr %v57, align 2
  %v59 = fpext <8 x half> %v58 to <8 x float>
  %v60 = shufflevector <8 x float> %v59, <8 x float> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 4, i32 4, i32 4, i32 4>
  %v61 = fmul <8 x float> %v51, %v60
  %v62 = getelementptr half, ptr %batch3.a, i64 20
  %v63 = load <4 x half>, ptr %v62, align 2
  %v64 = fpext <4 x half> %v63 to <4 x float>
  %v65 = getelementptr half, ptr %batch3.a, i64 28
  %v66 = load <4 x half>, ptr %v65, align 2
  %v67 = fpext <4 x half> %v66 to <4 x float>
  %v68 = shufflevector <4 x float> %v64, <4 x float> %v67, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v69 = getelementptr half, ptr %batch3.b, i64 10
  %v70 = load <8 x half>, ptr %v69, align 2
  %v71 = fpext <8 x half> %v70 to <8 x float>
  %v72 = shufflevector <8 x float> %v71, <8 x float> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 4, i32 4, i32 4, i32 4>
  %v73 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v68, <8 x float> %v72, <8 x float> %v56)
  %v74 = getelementptr half, ptr %batch3.b, i64 11
  %v75 = load <8 x half>, ptr %v74, align 2
  %v76 = fpext <8 x half> %v75 to <8 x float>
  %v77 = shufflevector <8 x float> %v76, <8 x float> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 4, i32 4, i32 4, i32 4>
  %v78 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v68, <8 x float> %v77, <8 x float> %v61)
  %v79 = shufflevector <8 x float> %v78, <8 x float> poison, <8 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6>
  %v80 = bitcast <8 x float> %v79 to <8 x i32>
  %v81 = xor <8 x i32> %v80, <i32 -2147483648, i32 0, i32 -2147483648, i32 0, i32 -2147483648, i32 0, i32 -2147483648, i32 0>
  %v82 = bitcast <8 x i32> %v81 to <8 x float>
  %v83 = fadd <8 x float> %v73, %v82
  %v84 = getelementptr half, ptr %batch3.c, i64 8
  %v85 = fptrunc <8 x float> %v83 to <8 x half>
  store <8 x half> %v85, ptr %v84, align 2
  %v86 = getelementptr half, ptr %batch3.a, i64 32
  %v87 = load <4 x half>, ptr %v86, align 2
  %v88 = fpext <4 x half> %v87 to <4 x float>
  %v89 = getelementptr half, ptr %batch3.a, i64 40
  %v90 = load <4 x half>, ptr %v89, align 2
  %v91 = fpext <4 x half> %v90 to <4 x float>
  %v92 = shufflevector <4 x float> %v88, <4 x float> %v91, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v93 = getelementptr half, ptr %batch3.b, i64 16
  %v94 = load <8 x half>, ptr %v93, align 2
  %v95 = fpext <8 x half> %v94 to <8 x float>
  %v96 = shufflevector <8 x float> %v95, <8 x float> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 4, i32 4, i32 4, i32 4>
  %v97 = fmul <8 x float> %v92, %v96
  %v98 = getelementptr half, ptr %batch3.b, i64 17
  %v99 = load <8 x half>, ptr %v98, align 2
  %v100 = fpext <8 x half> %v99 to <8 x float>
  %v101 = shufflevector <8 x float> %v100, <8 x float> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 4, i32 4, i32 4, i32 4>
  %v102 = fmul <8 x float> %v92, %v101
  %v103 = getelementptr half, ptr %batch3.a, i64 36
  %v104 = load <4 x half>, ptr %v103, align 2
  %v105 = fpext <4 x half> %v104 to <4 x float>
  %v106 = getelementptr half, ptr %batch3.a, i64 44
  %v107 = load <4 x half>, ptr %v106, align 2
  %v108 = fpext <4 x half> %v107 to <4 x float>
  %v109 = shufflevector <4 x float> %v105, <4 x float> %v108, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v110 = getelementptr half, ptr %batch3.b, i64 18
  %v111 = load <8 x half>, ptr %v110, align 2
  %v112 = fpext <8 x half> %v111 to <8 x float>
  %v113 = shufflevector <8 x float> %v112, <8 x float> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 4, i32 4, i32 4, i32 4>
  %v114 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v109, <8 x float> %v113, <8 x float> %v97)
  %v115 = getelementptr half, ptr %batch3.b, i64 19
  %v116 = load <8 x half>, ptr %v115, align 2
  %v117 = fpext <8 x half> %v116 to <8 x float>
  %v118 = shufflevector <8 x float> %v117, <8 x float> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 4, i32 4, i32 4, i32 4>
  %v119 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v109, <8 x float> %v118, <8 x float> %v102)
  %v120 = shufflevector <8 x float> %v119, <8 x float> poison, <8 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6>
  %v121 = bitcast <8 x float> %v120 to <8 x i32>
  %v122 = xor <8 x i32> %v121, <i32 -2147483648, i32 0, i32 -2147483648, i32 0, i32 -2147483648, i32 0, i32 -2147483648, i32 0>
  %v123 = bitcast <8 x i32> %v122 to <8 x float>
  %v124 = fadd <8 x float> %v114, %v123
  %v125 = getelementptr half, ptr %batch3.c, i64 16
  %v126 = fptrunc <8 x float> %v124 to <8 x half>
  store <8 x half> %v126, ptr %v125, align 2
  %v127 = getelementptr half, ptr %batch3.a, i64 48
  %v128 = load <4 x half>, ptr %v127, align 2
  %v129 = fpext <4 x half> %v128 to <4 x float>
  %v130 = getelementptr half, ptr %batch3.a, i64 56
  %v131 = load <4 x half>, ptr %v130, align 2
  %v132 = fpext <4 x half> %v131 to <4 x float>
  %v133 = shufflevector <4 x float> %v129, <4 x float> %v132, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v134 = getelementptr half, ptr %batch3.b, i64 24
  %v135 = load <8 x half>, ptr %v134, align 2
  %v136 = fpext <8 x half> %v135 to <8 x float>
  %v137 = shufflevector <8 x float> %v136, <8 x float> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 4, i32 4, i32 4, i32 4>
  %v138 = fmul <8 x float> %v133, %v137
  %v139 = shufflevector <8 x float> %v136, <8 x float> poison, <8 x i32> <i32 1, i32 1, i32 1, i32 1, i32 5, i32 5, i32 5, i32 5>
  %v140 = fmul <8 x float> %v133, %v139
  %v141 = getelementptr half, ptr %batch3.a, i64 52
  %v142 = load <4 x half>, ptr %v141, align 2
  %v143 = fpext <4 x half> %v142 to <4 x float>
  %v144 = getelementptr half, ptr %batch3.a, i64 60
  %v145 = load <4 x half>, ptr %v144, align 2
  %v146 = fpext <4 x half> %v145 to <4 x float>
  %v147 = shufflevector <4 x float> %v143, <4 x float> %v146, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v148 = shufflevector <8 x float> %v136, <8 x float> poison, <8 x i32> <i32 2, i32 2, i32 2, i32 2, i32 6, i32 6, i32 6, i32 6>
  %v149 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v147, <8 x float> %v148, <8 x float> %v138)
  %v150 = shufflevector <8 x float> %v136, <8 x float> poison, <8 x i32> <i32 3, i32 3, i32 3, i32 3, i32 7, i32 7, i32 7, i32 7>
  %v151 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v147, <8 x float> %v150, <8 x float> %v140)
  %v152 = shufflevector <8 x float> %v151, <8 x float> poison, <8 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6>
  %v153 = bitcast <8 x float> %v152 to <8 x i32>
  %v154 = xor <8 x i32> %v153, <i32 -2147483648, i32 0, i32 -2147483648, i32 0, i32 -2147483648, i32 0, i32 -2147483648, i32 0>
  %v155 = bitcast <8 x i32> %v154 to <8 x float>
  %v156 = fadd <8 x float> %v149, %v155
  %v157 = getelementptr half, ptr %batch3.c, i64 24
  %v158 = fptrunc <8 x float> %v156 to <8 x half>
  store <8 x half> %v158, ptr %v157, align 2
  br label %latch4
latch4:
  %v159 = add i64 %batch3.i, 1
  %v160 = getelementptr half, ptr %batch3.a, i64 64
  %v161 = getelementptr half, ptr %batch3.b, i64 32
  %v162 = getelementptr half, ptr %batch3.c, i64 32
  %v163 = icmp slt i64 %v159, %v1
  br i1 %v163, label %batch3, label %done5
done5:
  %v164 = mul i64 %v1, 8
  %v165 = sub i64 %count, %v164
  %v166 = mul i64 %v164, 8
  %v167 = getelementptr half, ptr %A, i64 %v166
  %v168 = mul i64 %v164, 4
  %v169 = getelementptr half, ptr %B, i64 %v168
  %v170 = mul i64 %v164, 4
  %v171 = getelementptr half, ptr %C, i64 %v170
  br label %before172
before172:
  %v176 = icmp sgt i64 %v165, 0
  br i1 %v176, label %batch173, label %done175
batch173:
  %batch173.i = phi i64 [ 0, %before172 ], [ %v211, %latch174 ]
  %batch173.a = phi ptr [ %v167, %before172 ], [ %v212, %latch174 ]
  %batch173.b = phi ptr [ %v169, %before172 ], [ %v213, %latch174 ]
  %batch173.c = phi ptr [ %v171, %before172 ], [ %v214, %latch174 ]
  %v177 = load <4 x half>, ptr %batch173.a, align 2
  %v178 = fpext <4 x half> %v177 to <4 x float>
  %v179 = load half, ptr %batch173.b, align 2
  %v180 = fpext half %v179 to float
  %v181 = insertelement <4 x float> poison, float %v180, i64 0
  %v182 = shufflevector <4 x float> %v181, <4 x float> poison, <4 x i32> zeroinitializer
  %v183 = fmul <4 x float> %v178, %v182
  %v184 = getelementptr half, ptr %batch173.b, i64 1
  %v185 = load half, ptr %v184, align 2
  %v186 = fpext half %v185 to float
  %v187 = insertelement <4 x float> poison, float %v186, i64 0
  %v188 = shufflevector <4 x float> %v187, <4 x float> poison, <4 x i32> zeroinitializer
  %v189 = fmul <4 x float> %v178, %v188
  %v190 = getelementptr half, ptr %batch173.a, i64 4
  %v191 = load <4 x half>, ptr %v190, align 2
  %v192 = fpext <4 x half> %v191 to <4 x float>
  %v193 = getelementptr half, ptr %batch173.b, i64 2
  %v194 = load half, ptr %v193, align 2
  %v195 = fpext half %v194 to float
  %v196 = insertelement <4 x float> poison, float %v195, i64 0
  %v197 = shufflevector <4 x float> %v196, <4 x float> poison, <4 x i32> zeroinitializer
  %v198 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v192, <4 x float> %v197, <4 x float> %v183)
  %v199 = getelementptr half, ptr %batch173.b, i64 3
  %v200 = load half, ptr %v199, align 2
  %v201 = fpext half %v200 to float
  %v202 = insertelement <4 x float> poison, float %v201, i64 0
  %v203 = shufflevector <4 x float> %v202, <4 x float> poison, <4 x i32> zeroinitializer
  %v204 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v192, <4 x float> %v203, <4 x float> %v189)
  %v205 = shufflevector <4 x float> %v204, <4 x float> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %v206 = bitcast <4 x float> %v205 to <4 x i32>
  %v207 = xor <4 x i32> %v206, <i32 -2147483648, i32 0, i32 -2147483648, i32 0>
  %v208 = bitcast <4 x i32> %v207 to <4 x float>
  %v209 = fadd <4 x float> %v198, %v208
  %v210 = fptrunc <4 x float> %v209 to <4 x half>
  store <4 x half> %v210, ptr %batch173.c, align 2
  br label %latch174
latch174:
  %v211 = add i64 %batch173.i, 1
  %v212 = getelementptr half, ptr %batch173.a, i64 8
  %v213 = getelementptr half, ptr %batch173.b, i64 4
  %v214 = getelementptr half, ptr %batch173.c, i64 4
  %v215 = icmp slt i64 %v211, %v165
  br i1 %v215, label %batch173, label %done175
done175:
  ret void
}

declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)

!0 = !{i32 1}
