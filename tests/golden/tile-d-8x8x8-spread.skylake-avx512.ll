; d:nn:8x8x8|packed|alpha=1|beta=1|ieee skylake-avx512
; vector_bits=512 tail=mask store=plain cmul=none blk_m=1 blk_n=8 blk_k=4 inner=column reg_a=1 reg_b=1 order=nm roll=0 prefetch=2 level=1 spread=1
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v220, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v221, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v222, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v223, %latch3 ]
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
  %k13.i = phi i64 [ 0, %head12 ], [ %v194, %k13 ]
  %k13.a = phi ptr [ %batch2.a, %head12 ], [ %v192, %k13 ]
  %k13.b = phi ptr [ %batch2.b, %head12 ], [ %v193, %k13 ]
  %k13.p = phi ptr [ %v7, %head12 ], [ %v189, %k13 ]
  %k13.p1 = phi ptr [ %v9, %head12 ], [ %v190, %k13 ]
  %k13.p2 = phi ptr [ %v11, %head12 ], [ %v191, %k13 ]
  %k13.s0 = phi <8 x double> [ zeroinitializer, %head12 ], [ %v150, %k13 ]
  %k13.s1 = phi <8 x double> [ zeroinitializer, %head12 ], [ %v155, %k13 ]
  %k13.s2 = phi <8 x double> [ zeroinitializer, %head12 ], [ %v160, %k13 ]
  %k13.s3 = phi <8 x double> [ zeroinitializer, %head12 ], [ %v165, %k13 ]
  %k13.s4 = phi <8 x double> [ zeroinitializer, %head12 ], [ %v170, %k13 ]
  %k13.s5 = phi <8 x double> [ zeroinitializer, %head12 ], [ %v175, %k13 ]
  %k13.s6 = phi <8 x double> [ zeroinitializer, %head12 ], [ %v180, %k13 ]
  %k13.s7 = phi <8 x double> [ zeroinitializer, %head12 ], [ %v185, %k13 ]
  %v14 = load <8 x double>, ptr %k13.a, align 8
  %v15 = load double, ptr %k13.b, align 8
  %v16 = insertelement <8 x double> poison, double %v15, i64 0
  %v17 = shufflevector <8 x double> %v16, <8 x double> poison, <8 x i32> zeroinitializer
  %v18 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v14, <8 x double> %v17, <8 x double> %k13.s0)
  %v19 = getelementptr double, ptr %k13.b, i64 8
  %v20 = load double, ptr %v19, align 8
  %v21 = insertelement <8 x double> poison, double %v20, i64 0
  %v22 = shufflevector <8 x double> %v21, <8 x double> poison, <8 x i32> zeroinitializer
  %v23 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v14, <8 x double> %v22, <8 x double> %k13.s1)
  %v24 = getelementptr double, ptr %k13.b, i64 16
  %v25 = load double, ptr %v24, align 8
  %v26 = insertelement <8 x double> poison, double %v25, i64 0
  %v27 = shufflevector <8 x double> %v26, <8 x double> poison, <8 x i32> zeroinitializer
  %v28 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v14, <8 x double> %v27, <8 x double> %k13.s2)
  %v29 = getelementptr double, ptr %k13.b, i64 24
  %v30 = load double, ptr %v29, align 8
  %v31 = insertelement <8 x double> poison, double %v30, i64 0
  %v32 = shufflevector <8 x double> %v31, <8 x double> poison, <8 x i32> zeroinitializer
  %v33 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v14, <8 x double> %v32, <8 x double> %k13.s3)
  %v34 = getelementptr double, ptr %k13.b, i64 32
  %v35 = load double, ptr %v34, align 8
  %v36 = insertelement <8 x double> poison, double %v35, i64 0
  %v37 = shufflevector <8 x double> %v36, <8 x double> poison, <8 x i32> zeroinitializer
  %v38 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v14, <8 x double> %v37, <8 x double> %k13.s4)
  %v39 = getelementptr double, ptr %k13.b, i64 40
  %v40 = load double, ptr %v39, align 8
  %v41 = insertelement <8 x double> poison, double %v40, i64 0
  %v42 = shufflevector <8 x double> %v41, <8 x double> poison, <8 x i32> zeroinitializer
  %v43 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v14, <8 x double> %v42, <8 x double> %k13.s5)
  %v44 = getelementptr double, ptr %k13.b, i64 48
  %v45 = load double, ptr %v44, align 8
  %v46 = insertelement <8 x double> poison, double %v45, i64 0
  %v47 = shufflevector <8 x double> %v46, <8 x double> poison, <8 x i32> zeroinitializer
  %v48 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v14, <8 x double> %v47, <8 x double> %k13.s6)
  %v49 = getelementptr double, ptr %k13.b, i64 56
  %v50 = load double, ptr %v49, align 8
  %v51 = insertelement <8 x double> poison, double %v50, i64 0
  %v52 = shufflevector <8 x double> %v51, <8 x double> poison, <8 x i32> zeroinitializer
  %v53 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v14, <8 x double> %v52, <8 x double> %k13.s7)
  call void @llvm.prefetch.p0(ptr %k13.p, i32 0, i32 3, i32 1)
  call void @llvm.prefetch.p0(ptr %k13.p1, i32 0, i32 3, i32 1)
  call void @llvm.prefetch.p0(ptr %k13.p2, i32 1, i32 3, i32 1)
  %v54 = getelementptr double, ptr %k13.a, i64 8
  %v55 = load <8 x double>, ptr %v54, align 8
  %v56 = getelementptr double, ptr %k13.b, i64 1
  %v57 = load double, ptr %v56, align 8
  %v58 = insertelement <8 x double> poison, double %v57, i64 0
  %v59 = shufflevector <8 x double> %v58, <8 x double> poison, <8 x i32> zeroinitializer
  %v60 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v55, <8 x double> %v59, <8 x double> %v18)
  %v61 = getelementptr double, ptr %k13.b, i64 9
  %v62 = load double, ptr %v61, align 8
  %v63 = insertelement <8 x double> poison, double %v62, i64 0
  %v64 = shufflevector <8 x double> %v63, <8 x double> poison, <8 x i32> zeroinitializer
  %v65 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v55, <8 x double> %v64, <8 x double> %v23)
  %v66 = getelementptr double, ptr %k13.b, i64 17
  %v67 = load double, ptr %v66, align 8
  %v68 = insertelement <8 x double> poison, double %v67, i64 0
  %v69 = shufflevector <8 x double> %v68, <8 x double> poison, <8 x i32> zeroinitializer
  %v70 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v55, <8 x double> %v69, <8 x double> %v28)
  %v71 = getelementptr double, ptr %k13.b, i64 25
  %v72 = load double, ptr %v71, align 8
  %v73 = insertelement <8 x double> poison, double %v72, i64 0
  %v74 = shufflevector <8 x double> %v73, <8 x double> poison, <8 x i32> zeroinitializer
  %v75 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v55, <8 x double> %v74, <8 x double> %v33)
  %v76 = getelementptr double, ptr %k13.b, i64 33
  %v77 = load double, ptr %v76, align 8
  %v78 = insertelement <8 x double> poison, double %v77, i64 0
  %v79 = shufflevector <8 x double> %v78, <8 x double> poison, <8 x i32> zeroinitializer
  %v80 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v55, <8 x double> %v79, <8 x double> %v38)
  %v81 = getelementptr double, ptr %k13.b, i64 41
  %v82 = load double, ptr %v81, align 8
  %v83 = insertelement <8 x double> poison, double %v82, i64 0
  %v84 = shufflevector <8 x double> %v83, <8 x double> poison, <8 x i32> zeroinitializer
  %v85 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v55, <8 x double> %v84, <8 x double> %v43)
  %v86 = getelementptr double, ptr %k13.b, i64 49
  %v87 = load double, ptr %v86, align 8
  %v88 = insertelement <8 x double> poison, double %v87, i64 0
  %v89 = shufflevector <8 x double> %v88, <8 x double> poison, <8 x i32> zeroinitializer
  %v90 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v55, <8 x double> %v89, <8 x double> %v48)
  %v91 = getelementptr double, ptr %k13.b, i64 57
  %v92 = load double, ptr %v91, align 8
  %v93 = insertelement <8 x double> poison, double %v92, i64 0
  %v94 = shufflevector <8 x double> %v93, <8 x double> poison, <8 x i32> zeroinitializer
  %v95 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v55, <8 x double> %v94, <8 x double> %v53)
  %v96 = getelementptr double, ptr %k13.p, i64 8
  call void @llvm.prefetch.p0(ptr %v96, i32 0, i32 3, i32 1)
  %v97 = getelementptr double, ptr %k13.p1, i64 8
  call void @llvm.prefetch.p0(ptr %v97, i32 0, i32 3, i32 1)
  %v98 = getelementptr double, ptr %k13.p2, i64 8
  call void @llvm.prefetch.p0(ptr %v98, i32 1, i32 3, i32 1)
  %v99 = getelementptr double, ptr %k13.a, i64 16
  %v100 = load <8 x double>, ptr %v99, align 8
  %v101 = getelementptr double, ptr %k13.b, i64 2
  %v102 = load double, ptr %v101, align 8
  %v103 = insertelement <8 x double> poison, double %v102, i64 0
  %v104 = shufflevector <8 x double> %v103, <8 x double> poison, <8 x i32> zeroinitializer
  %v105 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v100, <8 x double> %v104, <8 x double> %v60)
  %v106 = getelementptr double, ptr %k13.b, i64 10
  %v107 = load double, ptr %v106, align 8
  %v108 = insertelement <8 x double> poison, double %v107, i64 0
  %v109 = shufflevector <8 x double> %v108, <8 x double> poison, <8 x i32> zeroinitializer
  %v110 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v100, <8 x double> %v109, <8 x double> %v65)
  %v111 = getelementptr double, ptr %k13.b, i64 18
  %v112 = load double, ptr %v111, align 8
  %v113 = insertelement <8 x double> poison, double %v112, i64 0
  %v114 = shufflevector <8 x double> %v113, <8 x double> poison, <8 x i32> zeroinitializer
  %v115 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v100, <8 x double> %v114, <8 x double> %v70)
  %v116 = getelementptr double, ptr %k13.b, i64 26
  %v117 = load double, ptr %v116, align 8
  %v118 = insertelement <8 x double> poison, double %v117, i64 0
  %v119 = shufflevector <8 x double> %v118, <8 x double> poison, <8 x i32> zeroinitializer
  %v120 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v100, <8 x double> %v119, <8 x double> %v75)
  %v121 = getelementptr double, ptr %k13.b, i64 34
  %v122 = load double, ptr %v121, align 8
  %v123 = insertelement <8 x double> poison, double %v122, i64 0
  %v124 = shufflevector <8 x double> %v123, <8 x double> poison, <8 x i32> zeroinitializer
  %v125 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v100, <8 x double> %v124, <8 x double> %v80)
  %v126 = getelementptr double, ptr %k13.b, i64 42
  %v127 = load double, ptr %v126, align 8
  %v128 = insertelement <8 x double> poison, double %v127, i64 0
  %v129 = shufflevector <8 x double> %v128, <8 x double> poison, <8 x i32> zeroinitializer
  %v130 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v100, <8 x double> %v129, <8 x double> %v85)
  %v131 = getelementptr double, ptr %k13.b, i64 50
  %v132 = load double, ptr %v131, align 8
  %v133 = insertelement <8 x double> poison, double %v132, i64 0
  %v134 = shufflevector <8 x double> %v133, <8 x double> poison, <8 x i32> zeroinitializer
  %v135 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v100, <8 x double> %v134, <8 x double> %v90)
  %v136 = getelementptr double, ptr %k13.b, i64 58
  %v137 = load double, ptr %v136, align 8
  %v138 = insertelement <8 x double> poison, double %v137, i64 0
  %v139 = shufflevector <8 x double> %v138, <8 x double> poison, <8 x i32> zeroinitializer
  %v140 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v100, <8 x double> %v139, <8 x double> %v95)
  %v141 = getelementptr double, ptr %k13.p, i64 16
  call void @llvm.prefetch.p0(ptr %v141, i32 0, i32 3, i32 1)
  %v142 = getelementptr double, ptr %k13.p1, i64 16
  call void @llvm.prefetch.p0(ptr %v142, i32 0, i32 3, i32 1)
  %v143 = getelementptr double, ptr %k13.p2, i64 16
  call void @llvm.prefetch.p0(ptr %v143, i32 1, i32 3, i32 1)
  %v144 = getelementptr double, ptr %k13.a, i64 24
  %v145 = load <8 x double>, ptr %v144, align 8
  %v146 = getelementptr double, ptr %k13.b, i64 3
  %v147 = load double, ptr %v146, align 8
  %v148 = insertelement <8 x double> poison, double %v147, i64 0
  %v149 = shufflevector <8 x double> %v148, <8 x double> poison, <8 x i32> zeroinitializer
  %v150 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v145, <8 x double> %v149, <8 x double> %v105)
  %v151 = getelementptr double, ptr %k13.b, i64 11
  %v152 = load double, ptr %v151, align 8
  %v153 = insertelement <8 x double> poison, double %v152, i64 0
  %v154 = shufflevector <8 x double> %v153, <8 x double> poison, <8 x i32> zeroinitializer
  %v155 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v145, <8 x double> %v154, <8 x double> %v110)
  %v156 = getelementptr double, ptr %k13.b, i64 19
  %v157 = load double, ptr %v156, align 8
  %v158 = insertelement <8 x double> poison, double %v157, i64 0
  %v159 = shufflevector <8 x double> %v158, <8 x double> poison, <8 x i32> zeroinitializer
  %v160 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v145, <8 x double> %v159, <8 x double> %v115)
  %v161 = getelementptr double, ptr %k13.b, i64 27
  %v162 = load double, ptr %v161, align 8
  %v163 = insertelement <8 x double> poison, double %v162, i64 0
  %v164 = shufflevector <8 x double> %v163, <8 x double> poison, <8 x i32> zeroinitializer
  %v165 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v145, <8 x double> %v164, <8 x double> %v120)
  %v166 = getelementptr double, ptr %k13.b, i64 35
  %v167 = load double, ptr %v166, align 8
  %v168 = insertelement <8 x double> poison, double %v167, i64 0
  %v169 = shufflevector <8 x double> %v168, <8 x double> poison, <8 x i32> zeroinitializer
  %v170 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v145, <8 x double> %v169, <8 x double> %v125)
  %v171 = getelementptr double, ptr %k13.b, i64 43
  %v172 = load double, ptr %v171, align 8
  %v173 = insertelement <8 x double> poison, double %v172, i64 0
  %v174 = shufflevector <8 x double> %v173, <8 x double> poison, <8 x i32> zeroinitializer
  %v175 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v145, <8 x double> %v174, <8 x double> %v130)
  %v176 = getelementptr double, ptr %k13.b, i64 51
  %v177 = load double, ptr %v176, align 8
  %v178 = insertelement <8 x double> poison, double %v177, i64 0
  %v179 = shufflevector <8 x double> %v178, <8 x double> poison, <8 x i32> zeroinitializer
  %v180 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v145, <8 x double> %v179, <8 x double> %v135)
  %v181 = getelementptr double, ptr %k13.b, i64 59
  %v182 = load double, ptr %v181, align 8
  %v183 = insertelement <8 x double> poison, double %v182, i64 0
  %v184 = shufflevector <8 x double> %v183, <8 x double> poison, <8 x i32> zeroinitializer
  %v185 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v145, <8 x double> %v184, <8 x double> %v140)
  %v186 = getelementptr double, ptr %k13.p, i64 24
  call void @llvm.prefetch.p0(ptr %v186, i32 0, i32 3, i32 1)
  %v187 = getelementptr double, ptr %k13.p1, i64 24
  call void @llvm.prefetch.p0(ptr %v187, i32 0, i32 3, i32 1)
  %v188 = getelementptr double, ptr %k13.p2, i64 24
  call void @llvm.prefetch.p0(ptr %v188, i32 1, i32 3, i32 1)
  %v189 = getelementptr double, ptr %k13.p, i64 32
  %v190 = getelementptr double, ptr %k13.p1, i64 32
  %v191 = getelementptr double, ptr %k13.p2, i64 32
  %v192 = getelementptr double, ptr %k13.a, i64 32
  %v193 = getelementptr double, ptr %k13.b, i64 4
  %v194 = add i64 %k13.i, 4
  %v195 = icmp slt i64 %v194, 8
  br i1 %v195, label %k13, label %tail196
tail196:
  %v197 = getelementptr double, ptr %batch2.c, i64 8
  %v198 = getelementptr double, ptr %batch2.c, i64 16
  %v199 = getelementptr double, ptr %batch2.c, i64 24
  %v200 = getelementptr double, ptr %batch2.c, i64 32
  %v201 = getelementptr double, ptr %batch2.c, i64 40
  %v202 = getelementptr double, ptr %batch2.c, i64 48
  %v203 = getelementptr double, ptr %batch2.c, i64 56
  %v204 = load <8 x double>, ptr %batch2.c, align 8
  %v205 = fadd <8 x double> %v150, %v204
  %v206 = load <8 x double>, ptr %v197, align 8
  %v207 = fadd <8 x double> %v155, %v206
  %v208 = load <8 x double>, ptr %v198, align 8
  %v209 = fadd <8 x double> %v160, %v208
  %v210 = load <8 x double>, ptr %v199, align 8
  %v211 = fadd <8 x double> %v165, %v210
  %v212 = load <8 x double>, ptr %v200, align 8
  %v213 = fadd <8 x double> %v170, %v212
  %v214 = load <8 x double>, ptr %v201, align 8
  %v215 = fadd <8 x double> %v175, %v214
  %v216 = load <8 x double>, ptr %v202, align 8
  %v217 = fadd <8 x double> %v180, %v216
  %v218 = load <8 x double>, ptr %v203, align 8
  %v219 = fadd <8 x double> %v185, %v218
  store <8 x double> %v205, ptr %batch2.c, align 8
  store <8 x double> %v207, ptr %v197, align 8
  store <8 x double> %v209, ptr %v198, align 8
  store <8 x double> %v211, ptr %v199, align 8
  store <8 x double> %v213, ptr %v200, align 8
  store <8 x double> %v215, ptr %v201, align 8
  store <8 x double> %v217, ptr %v202, align 8
  store <8 x double> %v219, ptr %v203, align 8
  br label %latch3
latch3:
  %v220 = add i64 %batch2.i, 1
  %v221 = getelementptr double, ptr %batch2.a, i64 %sa
  %v222 = getelementptr double, ptr %batch2.b, i64 %sb
  %v223 = getelementptr double, ptr %batch2.c, i64 %sc
  %v224 = icmp slt i64 %v220, %count
  br i1 %v224, label %batch2, label %done4
done4:
  ret void
}

declare <8 x double> @llvm.fma.v8f64(<8 x double>, <8 x double>, <8 x double>)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)

!0 = !{i32 1}
