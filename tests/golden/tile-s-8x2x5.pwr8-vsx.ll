define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [20 x float], align 64
  br label %before2
before2:
  %v6 = icmp sgt i64 %count, 0
  br i1 %v6, label %batch3, label %done5
batch3:
  %batch3.i = phi i64 [ 0, %before2 ], [ %v177, %latch4 ]
  %batch3.a = phi ptr [ %A, %before2 ], [ %v178, %latch4 ]
  %batch3.b = phi ptr [ %B, %before2 ], [ %v179, %latch4 ]
  %batch3.c = phi ptr [ %C, %before2 ], [ %v180, %latch4 ]
  %v7 = call ptr asm "", "=b,0"(ptr %batch3.b)
  %v8 = call <4 x i32> @llvm.ppc.vsx.lxvw4x.be(ptr %v7)
  %v9 = bitcast <4 x i32> %v8 to <4 x float>
  %v10 = getelementptr float, ptr %v7, i64 4
  %v11 = call <4 x i32> @llvm.ppc.vsx.lxvw4x.be(ptr %v10)
  %v12 = bitcast <4 x i32> %v11 to <4 x float>
  %v13 = call ptr asm "", "=b,0"(ptr %v1)
  %v14 = shufflevector <4 x float> %v9, <4 x float> poison, <4 x i32> <i32 2, i32 2, i32 3, i32 3>
  %v15 = bitcast <4 x float> %v14 to <2 x double>
  call void @llvm.ppc.vsx.stxvd2x.be(<2 x double> %v15, ptr %v13)
  %v16 = shufflevector <4 x float> %v9, <4 x float> poison, <4 x i32> <i32 0, i32 0, i32 1, i32 1>
  %v17 = getelementptr float, ptr %v13, i64 4
  %v18 = bitcast <4 x float> %v16 to <2 x double>
  call void @llvm.ppc.vsx.stxvd2x.be(<2 x double> %v18, ptr %v17)
  call void asm sideeffect "", "~{memory}"()
  %v19 = shufflevector <4 x float> %v12, <4 x float> poison, <4 x i32> <i32 2, i32 2, i32 3, i32 3>
  %v20 = getelementptr float, ptr %v13, i64 8
  %v21 = bitcast <4 x float> %v19 to <2 x double>
  call void @llvm.ppc.vsx.stxvd2x.be(<2 x double> %v21, ptr %v20)
  %v22 = shufflevector <4 x float> %v12, <4 x float> poison, <4 x i32> <i32 0, i32 0, i32 1, i32 1>
  %v23 = getelementptr float, ptr %v13, i64 12
  %v24 = bitcast <4 x float> %v22 to <2 x double>
  call void @llvm.ppc.vsx.stxvd2x.be(<2 x double> %v24, ptr %v23)
  call void asm sideeffect "", "~{memory}"()
  %v25 = getelementptr float, ptr %batch3.b, i64 8
  %v26 = load i32, ptr %v25, align 4
  %v27 = zext i32 %v26 to i64
  %v28 = shl i64 %v27, 32
  %v29 = or i64 %v28, %v27
  %v30 = getelementptr float, ptr %v1, i64 16
  store i64 %v29, ptr %v30, align 8
  %v31 = getelementptr float, ptr %batch3.b, i64 9
  %v32 = load i32, ptr %v31, align 4
  %v33 = zext i32 %v32 to i64
  %v34 = shl i64 %v33, 32
  %v35 = or i64 %v34, %v33
  %v36 = getelementptr float, ptr %v1, i64 18
  store i64 %v35, ptr %v36, align 8
  call void asm sideeffect "", "~{memory}"()
  %v37 = call ptr asm "", "=b,0"(ptr %v1)
  %v38 = call <2 x double> @llvm.ppc.vsx.lxvd2x.be(ptr %batch3.a)
  %v39 = bitcast <2 x double> %v38 to <4 x float>
  %v40 = getelementptr float, ptr %batch3.a, i64 4
  %v41 = call <2 x double> @llvm.ppc.vsx.lxvd2x.be(ptr %v40)
  %v42 = bitcast <2 x double> %v41 to <4 x float>
  %v43 = load double, ptr %v37, align 8
  %v44 = insertelement <2 x double> poison, double %v43, i64 0
  %v45 = shufflevector <2 x double> %v44, <2 x double> poison, <2 x i32> zeroinitializer
  %v46 = bitcast <2 x double> %v45 to <4 x float>
  %v47 = getelementptr float, ptr %v37, i64 10
  %v48 = load double, ptr %v47, align 8
  %v49 = insertelement <2 x double> poison, double %v48, i64 0
  %v50 = shufflevector <2 x double> %v49, <2 x double> poison, <2 x i32> zeroinitializer
  %v51 = bitcast <2 x double> %v50 to <4 x float>
  %v52 = getelementptr float, ptr %v1, i64 2
  %v53 = call ptr asm "", "=b,0"(ptr %v52)
  %v54 = getelementptr float, ptr %batch3.a, i64 8
  %v55 = call <2 x double> @llvm.ppc.vsx.lxvd2x.be(ptr %v54)
  %v56 = bitcast <2 x double> %v55 to <4 x float>
  %v57 = getelementptr float, ptr %batch3.a, i64 12
  %v58 = call <2 x double> @llvm.ppc.vsx.lxvd2x.be(ptr %v57)
  %v59 = bitcast <2 x double> %v58 to <4 x float>
  %v60 = load double, ptr %v53, align 8
  %v61 = insertelement <2 x double> poison, double %v60, i64 0
  %v62 = shufflevector <2 x double> %v61, <2 x double> poison, <2 x i32> zeroinitializer
  %v63 = bitcast <2 x double> %v62 to <4 x float>
  %v64 = getelementptr float, ptr %v53, i64 10
  %v65 = load double, ptr %v64, align 8
  %v66 = insertelement <2 x double> poison, double %v65, i64 0
  %v67 = shufflevector <2 x double> %v66, <2 x double> poison, <2 x i32> zeroinitializer
  %v68 = bitcast <2 x double> %v67 to <4 x float>
  %v69 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v46)
  %v70 = fmul <4 x float> %v39, %v69
  %v71 = fmul <4 x float> %v42, %v69
  %v72 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v51)
  %v73 = fmul <4 x float> %v39, %v72
  %v74 = fmul <4 x float> %v42, %v72
  %v75 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v70)
  %v76 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v71)
  %v77 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v73)
  %v78 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v74)
  %v79 = getelementptr float, ptr %v1, i64 4
  %v80 = call ptr asm "", "=b,0"(ptr %v79)
  %v81 = getelementptr float, ptr %batch3.a, i64 16
  %v82 = call <2 x double> @llvm.ppc.vsx.lxvd2x.be(ptr %v81)
  %v83 = bitcast <2 x double> %v82 to <4 x float>
  %v84 = getelementptr float, ptr %batch3.a, i64 20
  %v85 = call <2 x double> @llvm.ppc.vsx.lxvd2x.be(ptr %v84)
  %v86 = bitcast <2 x double> %v85 to <4 x float>
  %v87 = load double, ptr %v80, align 8
  %v88 = insertelement <2 x double> poison, double %v87, i64 0
  %v89 = shufflevector <2 x double> %v88, <2 x double> poison, <2 x i32> zeroinitializer
  %v90 = bitcast <2 x double> %v89 to <4 x float>
  %v91 = getelementptr float, ptr %v80, i64 10
  %v92 = load double, ptr %v91, align 8
  %v93 = insertelement <2 x double> poison, double %v92, i64 0
  %v94 = shufflevector <2 x double> %v93, <2 x double> poison, <2 x i32> zeroinitializer
  %v95 = bitcast <2 x double> %v94 to <4 x float>
  %v96 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v63)
  %v97 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v56, <4 x float> %v96, <4 x float> %v75)
  %v98 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v59, <4 x float> %v96, <4 x float> %v76)
  %v99 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v68)
  %v100 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v56, <4 x float> %v99, <4 x float> %v77)
  %v101 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v59, <4 x float> %v99, <4 x float> %v78)
  %v102 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v97)
  %v103 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v98)
  %v104 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v100)
  %v105 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v101)
  %v106 = getelementptr float, ptr %v1, i64 6
  %v107 = call ptr asm "", "=b,0"(ptr %v106)
  %v108 = getelementptr float, ptr %batch3.a, i64 24
  %v109 = call <2 x double> @llvm.ppc.vsx.lxvd2x.be(ptr %v108)
  %v110 = bitcast <2 x double> %v109 to <4 x float>
  %v111 = getelementptr float, ptr %batch3.a, i64 28
  %v112 = call <2 x double> @llvm.ppc.vsx.lxvd2x.be(ptr %v111)
  %v113 = bitcast <2 x double> %v112 to <4 x float>
  %v114 = load double, ptr %v107, align 8
  %v115 = insertelement <2 x double> poison, double %v114, i64 0
  %v116 = shufflevector <2 x double> %v115, <2 x double> poison, <2 x i32> zeroinitializer
  %v117 = bitcast <2 x double> %v116 to <4 x float>
  %v118 = getelementptr float, ptr %v107, i64 10
  %v119 = load double, ptr %v118, align 8
  %v120 = insertelement <2 x double> poison, double %v119, i64 0
  %v121 = shufflevector <2 x double> %v120, <2 x double> poison, <2 x i32> zeroinitializer
  %v122 = bitcast <2 x double> %v121 to <4 x float>
  %v123 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v90)
  %v124 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v83, <4 x float> %v123, <4 x float> %v102)
  %v125 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v86, <4 x float> %v123, <4 x float> %v103)
  %v126 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v95)
  %v127 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v83, <4 x float> %v126, <4 x float> %v104)
  %v128 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v86, <4 x float> %v126, <4 x float> %v105)
  %v129 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v124)
  %v130 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v125)
  %v131 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v127)
  %v132 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v128)
  %v133 = getelementptr float, ptr %v1, i64 8
  %v134 = call ptr asm "", "=b,0"(ptr %v133)
  %v135 = getelementptr float, ptr %batch3.a, i64 32
  %v136 = call <2 x double> @llvm.ppc.vsx.lxvd2x.be(ptr %v135)
  %v137 = bitcast <2 x double> %v136 to <4 x float>
  %v138 = getelementptr float, ptr %batch3.a, i64 36
  %v139 = call <2 x double> @llvm.ppc.vsx.lxvd2x.be(ptr %v138)
  %v140 = bitcast <2 x double> %v139 to <4 x float>
  %v141 = load double, ptr %v134, align 8
  %v142 = insertelement <2 x double> poison, double %v141, i64 0
  %v143 = shufflevector <2 x double> %v142, <2 x double> poison, <2 x i32> zeroinitializer
  %v144 = bitcast <2 x double> %v143 to <4 x float>
  %v145 = getelementptr float, ptr %v134, i64 10
  %v146 = load double, ptr %v145, align 8
  %v147 = insertelement <2 x double> poison, double %v146, i64 0
  %v148 = shufflevector <2 x double> %v147, <2 x double> poison, <2 x i32> zeroinitializer
  %v149 = bitcast <2 x double> %v148 to <4 x float>
  %v150 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v117)
  %v151 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v110, <4 x float> %v150, <4 x float> %v129)
  %v152 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v113, <4 x float> %v150, <4 x float> %v130)
  %v153 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v122)
  %v154 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v110, <4 x float> %v153, <4 x float> %v131)
  %v155 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v113, <4 x float> %v153, <4 x float> %v132)
  %v156 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v151)
  %v157 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v152)
  %v158 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v154)
  %v159 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v155)
  %v160 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v144)
  %v161 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v137, <4 x float> %v160, <4 x float> %v156)
  %v162 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v140, <4 x float> %v160, <4 x float> %v157)
  %v163 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v149)
  %v164 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v137, <4 x float> %v163, <4 x float> %v158)
  %v165 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v140, <4 x float> %v163, <4 x float> %v159)
  %v166 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v161)
  %v167 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v162)
  %v168 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v164)
  %v169 = call <4 x float> asm sideeffect "", "=^wa,0,~{memory}"(<4 x float> %v165)
  call void asm sideeffect "", "~{memory}"()
  %v170 = getelementptr float, ptr %batch3.c, i64 4
  %v171 = getelementptr float, ptr %batch3.c, i64 8
  %v172 = getelementptr float, ptr %batch3.c, i64 12
  %v173 = bitcast <4 x float> %v166 to <2 x double>
  call void @llvm.ppc.vsx.stxvd2x.be(<2 x double> %v173, ptr %batch3.c)
  %v174 = bitcast <4 x float> %v167 to <2 x double>
  call void @llvm.ppc.vsx.stxvd2x.be(<2 x double> %v174, ptr %v170)
  %v175 = bitcast <4 x float> %v168 to <2 x double>
  call void @llvm.ppc.vsx.stxvd2x.be(<2 x double> %v175, ptr %v171)
  %v176 = bitcast <4 x float> %v169 to <2 x double>
  call void @llvm.ppc.vsx.stxvd2x.be(<2 x double> %v176, ptr %v172)
  call void asm sideeffect "", "~{memory}"()
  br label %latch4
latch4:
  %v177 = add i64 %batch3.i, 1
  %v178 = getelementptr float, ptr %batch3.a, i64 %sa
  %v179 = getelementptr float, ptr %batch3.b, i64 %sb
  %v180 = getelementptr float, ptr %batch3.c, i64 %sc
  %v181 = icmp slt i64 %v177, %count
  br i1 %v181, label %batch3, label %done5
done5:
  ret void
}

declare <2 x double> @llvm.ppc.vsx.lxvd2x.be(ptr)
declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare <4 x i32> @llvm.ppc.vsx.lxvw4x.be(ptr)
declare void @llvm.ppc.vsx.stxvd2x.be(<2 x double>, ptr)

!0 = !{i32 1}
