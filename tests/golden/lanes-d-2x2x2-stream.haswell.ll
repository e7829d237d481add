; d:nn:2x2x2|packed|alpha=1|beta=0|ieee haswell
; vector_bits=256 columns=0 cmul=none window_a=near group=4 window_b=near store=stream prefetch=4
define void @tilewright_kernel_stream(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = udiv i64 %count, 4
  br label %before2
before2:
  %v6 = icmp sgt i64 %v1, 0
  br i1 %v6, label %batch3, label %done5
batch3:
  %batch3.i = phi i64 [ 0, %before2 ], [ %v66, %latch4 ]
  %batch3.a = phi ptr [ %A, %before2 ], [ %v67, %latch4 ]
  %batch3.b = phi ptr [ %B, %before2 ], [ %v68, %latch4 ]
  %batch3.c = phi ptr [ %C, %before2 ], [ %v69, %latch4 ]
  %v7 = getelementptr double, ptr %batch3.a, i64 64
  call void @llvm.prefetch.p0(ptr %v7, i32 0, i32 3, i32 1)
  %v8 = getelementptr double, ptr %batch3.a, i64 72
  call void @llvm.prefetch.p0(ptr %v8, i32 0, i32 3, i32 1)
  %v9 = getelementptr double, ptr %batch3.b, i64 64
  call void @llvm.prefetch.p0(ptr %v9, i32 0, i32 3, i32 1)
  %v10 = getelementptr double, ptr %batch3.b, i64 72
  call void @llvm.prefetch.p0(ptr %v10, i32 0, i32 3, i32 1)
  %v11 = load <2 x double>, ptr %batch3.a, align 8
  %v12 = shufflevector <2 x double> %v11, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v13 = load <4 x double>, ptr %batch3.b, align 8
  %v14 = shufflevector <4 x double> %v13, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v15 = fmul <4 x double> %v12, %v14
  %v16 = getelementptr double, ptr %batch3.a, i64 2
  %v17 = load <2 x double>, ptr %v16, align 8
  %v18 = shufflevector <2 x double> %v17, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v19 = getelementptr double, ptr %batch3.b, i64 1
  %v20 = load <4 x double>, ptr %v19, align 8
  %v21 = shufflevector <4 x double> %v20, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v22 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v18, <4 x double> %v21, <4 x double> %v15)
  store <4 x double> %v22, ptr %batch3.c, align 32, !nontemporal !0
  %v23 = getelementptr double, ptr %batch3.a, i64 4
  %v24 = load <2 x double>, ptr %v23, align 8
  %v25 = shufflevector <2 x double> %v24, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v26 = getelementptr double, ptr %batch3.b, i64 4
  %v27 = load <4 x double>, ptr %v26, align 8
  %v28 = shufflevector <4 x double> %v27, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v29 = fmul <4 x double> %v25, %v28
  %v30 = getelementptr double, ptr %batch3.a, i64 6
  %v31 = load <2 x double>, ptr %v30, align 8
  %v32 = shufflevector <2 x double> %v31, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v33 = getelementptr double, ptr %batch3.b, i64 5
  %v34 = load <4 x double>, ptr %v33, align 8
  %v35 = shufflevector <4 x double> %v34, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v36 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v32, <4 x double> %v35, <4 x double> %v29)
  %v37 = getelementptr double, ptr %batch3.c, i64 4
  store <4 x double> %v36, ptr %v37, align 32, !nontemporal !0
  %v38 = getelementptr double, ptr %batch3.a, i64 8
  %v39 = load <2 x double>, ptr %v38, align 8
  %v40 = shufflevector <2 x double> %v39, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v41 = getelementptr double, ptr %batch3.b, i64 8
  %v42 = load <4 x double>, ptr %v41, align 8
  %v43 = shufflevector <4 x double> %v42, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v44 = fmul <4 x double> %v40, %v43
  %v45 = getelementptr double, ptr %batch3.a, i64 10
  %v46 = load <2 x double>, ptr %v45, align 8
  %v47 = shufflevector <2 x double> %v46, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v48 = getelementptr double, ptr %batch3.b, i64 9
  %v49 = load <4 x double>, ptr %v48, align 8
  %v50 = shufflevector <4 x double> %v49, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v51 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v47, <4 x double> %v50, <4 x double> %v44)
  %v52 = getelementptr double, ptr %batch3.c, i64 8
  store <4 x double> %v51, ptr %v52, align 32, !nontemporal !0
  %v53 = getelementptr double, ptr %batch3.a, i64 12
  %v54 = load <2 x double>, ptr %v53, align 8
  %v55 = shufflevector <2 x double> %v54, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v56 = getelementptr double, ptr %batch3.b, i64 12
  %v57 = load <4 x double>, ptr %v56, align 8
  %v58 = shufflevector <4 x double> %v57, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v59 = fmul <4 x double> %v55, %v58
  %v60 = getelementptr double, ptr %batch3.a, i64 14
  %v61 = load <2 x double>, ptr %v60, align 8
  %v62 = shufflevector <2 x double> %v61, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v63 = shufflevector <4 x double> %v57, <4 x double> poison, <4 x i32> <i32 1, i32 1, i32 3, i32 3>
  %v64 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v62, <4 x double> %v63, <4 x double> %v59)
  %v65 = getelementptr double, ptr %batch3.c, i64 12
  store <4 x double> %v64, ptr %v65, align 32, !nontemporal !0
  br label %latch4
latch4:
  %v66 = add i64 %batch3.i, 1
  %v67 = getelementptr double, ptr %batch3.a, i64 16
  %v68 = getelementptr double, ptr %batch3.b, i64 16
  %v69 = getelementptr double, ptr %batch3.c, i64 16
  %v70 = icmp slt i64 %v66, %v1
  br i1 %v70, label %batch3, label %done5
done5:
  %v71 = mul i64 %v1, 4
  %v72 = sub i64 %count, %v71
  %v73 = mul i64 %v71, 4
  %v74 = getelementptr double, ptr %A, i64 %v73
  %v75 = mul i64 %v71, 4
  %v76 = getelementptr double, ptr %B, i64 %v75
  %v77 = mul i64 %v71, 4
  %v78 = getelementptr double, ptr %C, i64 %v77
  br label %before79
before79:
  %v83 = icmp sgt i64 %v72, 0
  br i1 %v83, label %batch80, label %done82
batch80:
  %batch80.i = phi i64 [ 0, %before79 ], [ %v94, %latch81 ]
  %batch80.a = phi ptr [ %v74, %before79 ], [ %v95, %latch81 ]
  %batch80.b = phi ptr [ %v76, %before79 ], [ %v96, %latch81 ]
  %batch80.c = phi ptr [ %v78, %before79 ], [ %v97, %latch81 ]
  %v84 = load <2 x double>, ptr %batch80.a, align 8
  %v85 = shufflevector <2 x double> %v84, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v86 = load <4 x double>, ptr %batch80.b, align 8
  %v87 = shufflevector <4 x double> %v86, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v88 = fmul <4 x double> %v85, %v87
  %v89 = getelementptr double, ptr %batch80.a, i64 2
  %v90 = load <2 x double>, ptr %v89, align 8
  %v91 = shufflevector <2 x double> %v90, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v92 = shufflevector <4 x double> %v86, <4 x double> poison, <4 x i32> <i32 1, i32 1, i32 3, i32 3>
  %v93 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v91, <4 x double> %v92, <4 x double> %v88)
  store <4 x double> %v93, ptr %batch80.c, align 8
  br label %latch81
latch81:
  %v94 = add i64 %batch80.i, 1
  %v95 = getelementptr double, ptr %batch80.a, i64 4
  %v96 = getelementptr double, ptr %batch80.b, i64 4
  %v97 = getelementptr double, ptr %batch80.c, i64 4
  %v98 = icmp slt i64 %v94, %v72
  br i1 %v98, label %batch80, label %done82
done82:
  ret void
}

define void @tilewright_kernel_staged(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [152 x double], align 64
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
  %v10 = udiv i64 %count, 4
  br label %before11
before11:
  %v15 = icmp sgt i64 %v10, 0
  br i1 %v15, label %batch12, label %done14
batch12:
  %batch12.i = phi i64 [ 0, %before11 ], [ %v119, %latch13 ]
  %batch12.a = phi ptr [ %A, %before11 ], [ %v120, %latch13 ]
  %batch12.b = phi ptr [ %B, %before11 ], [ %v121, %latch13 ]
  %batch12.c = phi ptr [ %C, %before11 ], [ %v122, %latch13 ]
  %v16 = getelementptr double, ptr %batch12.a, i64 64
  call void @llvm.prefetch.p0(ptr %v16, i32 0, i32 3, i32 1)
  %v17 = getelementptr double, ptr %batch12.a, i64 72
  call void @llvm.prefetch.p0(ptr %v17, i32 0, i32 3, i32 1)
  %v18 = getelementptr double, ptr %batch12.b, i64 64
  call void @llvm.prefetch.p0(ptr %v18, i32 0, i32 3, i32 1)
  %v19 = getelementptr double, ptr %batch12.b, i64 72
  call void @llvm.prefetch.p0(ptr %v19, i32 0, i32 3, i32 1)
  %v20 = load i64, ptr %v2
  %v21 = getelementptr double, ptr %v1, i64 %v20
  %v22 = load <2 x double>, ptr %batch12.a, align 8
  %v23 = shufflevector <2 x double> %v22, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v24 = load <4 x double>, ptr %batch12.b, align 8
  %v25 = shufflevector <4 x double> %v24, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v26 = fmul <4 x double> %v23, %v25
  %v27 = getelementptr double, ptr %batch12.a, i64 2
  %v28 = load <2 x double>, ptr %v27, align 8
  %v29 = shufflevector <2 x double> %v28, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v30 = getelementptr double, ptr %batch12.b, i64 1
  %v31 = load <4 x double>, ptr %v30, align 8
  %v32 = shufflevector <4 x double> %v31, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v33 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v29, <4 x double> %v32, <4 x double> %v26)
  store <4 x double> %v33, ptr %v21, align 8
  %v34 = getelementptr double, ptr %batch12.a, i64 4
  %v35 = load <2 x double>, ptr %v34, align 8
  %v36 = shufflevector <2 x double> %v35, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v37 = getelementptr double, ptr %batch12.b, i64 4
  %v38 = load <4 x double>, ptr %v37, align 8
  %v39 = shufflevector <4 x double> %v38, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v40 = fmul <4 x double> %v36, %v39
  %v41 = getelementptr double, ptr %batch12.a, i64 6
  %v42 = load <2 x double>, ptr %v41, align 8
  %v43 = shufflevector <2 x double> %v42, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v44 = getelementptr double, ptr %batch12.b, i64 5
  %v45 = load <4 x double>, ptr %v44, align 8
  %v46 = shufflevector <4 x double> %v45, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v47 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v43, <4 x double> %v46, <4 x double> %v40)
  %v48 = getelementptr double, ptr %v21, i64 4
  store <4 x double> %v47, ptr %v48, align 8
  %v49 = getelementptr double, ptr %batch12.a, i64 8
  %v50 = load <2 x double>, ptr %v49, align 8
  %v51 = shufflevector <2 x double> %v50, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v52 = getelementptr double, ptr %batch12.b, i64 8
  %v53 = load <4 x double>, ptr %v52, align 8
  %v54 = shufflevector <4 x double> %v53, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v55 = fmul <4 x double> %v51, %v54
  %v56 = getelementptr double, ptr %batch12.a, i64 10
  %v57 = load <2 x double>, ptr %v56, align 8
  %v58 = shufflevector <2 x double> %v57, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v59 = getelementptr double, ptr %batch12.b, i64 9
  %v60 = load <4 x double>, ptr %v59, align 8
  %v61 = shufflevector <4 x double> %v60, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v62 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v58, <4 x double> %v61, <4 x double> %v55)
  %v63 = getelementptr double, ptr %v21, i64 8
  store <4 x double> %v62, ptr %v63, align 8
  %v64 = getelementptr double, ptr %batch12.a, i64 12
  %v65 = load <2 x double>, ptr %v64, align 8
  %v66 = shufflevector <2 x double> %v65, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v67 = getelementptr double, ptr %batch12.b, i64 12
  %v68 = load <4 x double>, ptr %v67, align 8
  %v69 = shufflevector <4 x double> %v68, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v70 = fmul <4 x double> %v66, %v69
  %v71 = getelementptr double, ptr %batch12.a, i64 14
  %v72 = load <2 x double>, ptr %v71, align 8
  %v73 = shufflevector <2 x double> %v72, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v74 = shufflevector <4 x double> %v68, <4 x double> poison, <4 x i32> <i32 1, i32 1, i32 3, i32 3>
  %v75 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v73, <4 x double> %v74, <4 x double> %v70)
  %v76 = getelementptr double, ptr %v21, i64 12
  store <4 x double> %v75, ptr %v76, align 8
  %v77 = load i64, ptr %v2
  %v78 = add i64 %v77, 16
  store i64 %v78, ptr %v2
  %v81 = icmp uge i64 %v78, 128
  br i1 %v81, label %leave79, label %stay80
leave79:
  %v82 = load i64, ptr %v3
  %v83 = load i64, ptr %v2
  %v84 = load ptr, ptr %v4
  %v85 = and i64 %v83, -8
  %v86 = icmp ne i64 %v85, 0
  %v87 = icmp ne i64 %v82, 0
  %v88 = and i1 %v86, %v87
  %v89 = select i1 %v88, i64 8, i64 0
  br label %from90
from90:
  %v93 = icmp ult i64 %v82, %v89
  br i1 %v93, label %each91, label %end92
each91:
  %each91.i = phi i64 [ %v82, %from90 ], [ %v97, %each91 ]
  %v94 = getelementptr double, ptr %v1, i64 %each91.i
  %v95 = load double, ptr %v94, align 8
  %v96 = getelementptr double, ptr %v84, i64 %each91.i
  store double %v95, ptr %v96, align 8
  %v97 = add i64 %each91.i, 1
  %v98 = icmp ult i64 %v97, %v89
  br i1 %v98, label %each91, label %end92
end92:
  br label %from99
from99:
  %v102 = icmp ult i64 %v89, %v85
  br i1 %v102, label %each100, label %end101
each100:
  %each100.i = phi i64 [ %v89, %from99 ], [ %v109, %each100 ]
  %v103 = getelementptr double, ptr %v1, i64 %each100.i
  %v104 = getelementptr double, ptr %v84, i64 %each100.i
  %v105 = load <4 x double>, ptr %v103, align 8
  %v106 = getelementptr double, ptr %v103, i64 4
  %v107 = load <4 x double>, ptr %v106, align 8
  store <4 x double> %v105, ptr %v104, align 32, !nontemporal !0
  %v108 = getelementptr double, ptr %v104, i64 4
  store <4 x double> %v107, ptr %v108, align 32, !nontemporal !0
  %v109 = add i64 %each100.i, 8
  %v110 = icmp ult i64 %v109, %v85
  br i1 %v110, label %each100, label %end101
end101:
  %v111 = getelementptr double, ptr %v1, i64 %v85
  %v112 = load <4 x double>, ptr %v111, align 8
  store <4 x double> %v112, ptr %v1, align 8
  %v113 = getelementptr double, ptr %v111, i64 4
  %v114 = load <4 x double>, ptr %v113, align 8
  %v115 = getelementptr double, ptr %v1, i64 4
  store <4 x double> %v114, ptr %v115, align 8
  %v116 = sub i64 %v83, %v85
  store i64 %v116, ptr %v2
  %v117 = select i1 %v86, i64 0, i64 %v82
  store i64 %v117, ptr %v3
  %v118 = getelementptr double, ptr %v84, i64 %v85
  store ptr %v118, ptr %v4
  br label %stay80
stay80:
  br label %latch13
latch13:
  %v119 = add i64 %batch12.i, 1
  %v120 = getelementptr double, ptr %batch12.a, i64 16
  %v121 = getelementptr double, ptr %batch12.b, i64 16
  %v122 = getelementptr double, ptr %batch12.c, i64 16
  %v123 = icmp slt i64 %v119, %v10
  br i1 %v123, label %batch12, label %done14
done14:
  %v124 = mul i64 %v10, 4
  %v125 = sub i64 %count, %v124
  %v126 = mul i64 %v124, 4
  %v127 = getelementptr double, ptr %A, i64 %v126
  %v128 = mul i64 %v124, 4
  %v129 = getelementptr double, ptr %B, i64 %v128
  %v130 = mul i64 %v124, 4
  %v131 = getelementptr double, ptr %C, i64 %v130
  br label %before132
before132:
  %v136 = icmp sgt i64 %v125, 0
  br i1 %v136, label %batch133, label %done135
batch133:
  %batch133.i = phi i64 [ 0, %before132 ], [ %v191, %latch134 ]
  %batch133.a = phi ptr [ %v127, %before132 ], [ %v192, %latch134 ]
  %batch133.b = phi ptr [ %v129, %before132 ], [ %v193, %latch134 ]
  %batch133.c = phi ptr [ %v131, %before132 ], [ %v194, %latch134 ]
  %v137 = load i64, ptr %v2
  %v138 = getelementptr double, ptr %v1, i64 %v137
  %v139 = load <2 x double>, ptr %batch133.a, align 8
  %v140 = shufflevector <2 x double> %v139, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v141 = load <4 x double>, ptr %batch133.b, align 8
  %v142 = shufflevector <4 x double> %v141, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v143 = fmul <4 x double> %v140, %v142
  %v144 = getelementptr double, ptr %batch133.a, i64 2
  %v145 = load <2 x double>, ptr %v144, align 8
  %v146 = shufflevector <2 x double> %v145, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v147 = shufflevector <4 x double> %v141, <4 x double> poison, <4 x i32> <i32 1, i32 1, i32 3, i32 3>
  %v148 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v146, <4 x double> %v147, <4 x double> %v143)
  store <4 x double> %v148, ptr %v138, align 8
  %v149 = load i64, ptr %v2
  %v150 = add i64 %v149, 4
  store i64 %v150, ptr %v2
  %v153 = icmp uge i64 %v150, 128
  br i1 %v153, label %leave151, label %stay152
leave151:
  %v154 = load i64, ptr %v3
  %v155 = load i64, ptr %v2
  %v156 = load ptr, ptr %v4
  %v157 = and i64 %v155, -8
  %v158 = icmp ne i64 %v157, 0
  %v159 = icmp ne i64 %v154, 0
  %v160 = and i1 %v158, %v159
  %v161 = select i1 %v160, i64 8, i64 0
  br label %from162
from162:
  %v165 = icmp ult i64 %v154, %v161
  br i1 %v165, label %each163, label %end164
each163:
  %each163.i = phi i64 [ %v154, %from162 ], [ %v169, %each163 ]
  %v166 = getelementptr double, ptr %v1, i64 %each163.i
  %v167 = load double, ptr %v166, align 8
  %v168 = getelementptr double, ptr %v156, i64 %each163.i
  store double %v167, ptr %v168, align 8
  %v169 = add i64 %each163.i, 1
  %v170 = icmp ult i64 %v169, %v161
  br i1 %v170, label %each163, label %end164
end164:
  br label %from171
from171:
  %v174 = icmp ult i64 %v161, %v157
  br i1 %v174, label %each172, label %end173
each172:
  %each172.i = phi i64 [ %v161, %from171 ], [ %v181, %each172 ]
  %v175 = getelementptr double, ptr %v1, i64 %each172.i
  %v176 = getelementptr double, ptr %v156, i64 %each172.i
  %v177 = load <4 x double>, ptr %v175, align 8
  %v178 = getelementptr double, ptr %v175, i64 4
  %v179 = load <4 x double>, ptr %v178, align 8
  store <4 x double> %v177, ptr %v176, align 32, !nontemporal !0
  %v180 = getelementptr double, ptr %v176, i64 4
  store <4 x double> %v179, ptr %v180, align 32, !nontemporal !0
  %v181 = add i64 %each172.i, 8
  %v182 = icmp ult i64 %v181, %v157
  br i1 %v182, label %each172, label %end173
end173:
  %v183 = getelementptr double, ptr %v1, i64 %v157
  %v184 = load <4 x double>, ptr %v183, align 8
  store <4 x double> %v184, ptr %v1, align 8
  %v185 = getelementptr double, ptr %v183, i64 4
  %v186 = load <4 x double>, ptr %v185, align 8
  %v187 = getelementptr double, ptr %v1, i64 4
  store <4 x double> %v186, ptr %v187, align 8
  %v188 = sub i64 %v155, %v157
  store i64 %v188, ptr %v2
  %v189 = select i1 %v158, i64 0, i64 %v154
  store i64 %v189, ptr %v3
  %v190 = getelementptr double, ptr %v156, i64 %v157
  store ptr %v190, ptr %v4
  br label %stay152
stay152:
  br label %latch134
latch134:
  %v191 = add i64 %batch133.i, 1
  %v192 = getelementptr double, ptr %batch133.a, i64 4
  %v193 = getelementptr double, ptr %batch133.b, i64 4
  %v194 = getelementptr double, ptr %batch133.c, i64 4
  %v195 = icmp slt i64 %v191, %v125
  br i1 %v195, label %batch133, label %done135
done135:
  %v196 = load i64, ptr %v3
  %v197 = load i64, ptr %v2
  %v198 = load ptr, ptr %v4
  %v199 = and i64 %v197, -8
  %v200 = icmp ne i64 %v199, 0
  %v201 = icmp ne i64 %v196, 0
  %v202 = and i1 %v200, %v201
  %v203 = select i1 %v202, i64 8, i64 0
  br label %from204
from204:
  %v207 = icmp ult i64 %v196, %v203
  br i1 %v207, label %each205, label %end206
each205:
  %each205.i = phi i64 [ %v196, %from204 ], [ %v211, %each205 ]
  %v208 = getelementptr double, ptr %v1, i64 %each205.i
  %v209 = load double, ptr %v208, align 8
  %v210 = getelementptr double, ptr %v198, i64 %each205.i
  store double %v209, ptr %v210, align 8
  %v211 = add i64 %each205.i, 1
  %v212 = icmp ult i64 %v211, %v203
  br i1 %v212, label %each205, label %end206
end206:
  br label %from213
from213:
  %v216 = icmp ult i64 %v203, %v199
  br i1 %v216, label %each214, label %end215
each214:
  %each214.i = phi i64 [ %v203, %from213 ], [ %v223, %each214 ]
  %v217 = getelementptr double, ptr %v1, i64 %each214.i
  %v218 = getelementptr double, ptr %v198, i64 %each214.i
  %v219 = load <4 x double>, ptr %v217, align 8
  %v220 = getelementptr double, ptr %v217, i64 4
  %v221 = load <4 x double>, ptr %v220, align 8
  store <4 x double> %v219, ptr %v218, align 32, !nontemporal !0
  %v222 = getelementptr double, ptr %v218, i64 4
  store <4 x double> %v221, ptr %v222, align 32, !nontemporal !0
  %v223 = add i64 %each214.i, 8
  %v224 = icmp ult i64 %v223, %v199
  br i1 %v224, label %each214, label %end215
end215:
  %v225 = getelementptr double, ptr %v1, i64 %v199
  %v226 = load <4 x double>, ptr %v225, align 8
  store <4 x double> %v226, ptr %v1, align 8
  %v227 = getelementptr double, ptr %v225, i64 4
  %v228 = load <4 x double>, ptr %v227, align 8
  %v229 = getelementptr double, ptr %v1, i64 4
  store <4 x double> %v228, ptr %v229, align 8
  %v230 = sub i64 %v197, %v199
  store i64 %v230, ptr %v2
  %v231 = select i1 %v200, i64 0, i64 %v196
  store i64 %v231, ptr %v3
  %v232 = getelementptr double, ptr %v198, i64 %v199
  store ptr %v232, ptr %v4
  %v233 = load i64, ptr %v3
  %v234 = load i64, ptr %v2
  %v235 = load ptr, ptr %v4
  br label %from236
from236:
  %v239 = icmp ult i64 %v233, %v234
  br i1 %v239, label %each237, label %end238
each237:
  %each237.i = phi i64 [ %v233, %from236 ], [ %v243, %each237 ]
  %v240 = getelementptr double, ptr %v1, i64 %each237.i
  %v241 = load double, ptr %v240, align 8
  %v242 = getelementptr double, ptr %v235, i64 %each237.i
  store double %v241, ptr %v242, align 8
  %v243 = add i64 %each237.i, 1
  %v244 = icmp ult i64 %v243, %v234
  br i1 %v244, label %each237, label %end238
end238:
  ret void
}

define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = ptrtoint ptr %C to i64
  %v2 = and i64 %v1, 31
  %v3 = icmp eq i64 %v2, 0
  br i1 %v3, label %stream, label %staged
stream:
  call void @tilewright_kernel_stream(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars)
  call void @llvm.x86.sse.sfence()
  ret void
staged:
  call void @tilewright_kernel_staged(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars)
  call void @llvm.x86.sse.sfence()
  ret void
}

declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare void @llvm.x86.sse.sfence()

!0 = !{i32 1}
