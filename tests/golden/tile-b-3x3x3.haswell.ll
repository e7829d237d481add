; b:nn:3x3x3|packed|alpha=1|beta=0|ieee haswell
; vector_bits=128 tail=binary store=plain cmul=none blk_m=1 blk_n=3 blk_k=3 inner=column reg_a=1 reg_b=1 order=nm roll=0 prefetch=0 level=1
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [9 x float], align 64
  br label %before2
before2:
  %v6 = icmp sgt i64 %count, 0
  br i1 %v6, label %batch3, label %done5
batch3:
  %batch3.i = phi i64 [ 0, %before2 ], [ %v175, %latch4 ]
  %batch3.a = phi ptr [ %A, %before2 ], [ %v176, %latch4 ]
  %batch3.b = phi ptr [ %B, %before2 ], [ %v177, %latch4 ]
  %batch3.c = phi ptr [ %C, %before2 ], [ %v178, %latch4 ]
  %v7 = load <4 x bfloat>, ptr %batch3.b, align 2
  %v8 = fpext <4 x bfloat> %v7 to <4 x float>
  store <4 x float> %v8, ptr %v1, align 4
  %v9 = getelementptr bfloat, ptr %batch3.b, i64 4
  %v10 = load <4 x bfloat>, ptr %v9, align 2
  %v11 = fpext <4 x bfloat> %v10 to <4 x float>
  %v12 = getelementptr float, ptr %v1, i64 4
  store <4 x float> %v11, ptr %v12, align 4
  %v13 = getelementptr bfloat, ptr %batch3.b, i64 8
  %v14 = load bfloat, ptr %v13, align 2
  %v15 = fpext bfloat %v14 to float
  %v16 = getelementptr float, ptr %v1, i64 8
  store float %v15, ptr %v16, align 4
  %v17 = load <2 x bfloat>, ptr %batch3.a, align 2
  %v18 = fpext <2 x bfloat> %v17 to <2 x float>
  %v19 = load float, ptr %v1, align 4
  %v20 = insertelement <2 x float> poison, float %v19, i64 0
  %v21 = shufflevector <2 x float> %v20, <2 x float> poison, <2 x i32> zeroinitializer
  %v22 = fmul <2 x float> %v18, %v21
  %v23 = getelementptr float, ptr %v1, i64 3
  %v24 = load float, ptr %v23, align 4
  %v25 = insertelement <2 x float> poison, float %v24, i64 0
  %v26 = shufflevector <2 x float> %v25, <2 x float> poison, <2 x i32> zeroinitializer
  %v27 = fmul <2 x float> %v18, %v26
  %v28 = getelementptr float, ptr %v1, i64 6
  %v29 = load float, ptr %v28, align 4
  %v30 = insertelement <2 x float> poison, float %v29, i64 0
  %v31 = shufflevector <2 x float> %v30, <2 x float> poison, <2 x i32> zeroinitializer
  %v32 = fmul <2 x float> %v18, %v31
  %v33 = getelementptr bfloat, ptr %batch3.a, i64 3
  %v34 = load <2 x bfloat>, ptr %v33, align 2
  %v35 = fpext <2 x bfloat> %v34 to <2 x float>
  %v36 = getelementptr float, ptr %v1, i64 1
  %v37 = load float, ptr %v36, align 4
  %v38 = insertelement <2 x float> poison, float %v37, i64 0
  %v39 = shufflevector <2 x float> %v38, <2 x float> poison, <2 x i32> zeroinitializer
  %v40 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v35, <2 x float> %v39, <2 x float> %v22)
  %v41 = getelementptr float, ptr %v1, i64 4
  %v42 = load float, ptr %v41, align 4
  %v43 = insertelement <2 x float> poison, float %v42, i64 0
  %v44 = shufflevector <2 x float> %v43, <2 x float> poison, <2 x i32> zeroinitializer
  %v45 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v35, <2 x float> %v44, <2 x float> %v27)
  %v46 = getelementptr float, ptr %v1, i64 7
  %v47 = load float, ptr %v46, align 4
  %v48 = insertelement <2 x float> poison, float %v47, i64 0
  %v49 = shufflevector <2 x float> %v48, <2 x float> poison, <2 x i32> zeroinitializer
  %v50 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v35, <2 x float> %v49, <2 x float> %v32)
  %v51 = getelementptr bfloat, ptr %batch3.a, i64 6
  %v52 = load <2 x bfloat>, ptr %v51, align 2
  %v53 = fpext <2 x bfloat> %v52 to <2 x float>
  %v54 = getelementptr float, ptr %v1, i64 2
  %v55 = load float, ptr %v54, align 4
  %v56 = insertelement <2 x float> poison, float %v55, i64 0
  %v57 = shufflevector <2 x float> %v56, <2 x float> poison, <2 x i32> zeroinitializer
  %v58 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v53, <2 x float> %v57, <2 x float> %v40)
  %v59 = getelementptr float, ptr %v1, i64 5
  %v60 = load float, ptr %v59, align 4
  %v61 = insertelement <2 x float> poison, float %v60, i64 0
  %v62 = shufflevector <2 x float> %v61, <2 x float> poison, <2 x i32> zeroinitializer
  %v63 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v53, <2 x float> %v62, <2 x float> %v45)
  %v64 = getelementptr float, ptr %v1, i64 8
  %v65 = load float, ptr %v64, align 4
  %v66 = insertelement <2 x float> poison, float %v65, i64 0
  %v67 = shufflevector <2 x float> %v66, <2 x float> poison, <2 x i32> zeroinitializer
  %v68 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v53, <2 x float> %v67, <2 x float> %v50)
  %v69 = getelementptr bfloat, ptr %batch3.c, i64 3
  %v70 = getelementptr bfloat, ptr %batch3.c, i64 6
  %v71 = bitcast <2 x float> %v58 to <2 x i32>
  %v72 = lshr <2 x i32> %v71, <i32 16, i32 16>
  %v73 = and <2 x i32> %v72, <i32 1, i32 1>
  %v74 = add <2 x i32> %v71, %v73
  %v75 = add <2 x i32> %v74, <i32 32767, i32 32767>
  %v76 = or <2 x i32> %v71, <i32 4194304, i32 4194304>
  %v77 = fcmp uno <2 x float> %v58, %v58
  %v78 = select <2 x i1> %v77, <2 x i32> %v76, <2 x i32> %v75
  %v79 = lshr <2 x i32> %v78, <i32 16, i32 16>
  %v80 = trunc <2 x i32> %v79 to <2 x i16>
  %v81 = bitcast <2 x i16> %v80 to <2 x bfloat>
  store <2 x bfloat> %v81, ptr %batch3.c, align 2
  %v82 = bitcast <2 x float> %v63 to <2 x i32>
  %v83 = lshr <2 x i32> %v82, <i32 16, i32 16>
  %v84 = and <2 x i32> %v83, <i32 1, i32 1>
  %v85 = add <2 x i32> %v82, %v84
  %v86 = add <2 x i32> %v85, <i32 32767, i32 32767>
  %v87 = or <2 x i32> %v82, <i32 4194304, i32 4194304>
  %v88 = fcmp uno <2 x float> %v63, %v63
  %v89 = select <2 x i1> %v88, <2 x i32> %v87, <2 x i32> %v86
  %v90 = lshr <2 x i32> %v89, <i32 16, i32 16>
  %v91 = trunc <2 x i32> %v90 to <2 x i16>
  %v92 = bitcast <2 x i16> %v91 to <2 x bfloat>
  store <2 x bfloat> %v92, ptr %v69, align 2
  %v93 = bitcast <2 x float> %v68 to <2 x i32>
  %v94 = lshr <2 x i32> %v93, <i32 16, i32 16>
  %v95 = and <2 x i32> %v94, <i32 1, i32 1>
  %v96 = add <2 x i32> %v93, %v95
  %v97 = add <2 x i32> %v96, <i32 32767, i32 32767>
  %v98 = or <2 x i32> %v93, <i32 4194304, i32 4194304>
  %v99 = fcmp uno <2 x float> %v68, %v68
  %v100 = select <2 x i1> %v99, <2 x i32> %v98, <2 x i32> %v97
  %v101 = lshr <2 x i32> %v100, <i32 16, i32 16>
  %v102 = trunc <2 x i32> %v101 to <2 x i16>
  %v103 = bitcast <2 x i16> %v102 to <2 x bfloat>
  store <2 x bfloat> %v103, ptr %v70, align 2
  %v104 = getelementptr bfloat, ptr %batch3.a, i64 2
  %v105 = load bfloat, ptr %v104, align 2
  %v106 = fpext bfloat %v105 to float
  %v107 = load float, ptr %v1, align 4
  %v108 = fmul float %v106, %v107
  %v109 = getelementptr float, ptr %v1, i64 3
  %v110 = load float, ptr %v109, align 4
  %v111 = fmul float %v106, %v110
  %v112 = getelementptr float, ptr %v1, i64 6
  %v113 = load float, ptr %v112, align 4
  %v114 = fmul float %v106, %v113
  %v115 = getelementptr bfloat, ptr %batch3.a, i64 5
  %v116 = load bfloat, ptr %v115, align 2
  %v117 = fpext bfloat %v116 to float
  %v118 = getelementptr float, ptr %v1, i64 1
  %v119 = load float, ptr %v118, align 4
  %v120 = call float @llvm.fma.f32(float %v117, float %v119, float %v108)
  %v121 = getelementptr float, ptr %v1, i64 4
  %v122 = load float, ptr %v121, align 4
  %v123 = call float @llvm.fma.f32(float %v117, float %v122, float %v111)
  %v124 = getelementptr float, ptr %v1, i64 7
  %v125 = load float, ptr %v124, align 4
  %v126 = call float @llvm.fma.f32(float %v117, float %v125, float %v114)
  %v127 = getelementptr bfloat, ptr %batch3.a, i64 8
  %v128 = load bfloat, ptr %v127, align 2
  %v129 = fpext bfloat %v128 to float
  %v130 = getelementptr float, ptr %v1, i64 2
  %v131 = load float, ptr %v130, align 4
  %v132 = call float @llvm.fma.f32(float %v129, float %v131, float %v120)
  %v133 = getelementptr float, ptr %v1, i64 5
  %v134 = load float, ptr %v133, align 4
  %v135 = call float @llvm.fma.f32(float %v129, float %v134, float %v123)
  %v136 = getelementptr float, ptr %v1, i64 8
  %v137 = load float, ptr %v136, align 4
  %v138 = call float @llvm.fma.f32(float %v129, float %v137, float %v126)
  %v139 = getelementptr bfloat, ptr %batch3.c, i64 2
  %v140 = getelementptr bfloat, ptr %batch3.c, i64 5
  %v141 = getelementptr bfloat, ptr %batch3.c, i64 8
  %v142 = bitcast float %v132 to i32
  %v143 = lshr i32 %v142, 16
  %v144 = and i32 %v143, 1
  %v145 = add i32 %v142, %v144
  %v146 = add i32 %v145, 32767
  %v147 = or i32 %v142, 4194304
  %v148 = fcmp uno float %v132, %v132
  %v149 = select i1 %v148, i32 %v147, i32 %v146
  %v150 = lshr i32 %v149, 16
  %v151 = trunc i32 %v150 to i16
  %v152 = bitcast i16 %v151 to bfloat
  store bfloat %v152, ptr %v139, align 2
  %v153 = bitcast float %v135 to i32
  %v154 = lshr i32 %v153, 16
  %v155 = and i32 %v154, 1
  %v156 = add i32 %v153, %v155
  %v157 = add i32 %v156, 32767
  %v158 = or i32 %v153, 4194304
  %v159 = fcmp uno float %v135, %v135
  %v160 = select i1 %v159, i32 %v158, i32 %v157
  %v161 = lshr i32 %v160, 16
  %v162 = trunc i32 %v161 to i16
  %v163 = bitcast i16 %v162 to bfloat
  store bfloat %v163, ptr %v140, align 2
  %v164 = bitcast float %v138 to i32
  %v165 = lshr i32 %v164, 16
  %v166 = and i32 %v165, 1
  %v167 = add i32 %v164, %v166
  %v168 = add i32 %v167, 32767
  %v169 = or i32 %v164, 4194304
  %v170 = fcmp uno float %v138, %v138
  %v171 = select i1 %v170, i32 %v169, i32 %v168
  %v172 = lshr i32 %v171, 16
  %v173 = trunc i32 %v172 to i16
  %v174 = bitcast i16 %v173 to bfloat
  store bfloat %v174, ptr %v141, align 2
  br label %latch4
latch4:
  %v175 = add i64 %batch3.i, 1
  %v176 = getelementptr bfloat, ptr %batch3.a, i64 %sa
  %v177 = getelementptr bfloat, ptr %batch3.b, i64 %sb
  %v178 = getelementptr bfloat, ptr %batch3.c, i64 %sc
  %v179 = icmp slt i64 %v175, %count
  br i1 %v179, label %batch3, label %done5
done5:
  ret void
}

declare <2 x float> @llvm.fma.v2f32(<2 x float>, <2 x float>, <2 x float>)
declare float @llvm.fma.f32(float, float, float)

!0 = !{i32 1}
