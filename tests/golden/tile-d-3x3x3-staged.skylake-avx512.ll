; d:nn:3x3x3|packed|alpha=1|beta=0|ieee skylake-avx512
; vector_bits=256 tail=mask store=staged cmul=none blk_m=1 blk_n=3 blk_k=3 inner=column reg_a=1 reg_b=1 order=nm roll=0 prefetch=0 level=1
define void @tilewright_kernel_plain(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v57, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v58, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v59, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v60, %latch3 ]
  %v6 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %batch2.a, i32 8, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x double> zeroinitializer)
  %v7 = load double, ptr %batch2.b, align 8
  %v8 = insertelement <4 x double> poison, double %v7, i64 0
  %v9 = shufflevector <4 x double> %v8, <4 x double> poison, <4 x i32> zeroinitializer
  %v10 = fmul <4 x double> %v6, %v9
  %v11 = getelementptr double, ptr %batch2.b, i64 3
  %v12 = load double, ptr %v11, align 8
  %v13 = insertelement <4 x double> poison, double %v12, i64 0
  %v14 = shufflevector <4 x double> %v13, <4 x double> poison, <4 x i32> zeroinitializer
  %v15 = fmul <4 x double> %v6, %v14
  %v16 = getelementptr double, ptr %batch2.b, i64 6
  %v17 = load double, ptr %v16, align 8
  %v18 = insertelement <4 x double> poison, double %v17, i64 0
  %v19 = shufflevector <4 x double> %v18, <4 x double> poison, <4 x i32> zeroinitializer
  %v20 = fmul <4 x double> %v6, %v19
  %v21 = getelementptr double, ptr %batch2.a, i64 3
  %v22 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v21, i32 8, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x double> zeroinitializer)
  %v23 = getelementptr double, ptr %batch2.b, i64 1
  %v24 = load double, ptr %v23, align 8
  %v25 = insertelement <4 x double> poison, double %v24, i64 0
  %v26 = shufflevector <4 x double> %v25, <4 x double> poison, <4 x i32> zeroinitializer
  %v27 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v22, <4 x double> %v26, <4 x double> %v10)
  %v28 = getelementptr double, ptr %batch2.b, i64 4
  %v29 = load double, ptr %v28, align 8
  %v30 = insertelement <4 x double> poison, double %v29, i64 0
  %v31 = shufflevector <4 x double> %v30, <4 x double> poison, <4 x i32> zeroinitializer
  %v32 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v22, <4 x double> %v31, <4 x double> %v15)
  %v33 = getelementptr double, ptr %batch2.b, i64 7
  %v34 = load double, ptr %v33, align 8
  %v35 = insertelement <4 x double> poison, double %v34, i64 0
  %v36 = shufflevector <4 x double> %v35, <4 x double> poison, <4 x i32> zeroinitializer
  %v37 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v22, <4 x double> %v36, <4 x double> %v20)
  %v38 = getelementptr double, ptr %batch2.a, i64 6
  %v39 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v38, i32 8, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x double> zeroinitializer)
  %v40 = getelementptr double, ptr %batch2.b, i64 2
  %v41 = load double, ptr %v40, align 8
  %v42 = insertelement <4 x double> poison, double %v41, i64 0
  %v43 = shufflevector <4 x double> %v42, <4 x double> poison, <4 x i32> zeroinitializer
  %v44 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v39, <4 x double> %v43, <4 x double> %v27)
  %v45 = getelementptr double, ptr %batch2.b, i64 5
  %v46 = load double, ptr %v45, align 8
  %v47 = insertelement <4 x double> poison, double %v46, i64 0
  %v48 = shufflevector <4 x double> %v47, <4 x double> poison, <4 x i32> zeroinitializer
  %v49 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v39, <4 x double> %v48, <4 x double> %v32)
  %v50 = getelementptr double, ptr %batch2.b, i64 8
  %v51 = load double, ptr %v50, align 8
  %v52 = insertelement <4 x double> poison, double %v51, i64 0
  %v53 = shufflevector <4 x double> %v52, <4 x double> poison, <4 x i32> zeroinitializer
  %v54 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v39, <4 x double> %v53, <4 x double> %v37)
  %v55 = getelementptr double, ptr %batch2.c, i64 3
  %v56 = getelementptr double, ptr %batch2.c, i64 6
  call void @llvm.masked.store.v4f64.p0(<4 x double> %v44, ptr %batch2.c, i32 8, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  call void @llvm.masked.store.v4f64.p0(<4 x double> %v49, ptr %v55, i32 8, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  call void @llvm.masked.store.v4f64.p0(<4 x double> %v54, ptr %v56, i32 8, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  br label %latch3
latch3:
  %v57 = add i64 %batch2.i, 1
  %v58 = getelementptr double, ptr %batch2.a, i64 %sa
  %v59 = getelementptr double, ptr %batch2.b, i64 %sb
  %v60 = getelementptr double, ptr %batch2.c, i64 %sc
  %v61 = icmp slt i64 %v57, %count
  br i1 %v61, label %batch2, label %done4
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
  %batch11.i = phi i64 [ 0, %before10 ], [ %v110, %latch12 ]
  %batch11.a = phi ptr [ %A, %before10 ], [ %v111, %latch12 ]
  %batch11.b = phi ptr [ %B, %before10 ], [ %v112, %latch12 ]
  %batch11.c = phi ptr [ %C, %before10 ], [ %v113, %latch12 ]
  %v15 = load i64, ptr %v2
  %v16 = getelementptr double, ptr %v1, i64 %v15
  %v17 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %batch11.a, i32 8, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x double> zeroinitializer)
  %v18 = load double, ptr %batch11.b, align 8
  %v19 = insertelement <4 x double> poison, double %v18, i64 0
  %v20 = shufflevector <4 x double> %v19, <4 x double> poison, <4 x i32> zeroinitializer
  %v21 = fmul <4 x double> %v17, %v20
  %v22 = getelementptr double, ptr %batch11.b, i64 3
  %v23 = load double, ptr %v22, align 8
  %v24 = insertelement <4 x double> poison, double %v23, i64 0
  %v25 = shufflevector <4 x double> %v24, <4 x double> poison, <4 x i32> zeroinitializer
  %v26 = fmul <4 x double> %v17, %v25
  %v27 = getelementptr double, ptr %batch11.b, i64 6
  %v28 = load double, ptr %v27, align 8
  %v29 = insertelement <4 x double> poison, double %v28, i64 0
  %v30 = shufflevector <4 x double> %v29, <4 x double> poison, <4 x i32> zeroinitializer
  %v31 = fmul <4 x double> %v17, %v30
  %v32 = getelementptr double, ptr %batch11.a, i64 3
  %v33 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v32, i32 8, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x double> zeroinitializer)
  %v34 = getelementptr double, ptr %batch11.b, i64 1
  %v35 = load double, ptr %v34, align 8
  %v36 = insertelement <4 x double> poison, double %v35, i64 0
  %v37 = shufflevector <4 x double> %v36, <4 x double> poison, <4 x i32> zeroinitializer
  %v38 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v33, <4 x double> %v37, <4 x double> %v21)
  %v39 = getelementptr double, ptr %batch11.b, i64 4
  %v40 = load double, ptr %v39, align 8
  %v41 = insertelement <4 x double> poison, double %v40, i64 0
  %v42 = shufflevector <4 x double> %v41, <4 x double> poison, <4 x i32> zeroinitializer
  %v43 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v33, <4 x double> %v42, <4 x double> %v26)
  %v44 = getelementptr double, ptr %batch11.b, i64 7
  %v45 = load double, ptr %v44, align 8
  %v46 = insertelement <4 x double> poison, double %v45, i64 0
  %v47 = shufflevector <4 x double> %v46, <4 x double> poison, <4 x i32> zeroinitializer
  %v48 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v33, <4 x double> %v47, <4 x double> %v31)
  %v49 = getelementptr double, ptr %batch11.a, i64 6
  %v50 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v49, i32 8, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x double> zeroinitializer)
  %v51 = getelementptr double, ptr %batch11.b, i64 2
  %v52 = load double, ptr %v51, align 8
  %v53 = insertelement <4 x double> poison, double %v52, i64 0
  %v54 = shufflevector <4 x double> %v53, <4 x double> poison, <4 x i32> zeroinitializer
  %v55 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v50, <4 x double> %v54, <4 x double> %v38)
  %v56 = getelementptr double, ptr %batch11.b, i64 5
  %v57 = load double, ptr %v56, align 8
  %v58 = insertelement <4 x double> poison, double %v57, i64 0
  %v59 = shufflevector <4 x double> %v58, <4 x double> poison, <4 x i32> zeroinitializer
  %v60 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v50, <4 x double> %v59, <4 x double> %v43)
  %v61 = getelementptr double, ptr %batch11.b, i64 8
  %v62 = load double, ptr %v61, align 8
  %v63 = insertelement <4 x double> poison, double %v62, i64 0
  %v64 = shufflevector <4 x double> %v63, <4 x double> poison, <4 x i32> zeroinitializer
  %v65 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v50, <4 x double> %v64, <4 x double> %v48)
  %v66 = getelementptr double, ptr %v16, i64 3
  %v67 = getelementptr double, ptr %v16, i64 6
  call void @llvm.masked.store.v4f64.p0(<4 x double> %v55, ptr %v16, i32 8, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  call void @llvm.masked.store.v4f64.p0(<4 x double> %v60, ptr %v66, i32 8, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  call void @llvm.masked.store.v4f64.p0(<4 x double> %v65, ptr %v67, i32 8, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  %v68 = load i64, ptr %v2
  %v69 = add i64 %v68, 9
  store i64 %v69, ptr %v2
  %v72 = icmp uge i64 %v69, 128
  br i1 %v72, label %leave70, label %stay71
leave70:
  %v73 = load i64, ptr %v3
  %v74 = load i64, ptr %v2
  %v75 = load ptr, ptr %v4
  %v76 = and i64 %v74, -8
  %v77 = icmp ne i64 %v76, 0
  %v78 = icmp ne i64 %v73, 0
  %v79 = and i1 %v77, %v78
  %v80 = select i1 %v79, i64 8, i64 0
  br label %from81
from81:
  %v84 = icmp ult i64 %v73, %v80
  br i1 %v84, label %each82, label %end83
each82:
  %each82.i = phi i64 [ %v73, %from81 ], [ %v88, %each82 ]
  %v85 = getelementptr double, ptr %v1, i64 %each82.i
  %v86 = load double, ptr %v85, align 8
  %v87 = getelementptr double, ptr %v75, i64 %each82.i
  store double %v86, ptr %v87, align 8
  %v88 = add i64 %each82.i, 1
  %v89 = icmp ult i64 %v88, %v80
  br i1 %v89, label %each82, label %end83
end83:
  br label %from90
from90:
  %v93 = icmp ult i64 %v80, %v76
  br i1 %v93, label %each91, label %end92
each91:
  %each91.i = phi i64 [ %v80, %from90 ], [ %v100, %each91 ]
  %v94 = getelementptr double, ptr %v1, i64 %each91.i
  %v95 = getelementptr double, ptr %v75, i64 %each91.i
  %v96 = load <4 x double>, ptr %v94, align 8
  %v97 = getelementptr double, ptr %v94, i64 4
  %v98 = load <4 x double>, ptr %v97, align 8
  store <4 x double> %v96, ptr %v95, align 32, !nontemporal !0
  %v99 = getelementptr double, ptr %v95, i64 4
  store <4 x double> %v98, ptr %v99, align 32, !nontemporal !0
  %v100 = add i64 %each91.i, 8
  %v101 = icmp ult i64 %v100, %v76
  br i1 %v101, label %each91, label %end92
end92:
  %v102 = getelementptr double, ptr %v1, i64 %v76
  %v103 = load <4 x double>, ptr %v102, align 8
  store <4 x double> %v103, ptr %v1, align 8
  %v104 = getelementptr double, ptr %v102, i64 4
  %v105 = load <4 x double>, ptr %v104, align 8
  %v106 = getelementptr double, ptr %v1, i64 4
  store <4 x double> %v105, ptr %v106, align 8
  %v107 = sub i64 %v74, %v76
  store i64 %v107, ptr %v2
  %v108 = select i1 %v77, i64 0, i64 %v73
  store i64 %v108, ptr %v3
  %v109 = getelementptr double, ptr %v75, i64 %v76
  store ptr %v109, ptr %v4
  br label %stay71
stay71:
  br label %latch12
latch12:
  %v110 = add i64 %batch11.i, 1
  %v111 = getelementptr double, ptr %batch11.a, i64 %sa
  %v112 = getelementptr double, ptr %batch11.b, i64 %sb
  %v113 = getelementptr double, ptr %batch11.c, i64 %sc
  %v114 = icmp slt i64 %v110, %count
  br i1 %v114, label %batch11, label %done13
done13:
  %v115 = load i64, ptr %v3
  %v116 = load i64, ptr %v2
  %v117 = load ptr, ptr %v4
  %v118 = and i64 %v116, -8
  %v119 = icmp ne i64 %v118, 0
  %v120 = icmp ne i64 %v115, 0
  %v121 = and i1 %v119, %v120
  %v122 = select i1 %v121, i64 8, i64 0
  br label %from123
from123:
  %v126 = icmp ult i64 %v115, %v122
  br i1 %v126, label %each124, label %end125
each124:
  %each124.i = phi i64 [ %v115, %from123 ], [ %v130, %each124 ]
  %v127 = getelementptr double, ptr %v1, i64 %each124.i
  %v128 = load double, ptr %v127, align 8
  %v129 = getelementptr double, ptr %v117, i64 %each124.i
  store double %v128, ptr %v129, align 8
  %v130 = add i64 %each124.i, 1
  %v131 = icmp ult i64 %v130, %v122
  br i1 %v131, label %each124, label %end125
end125:
  br label %from132
from132:
  %v135 = icmp ult i64 %v122, %v118
  br i1 %v135, label %each133, label %end134
each133:
  %each133.i = phi i64 [ %v122, %from132 ], [ %v142, %each133 ]
  %v136 = getelementptr double, ptr %v1, i64 %each133.i
  %v137 = getelementptr double, ptr %v117, i64 %each133.i
  %v138 = load <4 x double>, ptr %v136, align 8
  %v139 = getelementptr double, ptr %v136, i64 4
  %v140 = load <4 x double>, ptr %v139, align 8
  store <4 x double> %v138, ptr %v137, align 32, !nontemporal !0
  %v141 = getelementptr double, ptr %v137, i64 4
  store <4 x double> %v140, ptr %v141, align 32, !nontemporal !0
  %v142 = add i64 %each133.i, 8
  %v143 = icmp ult i64 %v142, %v118
  br i1 %v143, label %each133, label %end134
end134:
  %v144 = getelementptr double, ptr %v1, i64 %v118
  %v145 = load <4 x double>, ptr %v144, align 8
  store <4 x double> %v145, ptr %v1, align 8
  %v146 = getelementptr double, ptr %v144, i64 4
  %v147 = load <4 x double>, ptr %v146, align 8
  %v148 = getelementptr double, ptr %v1, i64 4
  store <4 x double> %v147, ptr %v148, align 8
  %v149 = sub i64 %v116, %v118
  store i64 %v149, ptr %v2
  %v150 = select i1 %v119, i64 0, i64 %v115
  store i64 %v150, ptr %v3
  %v151 = getelementptr double, ptr %v117, i64 %v118
  store ptr %v151, ptr %v4
  %v152 = load i64, ptr %v3
  %v153 = load i64, ptr %v2
  %v154 = load ptr, ptr %v4
  br label %from155
from155:
  %v158 = icmp ult i64 %v152, %v153
  br i1 %v158, label %each156, label %end157
each156:
  %each156.i = phi i64 [ %v152, %from155 ], [ %v162, %each156 ]
  %v159 = getelementptr double, ptr %v1, i64 %each156.i
  %v160 = load double, ptr %v159, align 8
  %v161 = getelementptr double, ptr %v154, i64 %each156.i
  store double %v160, ptr %v161, align 8
  %v162 = add i64 %each156.i, 1
  %v163 = icmp ult i64 %v162, %v153
  br i1 %v163, label %each156, label %end157
end157:
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

declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)
declare <4 x double> @llvm.masked.load.v4f64.p0(ptr, i32, <4 x i1>, <4 x double>)
declare void @llvm.masked.store.v4f64.p0(<4 x double>, ptr, i32, <4 x i1>)
declare void @llvm.x86.sse.sfence()

!0 = !{i32 1}
