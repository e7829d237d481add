; d:nn:8x8x8|packed|alpha=1|beta=1|ieee haswell
; vector_bits=256 tail=mask store=plain cmul=none blk_m=2 blk_n=4 blk_k=4 inner=column reg_a=2 reg_b=1 order=nm roll=0 prefetch=2 level=1 spread=1
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v309, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v310, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v311, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v312, %latch3 ]
  %v6 = mul i64 %sa, 2
  %v7 = getelementptr double, ptr %batch2.a, i64 %v6
  %v8 = mul i64 %sb, 2
  %v9 = getelementptr double, ptr %batch2.b, i64 %v8
  %v10 = mul i64 %sc, 2
  %v11 = getelementptr double, ptr %batch2.c, i64 %v10
  br label %head12
head12:
  br label %k13
k13:
  %k13.i = phi i64 [ 0, %head12 ], [ %v132, %k13 ]
  %k13.a = phi ptr [ %batch2.a, %head12 ], [ %v130, %k13 ]
  %k13.b = phi ptr [ %batch2.b, %head12 ], [ %v131, %k13 ]
  %k13.p = phi ptr [ %v7, %head12 ], [ %v127, %k13 ]
  %k13.p1 = phi ptr [ %v9, %head12 ], [ %v128, %k13 ]
  %k13.p2 = phi ptr [ %v11, %head12 ], [ %v129, %k13 ]
  %k13.s0 = phi <4 x double> [ zeroinitializer, %head12 ], [ %v104, %k13 ]
  %k13.s1 = phi <4 x double> [ zeroinitializer, %head12 ], [ %v105, %k13 ]
  %k13.s2 = phi <4 x double> [ zeroinitializer, %head12 ], [ %v110, %k13 ]
  %k13.s3 = phi <4 x double> [ zeroinitializer, %head12 ], [ %v111, %k13 ]
  %k13.s4 = phi <4 x double> [ zeroinitializer, %head12 ], [ %v116, %k13 ]
  %k13.s5 = phi <4 x double> [ zeroinitializer, %head12 ], [ %v117, %k13 ]
  %k13.s6 = phi <4 x double> [ zeroinitializer, %head12 ], [ %v122, %k13 ]
  %k13.s7 = phi <4 x double> [ zeroinitializer, %head12 ], [ %v123, %k13 ]
  %v14 = load <4 x double>, ptr %k13.a, align 8
  %v15 = getelementptr double, ptr %k13.a, i64 4
  %v16 = load <4 x double>, ptr %v15, align 8
  %v17 = load double, ptr %k13.b, align 8
  %v18 = insertelement <4 x double> poison, double %v17, i64 0
  %v19 = shufflevector <4 x double> %v18, <4 x double> poison, <4 x i32> zeroinitializer
  %v20 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v14, <4 x double> %v19, <4 x double> %k13.s0)
  %v21 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v16, <4 x double> %v19, <4 x double> %k13.s1)
  %v22 = getelementptr double, ptr %k13.b, i64 8
  %v23 = load double, ptr %v22, align 8
  %v24 = insertelement <4 x double> poison, double %v23, i64 0
  %v25 = shufflevector <4 x double> %v24, <4 x double> poison, <4 x i32> zeroinitializer
  %v26 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v14, <4 x double> %v25, <4 x double> %k13.s2)
  %v27 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v16, <4 x double> %v25, <4 x double> %k13.s3)
  %v28 = getelementptr double, ptr %k13.b, i64 16
  %v29 = load double, ptr %v28, align 8
  %v30 = insertelement <4 x double> poison, double %v29, i64 0
  %v31 = shufflevector <4 x double> %v30, <4 x double> poison, <4 x i32> zeroinitializer
  %v32 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v14, <4 x double> %v31, <4 x double> %k13.s4)
  %v33 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v16, <4 x double> %v31, <4 x double> %k13.s5)
  %v34 = getelementptr double, ptr %k13.b, i64 24
  %v35 = load double, ptr %v34, align 8
  %v36 = insertelement <4 x double> poison, double %v35, i64 0
  %v37 = shufflevector <4 x double> %v36, <4 x double> poison, <4 x i32> zeroinitializer
  %v38 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v14, <4 x double> %v37, <4 x double> %k13.s6)
  %v39 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v16, <4 x double> %v37, <4 x double> %k13.s7)
  %v40 = getelementptr double, ptr %k13.a, i64 8
  %v41 = load <4 x double>, ptr %v40, align 8
  %v42 = getelementptr double, ptr %k13.a, i64 12
  %v43 = load <4 x double>, ptr %v42, align 8
  %v44 = getelementptr double, ptr %k13.b, i64 1
  %v45 = load double, ptr %v44, align 8
  %v46 = insertelement <4 x double> poison, double %v45, i64 0
  %v47 = shufflevector <4 x double> %v46, <4 x double> poison, <4 x i32> zeroinitializer
  %v48 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v41, <4 x double> %v47, <4 x double> %v20)
  %v49 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v43, <4 x double> %v47, <4 x double> %v21)
  %v50 = getelementptr double, ptr %k13.b, i64 9
  %v51 = load double, ptr %v50, align 8
  %v52 = insertelement <4 x double> poison, double %v51, i64 0
  %v53 = shufflevector <4 x double> %v52, <4 x double> poison, <4 x i32> zeroinitializer
  %v54 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v41, <4 x double> %v53, <4 x double> %v26)
  %v55 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v43, <4 x double> %v53, <4 x double> %v27)
  %v56 = getelementptr double, ptr %k13.b, i64 17
  %v57 = load double, ptr %v56, align 8
  %v58 = insertelement <4 x double> poison, double %v57, i64 0
  %v59 = shufflevector <4 x double> %v58, <4 x double> poison, <4 x i32> zeroinitializer
  %v60 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v41, <4 x double> %v59, <4 x double> %v32)
  %v61 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v43, <4 x double> %v59, <4 x double> %v33)
  %v62 = getelementptr double, ptr %k13.b, i64 25
  %v63 = load double, ptr %v62, align 8
  %v64 = insertelement <4 x double> poison, double %v63, i64 0
  %v65 = shufflevector <4 x double> %v64, <4 x double> poison, <4 x i32> zeroinitializer
  %v66 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v41, <4 x double> %v65, <4 x double> %v38)
  %v67 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v43, <4 x double> %v65, <4 x double> %v39)
  call void @llvm.prefetch.p0(ptr %k13.p, i32 0, i32 3, i32 1)
  call void @llvm.prefetch.p0(ptr %k13.p1, i32 0, i32 3, i32 1)
  call void @llvm.prefetch.p0(ptr %k13.p2, i32 1, i32 3, i32 1)
  %v68 = getelementptr double, ptr %k13.a, i64 16
  %v69 = load <4 x double>, ptr %v68, align 8
  %v70 = getelementptr double, ptr %k13.a, i64 20
  %v71 = load <4 x double>, ptr %v70, align 8
  %v72 = getelementptr double, ptr %k13.b, i64 2
  %v73 = load double, ptr %v72, align 8
  %v74 = insertelement <4 x double> poison, double %v73, i64 0
  %v75 = shufflevector <4 x double> %v74, <4 x double> poison, <4 x i32> zeroinitializer
  %v76 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v69, <4 x double> %v75, <4 x double> %v48)
  %v77 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v71, <4 x double> %v75, <4 x double> %v49)
  %v78 = getelementptr double, ptr %k13.b, i64 10
  %v79 = load double, ptr %v78, align 8
  %v80 = insertelement <4 x double> poison, double %v79, i64 0
  %v81 = shufflevector <4 x double> %v80, <4 x double> poison, <4 x i32> zeroinitializer
  %v82 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v69, <4 x double> %v81, <4 x double> %v54)
  %v83 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v71, <4 x double> %v81, <4 x double> %v55)
  %v84 = getelementptr double, ptr %k13.b, i64 18
  %v85 = load double, ptr %v84, align 8
  %v86 = insertelement <4 x double> poison, double %v85, i64 0
  %v87 = shufflevector <4 x double> %v86, <4 x double> poison, <4 x i32> zeroinitializer
  %v88 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v69, <4 x double> %v87, <4 x double> %v60)
  %v89 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v71, <4 x double> %v87, <4 x double> %v61)
  %v90 = getelementptr double, ptr %k13.b, i64 26
  %v91 = load double, ptr %v90, align 8
  %v92 = insertelement <4 x double> poison, double %v91, i64 0
  %v93 = shufflevector <4 x double> %v92, <4 x double> poison, <4 x i32> zeroinitializer
  %v94 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v69, <4 x double> %v93, <4 x double> %v66)
  %v95 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v71, <4 x double> %v93, <4 x double> %v67)
  %v96 = getelementptr double, ptr %k13.a, i64 24
  %v97 = load <4 x double>, ptr %v96, align 8
  %v98 = getelementptr double, ptr %k13.a, i64 28
  %v99 = load <4 x double>, ptr %v98, align 8
  %v100 = getelementptr double, ptr %k13.b, i64 3
  %v101 = load double, ptr %v100, align 8
  %v102 = insertelement <4 x double> poison, double %v101, i64 0
  %v103 = shufflevector <4 x double> %v102, <4 x double> poison, <4 x i32> zeroinitializer
  %v104 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v97, <4 x double> %v103, <4 x double> %v76)
  %v105 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v99, <4 x double> %v103, <4 x double> %v77)
  %v106 = getelementptr double, ptr %k13.b, i64 11
  %v107 = load double, ptr %v106, align 8
  %v108 = insertelement <4 x double> poison, double %v107, i64 0
  %v109 = shufflevector <4 x double> %v108, <4 x double> poison, <4 x i32> zeroinitializer
  %v110 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v97, <4 x double> %v109, <4 x double> %v82)
  %v111 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v99, <4 x double> %v109, <4 x double> %v83)
  %v112 = getelementptr double, ptr %k13.b, i64 19
  %v113 = load double, ptr %v112, align 8
  %v114 = insertelement <4 x double> poison, double %v113, i64 0
  %v115 = shufflevector <4 x double> %v114, <4 x double> poison, <4 x i32> zeroinitializer
  %v116 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v97, <4 x double> %v115, <4 x double> %v88)
  %v117 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v99, <4 x double> %v115, <4 x double> %v89)
  %v118 = getelementptr double, ptr %k13.b, i64 27
  %v119 = load double, ptr %v118, align 8
  %v120 = insertelement <4 x double> poison, double %v119, i64 0
  %v121 = shufflevector <4 x double> %v120, <4 x double> poison, <4 x i32> zeroinitializer
  %v122 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v97, <4 x double> %v121, <4 x double> %v94)
  %v123 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v99, <4 x double> %v121, <4 x double> %v95)
  %v124 = getelementptr double, ptr %k13.p, i64 8
  call void @llvm.prefetch.p0(ptr %v124, i32 0, i32 3, i32 1)
  %v125 = getelementptr double, ptr %k13.p1, i64 8
  call void @llvm.prefetch.p0(ptr %v125, i32 0, i32 3, i32 1)
  %v126 = getelementptr double, ptr %k13.p2, i64 8
  call void @llvm.prefetch.p0(ptr %v126, i32 1, i32 3, i32 1)
  %v127 = getelementptr double, ptr %k13.p, i64 16
  %v128 = getelementptr double, ptr %k13.p1, i64 16
  %v129 = getelementptr double, ptr %k13.p2, i64 16
  %v130 = getelementptr double, ptr %k13.a, i64 32
  %v131 = getelementptr double, ptr %k13.b, i64 4
  %v132 = add i64 %k13.i, 4
  %v133 = icmp slt i64 %v132, 8
  br i1 %v133, label %k13, label %tail134
tail134:
  %v135 = getelementptr double, ptr %batch2.c, i64 4
  %v136 = getelementptr double, ptr %batch2.c, i64 8
  %v137 = getelementptr double, ptr %batch2.c, i64 12
  %v138 = getelementptr double, ptr %batch2.c, i64 16
  %v139 = getelementptr double, ptr %batch2.c, i64 20
  %v140 = getelementptr double, ptr %batch2.c, i64 24
  %v141 = getelementptr double, ptr %batch2.c, i64 28
  %v142 = load <4 x double>, ptr %batch2.c, align 8
  %v143 = fadd <4 x double> %v104, %v142
  %v144 = load <4 x double>, ptr %v135, align 8
  %v145 = fadd <4 x double> %v105, %v144
  %v146 = load <4 x double>, ptr %v136, align 8
  %v147 = fadd <4 x double> %v110, %v146
  %v148 = load <4 x double>, ptr %v137, align 8
  %v149 = fadd <4 x double> %v111, %v148
  %v150 = load <4 x double>, ptr %v138, align 8
  %v151 = fadd <4 x double> %v116, %v150
  %v152 = load <4 x double>, ptr %v139, align 8
  %v153 = fadd <4 x double> %v117, %v152
  %v154 = load <4 x double>, ptr %v140, align 8
  %v155 = fadd <4 x double> %v122, %v154
  %v156 = load <4 x double>, ptr %v141, align 8
  %v157 = fadd <4 x double> %v123, %v156
  store <4 x double> %v143, ptr %batch2.c, align 8
  store <4 x double> %v145, ptr %v135, align 8
  store <4 x double> %v147, ptr %v136, align 8
  store <4 x double> %v149, ptr %v137, align 8
  store <4 x double> %v151, ptr %v138, align 8
  store <4 x double> %v153, ptr %v139, align 8
  store <4 x double> %v155, ptr %v140, align 8
  store <4 x double> %v157, ptr %v141, align 8
  %v158 = getelementptr double, ptr %batch2.b, i64 32
  %v159 = getelementptr double, ptr %batch2.c, i64 32
  %v160 = getelementptr double, ptr %v7, i64 32
  %v161 = getelementptr double, ptr %v9, i64 32
  %v162 = getelementptr double, ptr %v11, i64 32
  br label %head163
head163:
  br label %k164
k164:
  %k164.i = phi i64 [ 0, %head163 ], [ %v283, %k164 ]
  %k164.a = phi ptr [ %batch2.a, %head163 ], [ %v281, %k164 ]
  %k164.b = phi ptr [ %v158, %head163 ], [ %v282, %k164 ]
  %k164.p = phi ptr [ %v160, %head163 ], [ %v278, %k164 ]
  %k164.p1 = phi ptr [ %v161, %head163 ], [ %v279, %k164 ]
  %k164.p2 = phi ptr [ %v162, %head163 ], [ %v280, %k164 ]
  %k164.s0 = phi <4 x double> [ zeroinitializer, %head163 ], [ %v255, %k164 ]
  %k164.s1 = phi <4 x double> [ zeroinitializer, %head163 ], [ %v256, %k164 ]
  %k164.s2 = phi <4 x double> [ zeroinitializer, %head163 ], [ %v261, %k164 ]
  %k164.s3 = phi <4 x double> [ zeroinitializer, %head163 ], [ %v262, %k164 ]
  %k164.s4 = phi <4 x double> [ zeroinitializer, %head163 ], [ %v267, %k164 ]
  %k164.s5 = phi <4 x double> [ zeroinitializer, %head163 ], [ %v268, %k164 ]
  %k164.s6 = phi <4 x double> [ zeroinitializer, %head163 ], [ %v273, %k164 ]
  %k164.s7 = phi <4 x double> [ zeroinitializer, %head163 ], [ %v274, %k164 ]
  %v165 = load <4 x double>, ptr %k164.a, align 8
  %v166 = getelementptr double, ptr %k164.a, i64 4
  %v167 = load <4 x double>, ptr %v166, align 8
  %v168 = load double, ptr %k164.b, align 8
  %v169 = insertelement <4 x double> poison, double %v168, i64 0
  %v170 = shufflevector <4 x double> %v169, <4 x double> poison, <4 x i32> zeroinitializer
  %v171 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v165, <4 x double> %v170, <4 x double> %k164.s0)
  %v172 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v167, <4 x double> %v170, <4 x double> %k164.s1)
  %v173 = getelementptr double, ptr %k164.b, i64 8
  %v174 = load double, ptr %v173, align 8
  %v175 = insertelement <4 x double> poison, double %v174, i64 0
  %v176 = shufflevector <4 x double> %v175, <4 x double> poison, <4 x i32> zeroinitializer
  %v177 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v165, <4 x double> %v176, <4 x double> %k164.s2)
  %v178 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v167, <4 x double> %v176, <4 x double> %k164.s3)
  %v179 = getelementptr double, ptr %k164.b, i64 16
  %v180 = load double, ptr %v179, align 8
  %v181 = insertelement <4 x double> poison, double %v180, i64 0
  %v182 = shufflevector <4 x double> %v181, <4 x double> poison, <4 x i32> zeroinitializer
  %v183 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v165, <4 x double> %v182, <4 x double> %k164.s4)
  %v184 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v167, <4 x double> %v182, <4 x double> %k164.s5)
  %v185 = getelementptr double, ptr %k164.b, i64 24
  %v186 = load double, ptr %v185, align 8
  %v187 = insertelement <4 x double> poison, double %v186, i64 0
  %v188 = shufflevector <4 x double> %v187, <4 x double> poison, <4 x i32> zeroinitializer
  %v189 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v165, <4 x double> %v188, <4 x double> %k164.s6)
  %v190 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v167, <4 x double> %v188, <4 x double> %k164.s7)
  %v191 = getelementptr double, ptr %k164.a, i64 8
  %v192 = load <4 x double>, ptr %v191, align 8
  %v193 = getelementptr double, ptr %k164.a, i64 12
  %v194 = load <4 x double>, ptr %v193, align 8
  %v195 = getelementptr double, ptr %k164.b, i64 1
  %v196 = load double, ptr %v195, align 8
  %v197 = insertelement <4 x double> poison, double %v196, i64 0
  %v198 = shufflevector <4 x double> %v197, <4 x double> poison, <4 x i32> zeroinitializer
  %v199 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v192, <4 x double> %v198, <4 x double> %v171)
  %v200 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v194, <4 x double> %v198, <4 x double> %v172)
  %v201 = getelementptr double, ptr %k164.b, i64 9
  %v202 = load double, ptr %v201, align 8
  %v203 = insertelement <4 x double> poison, double %v202, i64 0
  %v204 = shufflevector <4 x double> %v203, <4 x double> poison, <4 x i32> zeroinitializer
  %v205 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v192, <4 x double> %v204, <4 x double> %v177)
  %v206 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v194, <4 x double> %v204, <4 x double> %v178)
  %v207 = getelementptr double, ptr %k164.b, i64 17
  %v208 = load double, ptr %v207, align 8
  %v209 = insertelement <4 x double> poison, double %v208, i64 0
  %v210 = shufflevector <4 x double> %v209, <4 x double> poison, <4 x i32> zeroinitializer
  %v211 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v192, <4 x double> %v210, <4 x double> %v183)
  %v212 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v194, <4 x double> %v210, <4 x double> %v184)
  %v213 = getelementptr double, ptr %k164.b, i64 25
  %v214 = load double, ptr %v213, align 8
  %v215 = insertelement <4 x double> poison, double %v214, i64 0
  %v216 = shufflevector <4 x double> %v215, <4 x double> poison, <4 x i32> zeroinitializer
  %v217 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v192, <4 x double> %v216, <4 x double> %v189)
  %v218 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v194, <4 x double> %v216, <4 x double> %v190)
  call void @llvm.prefetch.p0(ptr %k164.p, i32 0, i32 3, i32 1)
  call void @llvm.prefetch.p0(ptr %k164.p1, i32 0, i32 3, i32 1)
  call void @llvm.prefetch.p0(ptr %k164.p2, i32 1, i32 3, i32 1)
  %v219 = getelementptr double, ptr %k164.a, i64 16
  %v220 = load <4 x double>, ptr %v219, align 8
  %v221 = getelementptr double, ptr %k164.a, i64 20
  %v222 = load <4 x double>, ptr %v221, align 8
  %v223 = getelementptr double, ptr %k164.b, i64 2
  %v224 = load double, ptr %v223, align 8
  %v225 = insertelement <4 x double> poison, double %v224, i64 0
  %v226 = shufflevector <4 x double> %v225, <4 x double> poison, <4 x i32> zeroinitializer
  %v227 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v220, <4 x double> %v226, <4 x double> %v199)
  %v228 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v222, <4 x double> %v226, <4 x double> %v200)
  %v229 = getelementptr double, ptr %k164.b, i64 10
  %v230 = load double, ptr %v229, align 8
  %v231 = insertelement <4 x double> poison, double %v230, i64 0
  %v232 = shufflevector <4 x double> %v231, <4 x double> poison, <4 x i32> zeroinitializer
  %v233 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v220, <4 x double> %v232, <4 x double> %v205)
  %v234 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v222, <4 x double> %v232, <4 x double> %v206)
  %v235 = getelementptr double, ptr %k164.b, i64 18
  %v236 = load double, ptr %v235, align 8
  %v237 = insertelement <4 x double> poison, double %v236, i64 0
  %v238 = shufflevector <4 x double> %v237, <4 x double> poison, <4 x i32> zeroinitializer
  %v239 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v220, <4 x double> %v238, <4 x double> %v211)
  %v240 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v222, <4 x double> %v238, <4 x double> %v212)
  %v241 = getelementptr double, ptr %k164.b, i64 26
  %v242 = load double, ptr %v241, align 8
  %v243 = insertelement <4 x double> poison, double %v242, i64 0
  %v244 = shufflevector <4 x double> %v243, <4 x double> poison, <4 x i32> zeroinitializer
  %v245 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v220, <4 x double> %v244, <4 x double> %v217)
  %v246 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v222, <4 x double> %v244, <4 x double> %v218)
  %v247 = getelementptr double, ptr %k164.a, i64 24
  %v248 = load <4 x double>, ptr %v247, align 8
  %v249 = getelementptr double, ptr %k164.a, i64 28
  %v250 = load <4 x double>, ptr %v249, align 8
  %v251 = getelementptr double, ptr %k164.b, i64 3
  %v252 = load double, ptr %v251, align 8
  %v253 = insertelement <4 x double> poison, double %v252, i64 0
  %v254 = shufflevector <4 x double> %v253, <4 x double> poison, <4 x i32> zeroinitializer
  %v255 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v248, <4 x double> %v254, <4 x double> %v227)
  %v256 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v250, <4 x double> %v254, <4 x double> %v228)
  %v257 = getelementptr double, ptr %k164.b, i64 11
  %v258 = load double, ptr %v257, align 8
  %v259 = insertelement <4 x double> poison, double %v258, i64 0
  %v260 = shufflevector <4 x double> %v259, <4 x double> poison, <4 x i32> zeroinitializer
  %v261 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v248, <4 x double> %v260, <4 x double> %v233)
  %v262 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v250, <4 x double> %v260, <4 x double> %v234)
  %v263 = getelementptr double, ptr %k164.b, i64 19
  %v264 = load double, ptr %v263, align 8
  %v265 = insertelement <4 x double> poison, double %v264, i64 0
  %v266 = shufflevector <4 x double> %v265, <4 x double> poison, <4 x i32> zeroinitializer
  %v267 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v248, <4 x double> %v266, <4 x double> %v239)
  %v268 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v250, <4 x double> %v266, <4 x double> %v240)
  %v269 = getelementptr double, ptr %k164.b, i64 27
  %v270 = load double, ptr %v269, align 8
  %v271 = insertelement <4 x double> poison, double %v270, i64 0
  %v272 = shufflevector <4 x double> %v271, <4 x double> poison, <4 x i32> zeroinitializer
  %v273 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v248, <4 x double> %v272, <4 x double> %v245)
  %v274 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v250, <4 x double> %v272, <4 x double> %v246)
  %v275 = getelementptr double, ptr %k164.p, i64 8
  call void @llvm.prefetch.p0(ptr %v275, i32 0, i32 3, i32 1)
  %v276 = getelementptr double, ptr %k164.p1, i64 8
  call void @llvm.prefetch.p0(ptr %v276, i32 0, i32 3, i32 1)
  %v277 = getelementptr double, ptr %k164.p2, i64 8
  call void @llvm.prefetch.p0(ptr %v277, i32 1, i32 3, i32 1)
  %v278 = getelementptr double, ptr %k164.p, i64 16
  %v279 = getelementptr double, ptr %k164.p1, i64 16
  %v280 = getelementptr double, ptr %k164.p2, i64 16
  %v281 = getelementptr double, ptr %k164.a, i64 32
  %v282 = getelementptr double, ptr %k164.b, i64 4
  %v283 = add i64 %k164.i, 4
  %v284 = icmp slt i64 %v283, 8
  br i1 %v284, label %k164, label %tail285
tail285:
  %v286 = getelementptr double, ptr %v159, i64 4
  %v287 = getelementptr double, ptr %v159, i64 8
  %v288 = getelementptr double, ptr %v159, i64 12
  %v289 = getelementptr double, ptr %v159, i64 16
  %v290 = getelementptr double, ptr %v159, i64 20
  %v291 = getelementptr double, ptr %v159, i64 24
  %v292 = getelementptr double, ptr %v159, i64 28
  %v293 = load <4 x double>, ptr %v159, align 8
  %v294 = fadd <4 x double> %v255, %v293
  %v295 = load <4 x double>, ptr %v286, align 8
  %v296 = fadd <4 x double> %v256, %v295
  %v297 = load <4 x double>, ptr %v287, align 8
  %v298 = fadd <4 x double> %v261, %v297
  %v299 = load <4 x double>, ptr %v288, align 8
  %v300 = fadd <4 x double> %v262, %v299
  %v301 = load <4 x double>, ptr %v289, align 8
  %v302 = fadd <4 x double> %v267, %v301
  %v303 = load <4 x double>, ptr %v290, align 8
  %v304 = fadd <4 x double> %v268, %v303
  %v305 = load <4 x double>, ptr %v291, align 8
  %v306 = fadd <4 x double> %v273, %v305
  %v307 = load <4 x double>, ptr %v292, align 8
  %v308 = fadd <4 x double> %v274, %v307
  store <4 x double> %v294, ptr %v159, align 8
  store <4 x double> %v296, ptr %v286, align 8
  store <4 x double> %v298, ptr %v287, align 8
  store <4 x double> %v300, ptr %v288, align 8
  store <4 x double> %v302, ptr %v289, align 8
  store <4 x double> %v304, ptr %v290, align 8
  store <4 x double> %v306, ptr %v291, align 8
  store <4 x double> %v308, ptr %v292, align 8
  br label %latch3
latch3:
  %v309 = add i64 %batch2.i, 1
  %v310 = getelementptr double, ptr %batch2.a, i64 %sa
  %v311 = getelementptr double, ptr %batch2.b, i64 %sb
  %v312 = getelementptr double, ptr %batch2.c, i64 %sc
  %v313 = icmp slt i64 %v309, %count
  br i1 %v313, label %batch2, label %done4
done4:
  ret void
}

declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)

!0 = !{i32 1}
