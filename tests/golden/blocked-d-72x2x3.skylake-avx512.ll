; d:nn:72x2x3|packed|alpha=1|beta=1|ieee skylake-avx512
; vector_bits=512 tail=mask cmul=none blk_m=2 blk_n=2 slice=3 blk_k=3 order=nm pack_a=1 pack_b=0
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [224 x double], align 64
  br label %before2
before2:
  %v6 = icmp sgt i64 %count, 0
  br i1 %v6, label %batch3, label %done5
batch3:
  %batch3.i = phi i64 [ 0, %before2 ], [ %v156, %latch4 ]
  %batch3.a = phi ptr [ %A, %before2 ], [ %v157, %latch4 ]
  %batch3.b = phi ptr [ %B, %before2 ], [ %v158, %latch4 ]
  %batch3.c = phi ptr [ %C, %before2 ], [ %v159, %latch4 ]
  br label %before7
before7:
  %v11 = icmp sgt i64 3, 0
  br i1 %v11, label %batch8, label %done10
batch8:
  %batch8.i = phi i64 [ 0, %before7 ], [ %v25, %latch9 ]
  %batch8.a = phi ptr [ %batch3.a, %before7 ], [ %v26, %latch9 ]
  %batch8.b = phi ptr [ %v1, %before7 ], [ %v27, %latch9 ]
  %batch8.c = phi ptr [ %v1, %before7 ], [ %batch8.c, %latch9 ]
  br label %before12
before12:
  %v16 = icmp sgt i64 4, 0
  br i1 %v16, label %batch13, label %done15
batch13:
  %batch13.i = phi i64 [ 0, %before12 ], [ %v21, %latch14 ]
  %batch13.a = phi ptr [ %batch8.a, %before12 ], [ %v22, %latch14 ]
  %batch13.b = phi ptr [ %batch8.b, %before12 ], [ %v23, %latch14 ]
  %batch13.c = phi ptr [ %batch8.b, %before12 ], [ %batch13.c, %latch14 ]
  %v17 = load <8 x double>, ptr %batch13.a, align 8
  store <8 x double> %v17, ptr %batch13.b, align 8
  %v18 = getelementptr double, ptr %batch13.a, i64 8
  %v19 = load <8 x double>, ptr %v18, align 8
  %v20 = getelementptr double, ptr %batch13.b, i64 8
  store <8 x double> %v19, ptr %v20, align 8
  br label %latch14
latch14:
  %v21 = add i64 %batch13.i, 1
  %v22 = getelementptr double, ptr %batch13.a, i64 16
  %v23 = getelementptr double, ptr %batch13.b, i64 48
  %v24 = icmp slt i64 %v21, 4
  br i1 %v24, label %batch13, label %done15
done15:
  br label %latch9
latch9:
  %v25 = add i64 %batch8.i, 1
  %v26 = getelementptr double, ptr %batch8.a, i64 72
  %v27 = getelementptr double, ptr %batch8.b, i64 16
  %v28 = icmp slt i64 %v25, 3
  br i1 %v28, label %batch8, label %done10
done10:
  %v29 = getelementptr double, ptr %batch3.a, i64 64
  %v30 = getelementptr double, ptr %v1, i64 192
  br label %before31
before31:
  %v35 = icmp sgt i64 3, 0
  br i1 %v35, label %batch32, label %done34
batch32:
  %batch32.i = phi i64 [ 0, %before31 ], [ %v37, %latch33 ]
  %batch32.a = phi ptr [ %v29, %before31 ], [ %v38, %latch33 ]
  %batch32.b = phi ptr [ %v30, %before31 ], [ %v39, %latch33 ]
  %batch32.c = phi ptr [ %v30, %before31 ], [ %batch32.c, %latch33 ]
  %v36 = load <8 x double>, ptr %batch32.a, align 8
  store <8 x double> %v36, ptr %batch32.b, align 8
  br label %latch33
latch33:
  %v37 = add i64 %batch32.i, 1
  %v38 = getelementptr double, ptr %batch32.a, i64 72
  %v39 = getelementptr double, ptr %batch32.b, i64 8
  %v40 = icmp slt i64 %v37, 3
  br i1 %v40, label %batch32, label %done34
done34:
  %v41 = getelementptr double, ptr %v29, i64 8
  %v42 = getelementptr double, ptr %v30, i64 24
  br label %before43
before43:
  %v47 = icmp sgt i64 4, 0
  br i1 %v47, label %batch44, label %done46
batch44:
  %batch44.i = phi i64 [ 0, %before43 ], [ %v105, %latch45 ]
  %batch44.a = phi ptr [ %v1, %before43 ], [ %v106, %latch45 ]
  %batch44.b = phi ptr [ %batch3.b, %before43 ], [ %batch44.b, %latch45 ]
  %batch44.c = phi ptr [ %batch3.c, %before43 ], [ %v107, %latch45 ]
  %v48 = load <8 x double>, ptr %batch44.a, align 8
  %v49 = getelementptr double, ptr %batch44.a, i64 8
  %v50 = load <8 x double>, ptr %v49, align 8
  %v51 = load double, ptr %batch44.b, align 8
  %v52 = insertelement <8 x double> poison, double %v51, i64 0
  %v53 = shufflevector <8 x double> %v52, <8 x double> poison, <8 x i32> zeroinitializer
  %v54 = fmul <8 x double> %v48, %v53
  %v55 = fmul <8 x double> %v50, %v53
  %v56 = getelementptr double, ptr %batch44.b, i64 3
  %v57 = load double, ptr %v56, align 8
  %v58 = insertelement <8 x double> poison, double %v57, i64 0
  %v59 = shufflevector <8 x double> %v58, <8 x double> poison, <8 x i32> zeroinitializer
  %v60 = fmul <8 x double> %v48, %v59
  %v61 = fmul <8 x double> %v50, %v59
  %v62 = getelementptr double, ptr %batch44.a, i64 16
  %v63 = load <8 x double>, ptr %v62, align 8
  %v64 = getelementptr double, ptr %batch44.a, i64 24
  %v65 = load <8 x double>, ptr %v64, align 8
  %v66 = getelementptr double, ptr %batch44.b, i64 1
  %v67 = load double, ptr %v66, align 8
  %v68 = insertelement <8 x double> poison, double %v67, i64 0
  %v69 = shufflevector <8 x double> %v68, <8 x double> poison, <8 x i32> zeroinitializer
  %v70 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v63, <8 x double> %v69, <8 x double> %v54)
  %v71 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v65, <8 x double> %v69, <8 x double> %v55)
  %v72 = getelementptr double, ptr %batch44.b, i64 4
  %v73 = load double, ptr %v72, align 8
  %v74 = insertelement <8 x double> poison, double %v73, i64 0
  %v75 = shufflevector <8 x double> %v74, <8 x double> poison, <8 x i32> zeroinitializer
  %v76 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v63, <8 x double> %v75, <8 x double> %v60)
  %v77 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v65, <8 x double> %v75, <8 x double> %v61)
  %v78 = getelementptr double, ptr %batch44.a, i64 32
  %v79 = load <8 x double>, ptr %v78, align 8
  %v80 = getelementptr double, ptr %batch44.a, i64 40
  %v81 = load <8 x double>, ptr %v80, align 8
  %v82 = getelementptr double, ptr %batch44.b, i64 2
  %v83 = load double, ptr %v82, align 8
  %v84 = insertelement <8 x double> poison, double %v83, i64 0
  %v85 = shufflevector <8 x double> %v84, <8 x double> poison, <8 x i32> zeroinitializer
  %v86 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v79, <8 x double> %v85, <8 x double> %v70)
  %v87 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v81, <8 x double> %v85, <8 x double> %v71)
  %v88 = getelementptr double, ptr %batch44.b, i64 5
  %v89 = load double, ptr %v88, align 8
  %v90 = insertelement <8 x double> poison, double %v89, i64 0
  %v91 = shufflevector <8 x double> %v90, <8 x double> poison, <8 x i32> zeroinitializer
  %v92 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v79, <8 x double> %v91, <8 x double> %v76)
  %v93 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v81, <8 x double> %v91, <8 x double> %v77)
  %v94 = getelementptr double, ptr %batch44.c, i64 8
  %v95 = getelementptr double, ptr %batch44.c, i64 72
  %v96 = getelementptr double, ptr %batch44.c, i64 80
  %v97 = load <8 x double>, ptr %batch44.c, align 8
  %v98 = fadd <8 x double> %v86, %v97
  %v99 = load <8 x double>, ptr %v94, align 8
  %v100 = fadd <8 x double> %v87, %v99
  %v101 = load <8 x double>, ptr %v95, align 8
  %v102 = fadd <8 x double> %v92, %v101
  %v103 = load <8 x double>, ptr %v96, align 8
  %v104 = fadd <8 x double> %v93, %v103
  store <8 x double> %v98, ptr %batch44.c, align 8
  store <8 x double> %v100, ptr %v94, align 8
  store <8 x double> %v102, ptr %v95, align 8
  store <8 x double> %v104, ptr %v96, align 8
  br label %latch45
latch45:
  %v105 = add i64 %batch44.i, 1
  %v106 = getelementptr double, ptr %batch44.a, i64 48
  %v107 = getelementptr double, ptr %batch44.c, i64 16
  %v108 = icmp slt i64 %v105, 4
  br i1 %v108, label %batch44, label %done46
done46:
  %v109 = getelementptr double, ptr %v1, i64 192
  %v110 = getelementptr double, ptr %batch3.c, i64 64
  %v111 = load <8 x double>, ptr %v109, align 8
  %v112 = load double, ptr %batch3.b, align 8
  %v113 = insertelement <8 x double> poison, double %v112, i64 0
  %v114 = shufflevector <8 x double> %v113, <8 x double> poison, <8 x i32> zeroinitializer
  %v115 = fmul <8 x double> %v111, %v114
  %v116 = getelementptr double, ptr %batch3.b, i64 3
  %v117 = load double, ptr %v116, align 8
  %v118 = insertelement <8 x double> poison, double %v117, i64 0
  %v119 = shufflevector <8 x double> %v118, <8 x double> poison, <8 x i32> zeroinitializer
  %v120 = fmul <8 x double> %v111, %v119
  %v121 = getelementptr double, ptr %v109, i64 8
  %v122 = load <8 x double>, ptr %v121, align 8
  %v123 = getelementptr double, ptr %batch3.b, i64 1
  %v124 = load double, ptr %v123, align 8
  %v125 = insertelement <8 x double> poison, double %v124, i64 0
  %v126 = shufflevector <8 x double> %v125, <8 x double> poison, <8 x i32> zeroinitializer
  %v127 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v122, <8 x double> %v126, <8 x double> %v115)
  %v128 = getelementptr double, ptr %batch3.b, i64 4
  %v129 = load double, ptr %v128, align 8
  %v130 = insertelement <8 x double> poison, double %v129, i64 0
  %v131 = shufflevector <8 x double> %v130, <8 x double> poison, <8 x i32> zeroinitializer
  %v132 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v122, <8 x double> %v131, <8 x double> %v120)
  %v133 = getelementptr double, ptr %v109, i64 16
  %v134 = load <8 x double>, ptr %v133, align 8
  %v135 = getelementptr double, ptr %batch3.b, i64 2
  %v136 = load double, ptr %v135, align 8
  %v137 = insertelement <8 x double> poison, double %v136, i64 0
  %v138 = shufflevector <8 x double> %v137, <8 x double> poison, <8 x i32> zeroinitializer
  %v139 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v134, <8 x double> %v138, <8 x double> %v127)
  %v140 = getelementptr double, ptr %batch3.b, i64 5
  %v141 = load double, ptr %v140, align 8
  %v142 = insertelement <8 x double> poison, double %v141, i64 0
  %v143 = shufflevector <8 x double> %v142, <8 x double> poison, <8 x i32> zeroinitializer
  %v144 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v134, <8 x double> %v143, <8 x double> %v132)
  %v145 = getelementptr double, ptr %v110, i64 72
  %v146 = load <8 x double>, ptr %v110, align 8
  %v147 = fadd <8 x double> %v139, %v146
  %v148 = load <8 x double>, ptr %v145, align 8
  %v149 = fadd <8 x double> %v144, %v148
  store <8 x double> %v147, ptr %v110, align 8
  store <8 x double> %v149, ptr %v145, align 8
  %v150 = getelementptr double, ptr %v109, i64 24
  %v151 = getelementptr double, ptr %v110, i64 8
  %v152 = getelementptr double, ptr %batch3.b, i64 6
  %v153 = getelementptr double, ptr %batch3.c, i64 144
  %v154 = getelementptr double, ptr %batch3.a, i64 216
  %v155 = getelementptr double, ptr %batch3.b, i64 3
  br label %latch4
latch4:
  %v156 = add i64 %batch3.i, 1
  %v157 = getelementptr double, ptr %batch3.a, i64 %sa
  %v158 = getelementptr double, ptr %batch3.b, i64 %sb
  %v159 = getelementptr double, ptr %batch3.c, i64 %sc
  %v160 = icmp slt i64 %v156, %count
  br i1 %v160, label %batch3, label %done5
done5:
  ret void
}

declare <8 x double> @llvm.fma.v8f64(<8 x double>, <8 x double>, <8 x double>)

!0 = !{i32 1}
