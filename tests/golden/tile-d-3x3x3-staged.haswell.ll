; d:nn:3x3x3|packed|alpha=1|beta=0|ieee haswell
; vector_bits=128 tail=binary store=staged cmul=none blk_m=2 blk_n=3 blk_k=3 inner=column reg_a=2 reg_b=1 order=nm roll=0 prefetch=0 level=1
define void @tilewright_kernel_plain(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v75, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v76, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v77, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v78, %latch3 ]
  %v6 = load <2 x double>, ptr %batch2.a, align 8
  %v7 = getelementptr double, ptr %batch2.a, i64 2
  %v8 = load double, ptr %v7, align 8
  %v9 = load double, ptr %batch2.b, align 8
  %v10 = insertelement <2 x double> poison, double %v9, i64 0
  %v11 = shufflevector <2 x double> %v10, <2 x double> poison, <2 x i32> zeroinitializer
  %v12 = fmul <2 x double> %v6, %v11
  %v13 = fmul double %v8, %v9
  %v14 = getelementptr double, ptr %batch2.b, i64 3
  %v15 = load double, ptr %v14, align 8
  %v16 = insertelement <2 x double> poison, double %v15, i64 0
  %v17 = shufflevector <2 x double> %v16, <2 x double> poison, <2 x i32> zeroinitializer
  %v18 = fmul <2 x double> %v6, %v17
  %v19 = fmul double %v8, %v15
  %v20 = getelementptr double, ptr %batch2.b, i64 6
  %v21 = load double, ptr %v20, align 8
  %v22 = insertelement <2 x double> poison, double %v21, i64 0
  %v23 = shufflevector <2 x double> %v22, <2 x double> poison, <2 x i32> zeroinitializer
  %v24 = fmul <2 x double> %v6, %v23
  %v25 = fmul double %v8, %v21
  %v26 = getelementptr double, ptr %batch2.a, i64 3
  %v27 = load <2 x double>, ptr %v26, align 8
  %v28 = getelementptr double, ptr %batch2.a, i64 5
  %v29 = load double, ptr %v28, align 8
  %v30 = getelementptr double, ptr %batch2.b, i64 1
  %v31 = load double, ptr %v30, align 8
  %v32 = insertelement <2 x double> poison, double %v31, i64 0
  %v33 = shufflevector <2 x double> %v32, <2 x double> poison, <2 x i32> zeroinitializer
  %v34 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v27, <2 x double> %v33, <2 x double> %v12)
  %v35 = call double @llvm.fma.f64(double %v29, double %v31, double %v13)
  %v36 = getelementptr double, ptr %batch2.b, i64 4
  %v37 = load double, ptr %v36, align 8
  %v38 = insertelement <2 x double> poison, double %v37, i64 0
  %v39 = shufflevector <2 x double> %v38, <2 x double> poison, <2 x i32> zeroinitializer
  %v40 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v27, <2 x double> %v39, <2 x double> %v18)
  %v41 = call double @llvm.fma.f64(double %v29, double %v37, double %v19)
  %v42 = getelementptr double, ptr %batch2.b, i64 7
  %v43 = load double, ptr %v42, align 8
  %v44 = insertelement <2 x double> poison, double %v43, i64 0
  %v45 = shufflevector <2 x double> %v44, <2 x double> poison, <2 x i32> zeroinitializer
  %v46 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v27, <2 x double> %v45, <2 x double> %v24)
  %v47 = call double @llvm.fma.f64(double %v29, double %v43, double %v25)
  %v48 = getelementptr double, ptr %batch2.a, i64 6
  %v49 = load <2 x double>, ptr %v48, align 8
  %v50 = getelementptr double, ptr %batch2.a, i64 8
  %v51 = load double, ptr %v50, align 8
  %v52 = getelementptr double, ptr %batch2.b, i64 2
  %v53 = load double, ptr %v52, align 8
  %v54 = insertelement <2 x double> poison, double %v53, i64 0
  %v55 = shufflevector <2 x double> %v54, <2 x double> poison, <2 x i32> zeroinitializer
  %v56 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v49, <2 x double> %v55, <2 x double> %v34)
  %v57 = call double @llvm.fma.f64(double %v51, double %v53, double %v35)
  %v58 = getelementptr double, ptr %batch2.b, i64 5
  %v59 = load double, ptr %v58, align 8
  %v60 = insertelement <2 x double> poison, double %v59, i64 0
  %v61 = shufflevector <2 x double> %v60, <2 x double> poison, <2 x i32> zeroinitializer
  %v62 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v49, <2 x double> %v61, <2 x double> %v40)
  %v63 = call double @llvm.fma.f64(double %v51, double %v59, double %v41)
  %v64 = getelementptr double, ptr %batch2.b, i64 8
  %v65 = load double, ptr %v64, align 8
  %v66 = insertelement <2 x double> poison, double %v65, i64 0
  %v67 = shufflevector <2 x double> %v66, <2 x double> poison, <2 x i32> zeroinitializer
  %v68 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v49, <2 x double> %v67, <2 x double> %v46)
  %v69 = call double @llvm.fma.f64(double %v51, double %v65, double %v47)
  %v70 = getelementptr double, ptr %batch2.c, i64 2
  %v71 = getelementptr double, ptr %batch2.c, i64 3
  %v72 = getelementptr double, ptr %batch2.c, i64 5
  %v73 = getelementptr double, ptr %batch2.c, i64 6
  %v74 = getelementptr double, ptr %batch2.c, i64 8
  store <2 x double> %v56, ptr %batch2.c, align 8
  store double %v57, ptr %v70, align 8
  store <2 x double> %v62, ptr %v71, align 8
  store double %v63, ptr %v72, align 8
  store <2 x double> %v68, ptr %v73, align 8
  store double %v69, ptr %v74, align 8
  br label %latch3
latch3:
  %v75 = add i64 %batch2.i, 1
  %v76 = getelementptr double, ptr %batch2.a, i64 %sa
  %v77 = getelementptr double, ptr %batch2.b, i64 %sb
  %v78 = getelementptr double, ptr %batch2.c, i64 %sc
  %v79 = icmp slt i64 %v75, %count
  br i1 %v79, label %batch2, label %done4
done4:
  ret void
}

define void @tilewright_kernel_staged(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [145 x double], align 64
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
  %batch11.i = phi i64 [ 0, %before10 ], [ %v140, %latch12 ]
  %batch11.a = phi ptr [ %A, %before10 ], [ %v141, %latch12 ]
  %batch11.b = phi ptr [ %B, %before10 ], [ %v142, %latch12 ]
  %batch11.c = phi ptr [ %C, %before10 ], [ %v143, %latch12 ]
  %v15 = load i64, ptr %v2
  %v16 = getelementptr double, ptr %v1, i64 %v15
  %v17 = load <2 x double>, ptr %batch11.a, align 8
  %v18 = getelementptr double, ptr %batch11.a, i64 2
  %v19 = load double, ptr %v18, align 8
  %v20 = load double, ptr %batch11.b, align 8
  %v21 = insertelement <2 x double> poison, double %v20, i64 0
  %v22 = shufflevector <2 x double> %v21, <2 x double> poison, <2 x i32> zeroinitializer
  %v23 = fmul <2 x double> %v17, %v22
  %v24 = fmul double %v19, %v20
  %v25 = getelementptr double, ptr %batch11.b, i64 3
  %v26 = load double, ptr %v25, align 8
  %v27 = insertelement <2 x double> poison, double %v26, i64 0
  %v28 = shufflevector <2 x double> %v27, <2 x double> poison, <2 x i32> zeroinitializer
  %v29 = fmul <2 x double> %v17, %v28
  %v30 = fmul double %v19, %v26
  %v31 = getelementptr double, ptr %batch11.b, i64 6
  %v32 = load double, ptr %v31, align 8
  %v33 = insertelement <2 x double> poison, double %v32, i64 0
  %v34 = shufflevector <2 x double> %v33, <2 x double> poison, <2 x i32> zeroinitializer
  %v35 = fmul <2 x double> %v17, %v34
  %v36 = fmul double %v19, %v32
  %v37 = getelementptr double, ptr %batch11.a, i64 3
  %v38 = load <2 x double>, ptr %v37, align 8
  %v39 = getelementptr double, ptr %batch11.a, i64 5
  %v40 = load double, ptr %v39, align 8
  %v41 = getelementptr double, ptr %batch11.b, i64 1
  %v42 = load double, ptr %v41, align 8
  %v43 = insertelement <2 x double> poison, double %v42, i64 0
  %v44 = shufflevector <2 x double> %v43, <2 x double> poison, <2 x i32> zeroinitializer
  %v45 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v38, <2 x double> %v44, <2 x double> %v23)
  %v46 = call double @llvm.fma.f64(double %v40, double %v42, double %v24)
  %v47 = getelementptr double, ptr %batch11.b, i64 4
  %v48 = load double, ptr %v47, align 8
  %v49 = insertelement <2 x double> poison, double %v48, i64 0
  %v50 = shufflevector <2 x double> %v49, <2 x double> poison, <2 x i32> zeroinitializer
  %v51 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v38, <2 x double> %v50, <2 x double> %v29)
  %v52 = call double @llvm.fma.f64(double %v40, double %v48, double %v30)
  %v53 = getelementptr double, ptr %batch11.b, i64 7
  %v54 = load double, ptr %v53, align 8
  %v55 = insertelement <2 x double> poison, double %v54, i64 0
  %v56 = shufflevector <2 x double> %v55, <2 x double> poison, <2 x i32> zeroinitializer
  %v57 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v38, <2 x double> %v56, <2 x double> %v35)
  %v58 = call double @llvm.fma.f64(double %v40, double %v54, double %v36)
  %v59 = getelementptr double, ptr %batch11.a, i64 6
  %v60 = load <2 x double>, ptr %v59, align 8
  %v61 = getelementptr double, ptr %batch11.a, i64 8
  %v62 = load double, ptr %v61, align 8
  %v63 = getelementptr double, ptr %batch11.b, i64 2
  %v64 = load double, ptr %v63, align 8
  %v65 = insertelement <2 x double> poison, double %v64, i64 0
  %v66 = shufflevector <2 x double> %v65, <2 x double> poison, <2 x i32> zeroinitializer
  %v67 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v60, <2 x double> %v66, <2 x double> %v45)
  %v68 = call double @llvm.fma.f64(double %v62, double %v64, double %v46)
  %v69 = getelementptr double, ptr %batch11.b, i64 5
  %v70 = load double, ptr %v69, align 8
  %v71 = insertelement <2 x double> poison, double %v70, i64 0
  %v72 = shufflevector <2 x double> %v71, <2 x double> poison, <2 x i32> zeroinitializer
  %v73 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v60, <2 x double> %v72, <2 x double> %v51)
  %v74 = call double @llvm.fma.f64(double %v62, double %v70, double %v52)
  %v75 = getelementptr double, ptr %batch11.b, i64 8
  %v76 = load double, ptr %v75, align 8
  %v77 = insertelement <2 x double> poison, double %v76, i64 0
  %v78 = shufflevector <2 x double> %v77, <2 x double> poison, <2 x i32> zeroinitializer
  %v79 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v60, <2 x double> %v78, <2 x double> %v57)
  %v80 = call double @llvm.fma.f64(double %v62, double %v76, double %v58)
  %v81 = getelementptr double, ptr %v16, i64 2
  %v82 = getelementptr double, ptr %v16, i64 3
  %v83 = getelementptr double, ptr %v16, i64 5
  %v84 = getelementptr double, ptr %v16, i64 6
  %v85 = getelementptr double, ptr %v16, i64 8
  store <2 x double> %v67, ptr %v16, align 8
  store double %v68, ptr %v81, align 8
  store <2 x double> %v73, ptr %v82, align 8
  store double %v74, ptr %v83, align 8
  store <2 x double> %v79, ptr %v84, align 8
  store double %v80, ptr %v85, align 8
  %v86 = load i64, ptr %v2
  %v87 = add i64 %v86, 9
  store i64 %v87, ptr %v2
  %v90 = icmp uge i64 %v87, 128
  br i1 %v90, label %leave88, label %stay89
leave88:
  %v91 = load i64, ptr %v3
  %v92 = load i64, ptr %v2
  %v93 = load ptr, ptr %v4
  %v94 = and i64 %v92, -8
  %v95 = icmp ne i64 %v94, 0
  %v96 = icmp ne i64 %v91, 0
  %v97 = and i1 %v95, %v96
  %v98 = select i1 %v97, i64 8, i64 0
  br label %from99
from99:
  %v102 = icmp ult i64 %v91, %v98
  br i1 %v102, label %each100, label %end101
each100:
  %each100.i = phi i64 [ %v91, %from99 ], [ %v106, %each100 ]
  %v103 = getelementptr double, ptr %v1, i64 %each100.i
  %v104 = load double, ptr %v103, align 8
  %v105 = getelementptr double, ptr %v93, i64 %each100.i
  store double %v104, ptr %v105, align 8
  %v106 = add i64 %each100.i, 1
  %v107 = icmp ult i64 %v106, %v98
  br i1 %v107, label %each100, label %end101
end101:
  br label %from108
from108:
  %v111 = icmp ult i64 %v98, %v94
  br i1 %v111, label %each109, label %end110
each109:
  %each109.i = phi i64 [ %v98, %from108 ], [ %v124, %each109 ]
  %v112 = getelementptr double, ptr %v1, i64 %each109.i
  %v113 = getelementptr double, ptr %v93, i64 %each109.i
  %v114 = load <2 x double>, ptr %v112, align 8
  %v115 = getelementptr double, ptr %v112, i64 2
  %v116 = load <2 x double>, ptr %v115, align 8
  %v117 = getelementptr double, ptr %v112, i64 4
  %v118 = load <2 x double>, ptr %v117, align 8
  %v119 = getelementptr double, ptr %v112, i64 6
  %v120 = load <2 x double>, ptr %v119, align 8
  store <2 x double> %v114, ptr %v113, align 16, !nontemporal !0
  %v121 = getelementptr double, ptr %v113, i64 2
  store <2 x double> %v116, ptr %v121, align 16, !nontemporal !0
  %v122 = getelementptr double, ptr %v113, i64 4
  store <2 x double> %v118, ptr %v122, align 16, !nontemporal !0
  %v123 = getelementptr double, ptr %v113, i64 6
  store <2 x double> %v120, ptr %v123, align 16, !nontemporal !0
  %v124 = add i64 %each109.i, 8
  %v125 = icmp ult i64 %v124, %v94
  br i1 %v125, label %each109, label %end110
end110:
  %v126 = getelementptr double, ptr %v1, i64 %v94
  %v127 = load <2 x double>, ptr %v126, align 8
  store <2 x double> %v127, ptr %v1, align 8
  %v128 = getelementptr double, ptr %v126, i64 2
  %v129 = load <2 x double>, ptr %v128, align 8
  %v130 = getelementptr double, ptr %v1, i64 2
  store <2 x double> %v129, ptr %v130, align 8
  %v131 = getelementptr double, ptr %v126, i64 4
  %v132 = load <2 x double>, ptr %v131, align 8
  %v133 = getelementptr double, ptr %v1, i64 4
  store <2 x double> %v132, ptr %v133, align 8
  %v134 = getelementptr double, ptr %v126, i64 6
  %v135 = load <2 x double>, ptr %v134, align 8
  %v136 = getelementptr double, ptr %v1, i64 6
  store <2 x double> %v135, ptr %v136, align 8
  %v137 = sub i64 %v92, %v94
  store i64 %v137, ptr %v2
  %v138 = select i1 %v95, i64 0, i64 %v91
  store i64 %v138, ptr %v3
  %v139 = getelementptr double, ptr %v93, i64 %v94
  store ptr %v139, ptr %v4
  br label %stay89
stay89:
  br label %latch12
latch12:
  %v140 = add i64 %batch11.i, 1
  %v141 = getelementptr double, ptr %batch11.a, i64 %sa
  %v142 = getelementptr double, ptr %batch11.b, i64 %sb
  %v143 = getelementptr double, ptr %batch11.c, i64 %sc
  %v144 = icmp slt i64 %v140, %count
  br i1 %v144, label %batch11, label %done13
done13:
  %v145 = load i64, ptr %v3
  %v146 = load i64, ptr %v2
  %v147 = load ptr, ptr %v4
  %v148 = and i64 %v146, -8
  %v149 = icmp ne i64 %v148, 0
  %v150 = icmp ne i64 %v145, 0
  %v151 = and i1 %v149, %v150
  %v152 = select i1 %v151, i64 8, i64 0
  br label %from153
from153:
  %v156 = icmp ult i64 %v145, %v152
  br i1 %v156, label %each154, label %end155
each154:
  %each154.i = phi i64 [ %v145, %from153 ], [ %v160, %each154 ]
  %v157 = getelementptr double, ptr %v1, i64 %each154.i
  %v158 = load double, ptr %v157, align 8
  %v159 = getelementptr double, ptr %v147, i64 %each154.i
  store double %v158, ptr %v159, align 8
  %v160 = add i64 %each154.i, 1
  %v161 = icmp ult i64 %v160, %v152
  br i1 %v161, label %each154, label %end155
end155:
  br label %from162
from162:
  %v165 = icmp ult i64 %v152, %v148
  br i1 %v165, label %each163, label %end164
each163:
  %each163.i = phi i64 [ %v152, %from162 ], [ %v178, %each163 ]
  %v166 = getelementptr double, ptr %v1, i64 %each163.i
  %v167 = getelementptr double, ptr %v147, i64 %each163.i
  %v168 = load <2 x double>, ptr %v166, align 8
  %v169 = getelementptr double, ptr %v166, i64 2
  %v170 = load <2 x double>, ptr %v169, align 8
  %v171 = getelementptr double, ptr %v166, i64 4
  %v172 = load <2 x double>, ptr %v171, align 8
  %v173 = getelementptr double, ptr %v166, i64 6
  %v174 = load <2 x double>, ptr %v173, align 8
  store <2 x double> %v168, ptr %v167, align 16, !nontemporal !0
  %v175 = getelementptr double, ptr %v167, i64 2
  store <2 x double> %v170, ptr %v175, align 16, !nontemporal !0
  %v176 = getelementptr double, ptr %v167, i64 4
  store <2 x double> %v172, ptr %v176, align 16, !nontemporal !0
  %v177 = getelementptr double, ptr %v167, i64 6
  store <2 x double> %v174, ptr %v177, align 16, !nontemporal !0
  %v178 = add i64 %each163.i, 8
  %v179 = icmp ult i64 %v178, %v148
  br i1 %v179, label %each163, label %end164
end164:
  %v180 = getelementptr double, ptr %v1, i64 %v148
  %v181 = load <2 x double>, ptr %v180, align 8
  store <2 x double> %v181, ptr %v1, align 8
  %v182 = getelementptr double, ptr %v180, i64 2
  %v183 = load <2 x double>, ptr %v182, align 8
  %v184 = getelementptr double, ptr %v1, i64 2
  store <2 x double> %v183, ptr %v184, align 8
  %v185 = getelementptr double, ptr %v180, i64 4
  %v186 = load <2 x double>, ptr %v185, align 8
  %v187 = getelementptr double, ptr %v1, i64 4
  store <2 x double> %v186, ptr %v187, align 8
  %v188 = getelementptr double, ptr %v180, i64 6
  %v189 = load <2 x double>, ptr %v188, align 8
  %v190 = getelementptr double, ptr %v1, i64 6
  store <2 x double> %v189, ptr %v190, align 8
  %v191 = sub i64 %v146, %v148
  store i64 %v191, ptr %v2
  %v192 = select i1 %v149, i64 0, i64 %v145
  store i64 %v192, ptr %v3
  %v193 = getelementptr double, ptr %v147, i64 %v148
  store ptr %v193, ptr %v4
  %v194 = load i64, ptr %v3
  %v195 = load i64, ptr %v2
  %v196 = load ptr, ptr %v4
  br label %from197
from197:
  %v200 = icmp ult i64 %v194, %v195
  br i1 %v200, label %each198, label %end199
each198:
  %each198.i = phi i64 [ %v194, %from197 ], [ %v204, %each198 ]
  %v201 = getelementptr double, ptr %v1, i64 %each198.i
  %v202 = load double, ptr %v201, align 8
  %v203 = getelementptr double, ptr %v196, i64 %each198.i
  store double %v202, ptr %v203, align 8
  %v204 = add i64 %each198.i, 1
  %v205 = icmp ult i64 %v204, %v195
  br i1 %v205, label %each198, label %end199
end199:
  ret void
}

define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = icmp eq i64 %sc, 9
  br i1 %v1, label %staged, label %plain
staged:
  call void @tilewright_kernel_staged(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars)
  call void @llvm.x86.sse.sfence()
  ret void
plain:
  call void @tilewright_kernel_plain(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars)
  ret void
}

declare <2 x double> @llvm.fma.v2f64(<2 x double>, <2 x double>, <2 x double>)
declare double @llvm.fma.f64(double, double, double)
declare void @llvm.x86.sse.sfence()

!0 = !{i32 1}
