; d:tn:70x4x2|packed|alpha=1|beta=1|ieee haswell
; vector_bits=256 tail=binary cmul=none blk_m=2 blk_n=4 slice=2 blk_k=2 order=mn pack_a=1 pack_b=0
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [20 x double], align 64
  br label %before2
before2:
  %v6 = icmp sgt i64 %count, 0
  br i1 %v6, label %batch3, label %done5
batch3:
  %batch3.i = phi i64 [ 0, %before2 ], [ %v260, %latch4 ]
  %batch3.a = phi ptr [ %A, %before2 ], [ %v261, %latch4 ]
  %batch3.b = phi ptr [ %B, %before2 ], [ %v262, %latch4 ]
  %batch3.c = phi ptr [ %C, %before2 ], [ %v263, %latch4 ]
  br label %before7
before7:
  %v11 = icmp sgt i64 8, 0
  br i1 %v11, label %batch8, label %done10
batch8:
  %batch8.i = phi i64 [ 0, %before7 ], [ %v125, %latch9 ]
  %batch8.a = phi ptr [ %batch3.a, %before7 ], [ %v126, %latch9 ]
  %batch8.b = phi ptr [ %batch3.b, %before7 ], [ %batch8.b, %latch9 ]
  %batch8.c = phi ptr [ %batch3.c, %before7 ], [ %v127, %latch9 ]
  %v12 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %batch8.a, i32 8, <4 x i1> <i1 1, i1 1, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v13 = getelementptr double, ptr %batch8.a, i64 2
  %v14 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v13, i32 8, <4 x i1> <i1 1, i1 1, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v15 = getelementptr double, ptr %batch8.a, i64 4
  %v16 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v15, i32 8, <4 x i1> <i1 1, i1 1, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v17 = getelementptr double, ptr %batch8.a, i64 6
  %v18 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v17, i32 8, <4 x i1> <i1 1, i1 1, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v19 = shufflevector <4 x double> %v12, <4 x double> %v14, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v20 = shufflevector <4 x double> %v12, <4 x double> %v14, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v21 = shufflevector <4 x double> %v16, <4 x double> %v18, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v22 = shufflevector <4 x double> %v16, <4 x double> %v18, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v23 = shufflevector <4 x double> %v19, <4 x double> %v21, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %v24 = shufflevector <4 x double> %v19, <4 x double> %v21, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  %v25 = shufflevector <4 x double> %v20, <4 x double> %v22, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %v26 = shufflevector <4 x double> %v20, <4 x double> %v22, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  store <4 x double> %v23, ptr %v1, align 8
  %v27 = getelementptr double, ptr %v1, i64 8
  store <4 x double> %v25, ptr %v27, align 8
  %v28 = getelementptr double, ptr %batch8.a, i64 8
  %v29 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v28, i32 8, <4 x i1> <i1 1, i1 1, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v30 = getelementptr double, ptr %batch8.a, i64 10
  %v31 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v30, i32 8, <4 x i1> <i1 1, i1 1, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v32 = getelementptr double, ptr %batch8.a, i64 12
  %v33 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v32, i32 8, <4 x i1> <i1 1, i1 1, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v34 = getelementptr double, ptr %batch8.a, i64 14
  %v35 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v34, i32 8, <4 x i1> <i1 1, i1 1, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v36 = shufflevector <4 x double> %v29, <4 x double> %v31, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v37 = shufflevector <4 x double> %v29, <4 x double> %v31, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v38 = shufflevector <4 x double> %v33, <4 x double> %v35, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v39 = shufflevector <4 x double> %v33, <4 x double> %v35, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v40 = shufflevector <4 x double> %v36, <4 x double> %v38, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %v41 = shufflevector <4 x double> %v36, <4 x double> %v38, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  %v42 = shufflevector <4 x double> %v37, <4 x double> %v39, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %v43 = shufflevector <4 x double> %v37, <4 x double> %v39, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  %v44 = getelementptr double, ptr %v1, i64 4
  store <4 x double> %v40, ptr %v44, align 8
  %v45 = getelementptr double, ptr %v1, i64 12
  store <4 x double> %v42, ptr %v45, align 8
  %v46 = load <4 x double>, ptr %v1, align 8
  %v47 = getelementptr double, ptr %v1, i64 4
  %v48 = load <4 x double>, ptr %v47, align 8
  %v49 = load double, ptr %batch8.b, align 8
  %v50 = insertelement <4 x double> poison, double %v49, i64 0
  %v51 = shufflevector <4 x double> %v50, <4 x double> poison, <4 x i32> zeroinitializer
  %v52 = fmul <4 x double> %v46, %v51
  %v53 = fmul <4 x double> %v48, %v51
  %v54 = getelementptr double, ptr %batch8.b, i64 2
  %v55 = load double, ptr %v54, align 8
  %v56 = insertelement <4 x double> poison, double %v55, i64 0
  %v57 = shufflevector <4 x double> %v56, <4 x double> poison, <4 x i32> zeroinitializer
  %v58 = fmul <4 x double> %v46, %v57
  %v59 = fmul <4 x double> %v48, %v57
  %v60 = getelementptr double, ptr %batch8.b, i64 4
  %v61 = load double, ptr %v60, align 8
  %v62 = insertelement <4 x double> poison, double %v61, i64 0
  %v63 = shufflevector <4 x double> %v62, <4 x double> poison, <4 x i32> zeroinitializer
  %v64 = fmul <4 x double> %v46, %v63
  %v65 = fmul <4 x double> %v48, %v63
  %v66 = getelementptr double, ptr %batch8.b, i64 6
  %v67 = load double, ptr %v66, align 8
  %v68 = insertelement <4 x double> poison, double %v67, i64 0
  %v69 = shufflevector <4 x double> %v68, <4 x double> poison, <4 x i32> zeroinitializer
  %v70 = fmul <4 x double> %v46, %v69
  %v71 = fmul <4 x double> %v48, %v69
  %v72 = getelementptr double, ptr %v1, i64 8
  %v73 = load <4 x double>, ptr %v72, align 8
  %v74 = getelementptr double, ptr %v1, i64 12
  %v75 = load <4 x double>, ptr %v74, align 8
  %v76 = getelementptr double, ptr %batch8.b, i64 1
  %v77 = load double, ptr %v76, align 8
  %v78 = insertelement <4 x double> poison, double %v77, i64 0
  %v79 = shufflevector <4 x double> %v78, <4 x double> poison, <4 x i32> zeroinitializer
  %v80 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v73, <4 x double> %v79, <4 x double> %v52)
  %v81 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v75, <4 x double> %v79, <4 x double> %v53)
  %v82 = getelementptr double, ptr %batch8.b, i64 3
  %v83 = load double, ptr %v82, align 8
  %v84 = insertelement <4 x double> poison, double %v83, i64 0
  %v85 = shufflevector <4 x double> %v84, <4 x double> poison, <4 x i32> zeroinitializer
  %v86 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v73, <4 x double> %v85, <4 x double> %v58)
  %v87 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v75, <4 x double> %v85, <4 x double> %v59)
  %v88 = getelementptr double, ptr %batch8.b, i64 5
  %v89 = load double, ptr %v88, align 8
  %v90 = insertelement <4 x double> poison, double %v89, i64 0
  %v91 = shufflevector <4 x double> %v90, <4 x double> poison, <4 x i32> zeroinitializer
  %v92 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v73, <4 x double> %v91, <4 x double> %v64)
  %v93 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v75, <4 x double> %v91, <4 x double> %v65)
  %v94 = getelementptr double, ptr %batch8.b, i64 7
  %v95 = load double, ptr %v94, align 8
  %v96 = insertelement <4 x double> poison, double %v95, i64 0
  %v97 = shufflevector <4 x double> %v96, <4 x double> poison, <4 x i32> zeroinitializer
  %v98 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v73, <4 x double> %v97, <4 x double> %v70)
  %v99 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v75, <4 x double> %v97, <4 x double> %v71)
  %v100 = getelementptr double, ptr %batch8.c, i64 4
  %v101 = getelementptr double, ptr %batch8.c, i64 70
  %v102 = getelementptr double, ptr %batch8.c, i64 74
  %v103 = getelementptr double, ptr %batch8.c, i64 140
  %v104 = getelementptr double, ptr %batch8.c, i64 144
  %v105 = getelementptr double, ptr %batch8.c, i64 210
  %v106 = getelementptr double, ptr %batch8.c, i64 214
  %v107 = load <4 x double>, ptr %batch8.c, align 8
  %v108 = fadd <4 x double> %v80, %v107
  %v109 = load <4 x double>, ptr %v100, align 8
  %v110 = fadd <4 x double> %v81, %v109
  %v111 = load <4 x double>, ptr %v101, align 8
  %v112 = fadd <4 x double> %v86, %v111
  %v113 = load <4 x double>, ptr %v102, align 8
  %v114 = fadd <4 x double> %v87, %v113
  %v115 = load <4 x double>, ptr %v103, align 8
  %v116 = fadd <4 x double> %v92, %v115
  %v117 = load <4 x double>, ptr %v104, align 8
  %v118 = fadd <4 x double> %v93, %v117
  %v119 = load <4 x double>, ptr %v105, align 8
  %v120 = fadd <4 x double> %v98, %v119
  %v121 = load <4 x double>, ptr %v106, align 8
  %v122 = fadd <4 x double> %v99, %v121
  store <4 x double> %v108, ptr %batch8.c, align 8
  store <4 x double> %v110, ptr %v100, align 8
  store <4 x double> %v112, ptr %v101, align 8
  store <4 x double> %v114, ptr %v102, align 8
  store <4 x double> %v116, ptr %v103, align 8
  store <4 x double> %v118, ptr %v104, align 8
  store <4 x double> %v120, ptr %v105, align 8
  store <4 x double> %v122, ptr %v106, align 8
  %v123 = getelementptr double, ptr %batch8.b, i64 8
  %v124 = getelementptr double, ptr %batch8.c, i64 280
  br label %latch9
latch9:
  %v125 = add i64 %batch8.i, 1
  %v126 = getelementptr double, ptr %batch8.a, i64 16
  %v127 = getelementptr double, ptr %batch8.c, i64 8
  %v128 = icmp slt i64 %v125, 8
  br i1 %v128, label %batch8, label %done10
done10:
  %v129 = getelementptr double, ptr %batch3.a, i64 128
  %v130 = getelementptr double, ptr %batch3.c, i64 64
  %v131 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v129, i32 8, <4 x i1> <i1 1, i1 1, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v132 = getelementptr double, ptr %v129, i64 2
  %v133 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v132, i32 8, <4 x i1> <i1 1, i1 1, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v134 = getelementptr double, ptr %v129, i64 4
  %v135 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v134, i32 8, <4 x i1> <i1 1, i1 1, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v136 = getelementptr double, ptr %v129, i64 6
  %v137 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v136, i32 8, <4 x i1> <i1 1, i1 1, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v138 = shufflevector <4 x double> %v131, <4 x double> %v133, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v139 = shufflevector <4 x double> %v131, <4 x double> %v133, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v140 = shufflevector <4 x double> %v135, <4 x double> %v137, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v141 = shufflevector <4 x double> %v135, <4 x double> %v137, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v142 = shufflevector <4 x double> %v138, <4 x double> %v140, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %v143 = shufflevector <4 x double> %v138, <4 x double> %v140, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  %v144 = shufflevector <4 x double> %v139, <4 x double> %v141, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %v145 = shufflevector <4 x double> %v139, <4 x double> %v141, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  store <4 x double> %v142, ptr %v1, align 8
  %v146 = getelementptr double, ptr %v1, i64 8
  store <4 x double> %v144, ptr %v146, align 8
  %v147 = getelementptr double, ptr %v129, i64 8
  %v148 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v147, i32 8, <4 x i1> <i1 1, i1 1, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v149 = getelementptr double, ptr %v129, i64 10
  %v150 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v149, i32 8, <4 x i1> <i1 1, i1 1, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v151 = shufflevector <4 x double> %v148, <4 x double> %v150, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v152 = shufflevector <4 x double> %v148, <4 x double> %v150, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v153 = shufflevector <4 x double> poison, <4 x double> poison, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v154 = shufflevector <4 x double> poison, <4 x double> poison, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v155 = shufflevector <4 x double> %v151, <4 x double> %v153, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %v156 = shufflevector <4 x double> %v151, <4 x double> %v153, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  %v157 = shufflevector <4 x double> %v152, <4 x double> %v154, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %v158 = shufflevector <4 x double> %v152, <4 x double> %v154, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  %v159 = getelementptr double, ptr %v1, i64 4
  store <4 x double> %v155, ptr %v159, align 8
  %v160 = getelementptr double, ptr %v1, i64 12
  store <4 x double> %v157, ptr %v160, align 8
  %v161 = load <4 x double>, ptr %v1, align 8
  %v162 = getelementptr double, ptr %v1, i64 4
  %v163 = load <2 x double>, ptr %v162, align 8
  %v164 = load double, ptr %batch3.b, align 8
  %v165 = insertelement <4 x double> poison, double %v164, i64 0
  %v166 = shufflevector <4 x double> %v165, <4 x double> poison, <4 x i32> zeroinitializer
  %v167 = insertelement <2 x double> poison, double %v164, i64 0
  %v168 = shufflevector <2 x double> %v167, <2 x double> poison, <2 x i32> zeroinitializer
  %v169 = fmul <4 x double> %v161, %v166
  %v170 = fmul <2 x double> %v163, %v168
  %v171 = getelementptr double, ptr %batch3.b, i64 2
  %v172 = load double, ptr %v171, align 8
  %v173 = insertelement <4 x double> poison, double %v172, i64 0
  %v174 = shufflevector <4 x double> %v173, <4 x double> poison, <4 x i32> zeroinitializer
  %v175 = insertelement <2 x double> poison, double %v172, i64 0
  %v176 = shufflevector <2 x double> %v175, <2 x double> poison, <2 x i32> zeroinitializer
  %v177 = fmul <4 x double> %v161, %v174
  %v178 = fmul <2 x double> %v163, %v176
  %v179 = getelementptr double, ptr %batch3.b, i64 4
  %v180 = load double, ptr %v179, align 8
  %v181 = insertelement <4 x double> poison, double %v180, i64 0
  %v182 = shufflevector <4 x double> %v181, <4 x double> poison, <4 x i32> zeroinitializer
  %v183 = insertelement <2 x double> poison, double %v180, i64 0
  %v184 = shufflevector <2 x double> %v183, <2 x double> poison, <2 x i32> zeroinitializer
  %v185 = fmul <4 x double> %v161, %v182
  %v186 = fmul <2 x double> %v163, %v184
  %v187 = getelementptr double, ptr %batch3.b, i64 6
  %v188 = load double, ptr %v187, align 8
  %v189 = insertelement <4 x double> poison, double %v188, i64 0
  %v190 = shufflevector <4 x double> %v189, <4 x double> poison, <4 x i32> zeroinitializer
  %v191 = insertelement <2 x double> poison, double %v188, i64 0
  %v192 = shufflevector <2 x double> %v191, <2 x double> poison, <2 x i32> zeroinitializer
  %v193 = fmul <4 x double> %v161, %v190
  %v194 = fmul <2 x double> %v163, %v192
  %v195 = getelementptr double, ptr %v1, i64 8
  %v196 = load <4 x double>, ptr %v195, align 8
  %v197 = getelementptr double, ptr %v1, i64 12
  %v198 = load <2 x double>, ptr %v197, align 8
  %v199 = getelementptr double, ptr %batch3.b, i64 1
  %v200 = load double, ptr %v199, align 8
  %v201 = insertelement <4 x double> poison, double %v200, i64 0
  %v202 = shufflevector <4 x double> %v201, <4 x double> poison, <4 x i32> zeroinitializer
  %v203 = insertelement <2 x double> poison, double %v200, i64 0
  %v204 = shufflevector <2 x double> %v203, <2 x double> poison, <2 x i32> zeroinitializer
  %v205 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v196, <4 x double> %v202, <4 x double> %v169)
  %v206 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v198, <2 x double> %v204, <2 x double> %v170)
  %v207 = getelementptr double, ptr %batch3.b, i64 3
  %v208 = load double, ptr %v207, align 8
  %v209 = insertelement <4 x double> poison, double %v208, i64 0
  %v210 = shufflevector <4 x double> %v209, <4 x double> poison, <4 x i32> zeroinitializer
  %v211 = insertelement <2 x double> poison, double %v208, i64 0
  %v212 = shufflevector <2 x double> %v211, <2 x double> poison, <2 x i32> zeroinitializer
  %v213 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v196, <4 x double> %v210, <4 x double> %v177)
  %v214 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v198, <2 x double> %v212, <2 x double> %v178)
  %v215 = getelementptr double, ptr %batch3.b, i64 5
  %v216 = load double, ptr %v215, align 8
  %v217 = insertelement <4 x double> poison, double %v216, i64 0
  %v218 = shufflevector <4 x double> %v217, <4 x double> poison, <4 x i32> zeroinitializer
  %v219 = insertelement <2 x double> poison, double %v216, i64 0
  %v220 = shufflevector <2 x double> %v219, <2 x double> poison, <2 x i32> zeroinitializer
  %v221 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v196, <4 x double> %v218, <4 x double> %v185)
  %v222 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v198, <2 x double> %v220, <2 x double> %v186)
  %v223 = getelementptr double, ptr %batch3.b, i64 7
  %v224 = load double, ptr %v223, align 8
  %v225 = insertelement <4 x double> poison, double %v224, i64 0
  %v226 = shufflevector <4 x double> %v225, <4 x double> poison, <4 x i32> zeroinitializer
  %v227 = insertelement <2 x double> poison, double %v224, i64 0
  %v228 = shufflevector <2 x double> %v227, <2 x double> poison, <2 x i32> zeroinitializer
  %v229 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v196, <4 x double> %v226, <4 x double> %v193)
  %v230 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v198, <2 x double> %v228, <2 x double> %v194)
  %v231 = getelementptr double, ptr %v130, i64 4
  %v232 = getelementptr double, ptr %v130, i64 70
  %v233 = getelementptr double, ptr %v130, i64 74
  %v234 = getelementptr double, ptr %v130, i64 140
  %v235 = getelementptr double, ptr %v130, i64 144
  %v236 = getelementptr double, ptr %v130, i64 210
  %v237 = getelementptr double, ptr %v130, i64 214
  %v238 = load <4 x double>, ptr %v130, align 8
  %v239 = fadd <4 x double> %v205, %v238
  %v240 = load <2 x double>, ptr %v231, align 8
  %v241 = fadd <2 x double> %v206, %v240
  %v242 = load <4 x double>, ptr %v232, align 8
  %v243 = fadd <4 x double> %v213, %v242
  %v244 = load <2 x double>, ptr %v233, align 8
  %v245 = fadd <2 x double> %v214, %v244
  %v246 = load <4 x double>, ptr %v234, align 8
  %v247 = fadd <4 x double> %v221, %v246
  %v248 = load <2 x double>, ptr %v235, align 8
  %v249 = fadd <2 x double> %v222, %v248
  %v250 = load <4 x double>, ptr %v236, align 8
  %v251 = fadd <4 x double> %v229, %v250
  %v252 = load <2 x double>, ptr %v237, align 8
  %v253 = fadd <2 x double> %v230, %v252
  store <4 x double> %v239, ptr %v130, align 8
  store <2 x double> %v241, ptr %v231, align 8
  store <4 x double> %v243, ptr %v232, align 8
  store <2 x double> %v245, ptr %v233, align 8
  store <4 x double> %v247, ptr %v234, align 8
  store <2 x double> %v249, ptr %v235, align 8
  store <4 x double> %v251, ptr %v236, align 8
  store <2 x double> %v253, ptr %v237, align 8
  %v254 = getelementptr double, ptr %batch3.b, i64 8
  %v255 = getelementptr double, ptr %v130, i64 280
  %v256 = getelementptr double, ptr %v129, i64 12
  %v257 = getelementptr double, ptr %v130, i64 6
  %v258 = getelementptr double, ptr %batch3.a, i64 2
  %v259 = getelementptr double, ptr %batch3.b, i64 2
  br label %latch4
latch4:
  %v260 = add i64 %batch3.i, 1
  %v261 = getelementptr double, ptr %batch3.a, i64 %sa
  %v262 = getelementptr double, ptr %batch3.b, i64 %sb
  %v263 = getelementptr double, ptr %batch3.c, i64 %sc
  %v264 = icmp slt i64 %v260, %count
  br i1 %v264, label %batch3, label %done5
done5:
  ret void
}

declare <2 x double> @llvm.fma.v2f64(<2 x double>, <2 x double>, <2 x double>)
declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)
declare <4 x double> @llvm.masked.load.v4f64.p0(ptr, i32, <4 x i1>, <4 x double>)

!0 = !{i32 1}
