define void @tilewright_kernel_main(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp slt i64 %sa, %sb
  br i1 %v5, label %loop2, label %after4
loop2:
  %loop2.i = phi i64 [ %sa, %before1 ], [ %v89, %latch3 ]
  %v6 = getelementptr double, ptr %A, i64 %loop2.i
  %v7 = getelementptr double, ptr %B, i64 %loop2.i
  %v8 = getelementptr double, ptr %C, i64 %loop2.i
  %v9 = getelementptr i64, ptr %scalars, i64 4
  %v10 = load i64, ptr %v9, align 8
  %v11 = getelementptr double, ptr %v6, i64 %v10
  %v12 = load <8 x double>, ptr %v11, align 8
  %v13 = getelementptr double, ptr %v11, i64 8
  %v14 = load <8 x double>, ptr %v13, align 8
  %v15 = getelementptr i64, ptr %scalars, i64 6
  %v16 = load i64, ptr %v15, align 8
  %v17 = getelementptr double, ptr %v6, i64 %v16
  %v18 = load <8 x double>, ptr %v17, align 8
  %v19 = getelementptr double, ptr %v17, i64 8
  %v20 = load <8 x double>, ptr %v19, align 8
  %v21 = getelementptr i64, ptr %scalars, i64 8
  %v22 = load i64, ptr %v21, align 8
  %v23 = getelementptr double, ptr %v7, i64 %v22
  %v24 = load <8 x double>, ptr %v23, align 8
  %v25 = getelementptr double, ptr %v23, i64 8
  %v26 = load <8 x double>, ptr %v25, align 8
  %v27 = fmul <8 x double> %v12, %v24
  %v28 = fmul <8 x double> %v18, %v24
  %v29 = fmul <8 x double> %v14, %v26
  %v30 = fmul <8 x double> %v20, %v26
  %v31 = getelementptr i64, ptr %scalars, i64 9
  %v32 = load i64, ptr %v31, align 8
  %v33 = getelementptr double, ptr %v7, i64 %v32
  %v34 = load <8 x double>, ptr %v33, align 8
  %v35 = getelementptr double, ptr %v33, i64 8
  %v36 = load <8 x double>, ptr %v35, align 8
  %v37 = fmul <8 x double> %v12, %v34
  %v38 = fmul <8 x double> %v18, %v34
  %v39 = fmul <8 x double> %v14, %v36
  %v40 = fmul <8 x double> %v20, %v36
  %v41 = getelementptr i64, ptr %scalars, i64 5
  %v42 = load i64, ptr %v41, align 8
  %v43 = getelementptr double, ptr %v6, i64 %v42
  %v44 = load <8 x double>, ptr %v43, align 8
  %v45 = getelementptr double, ptr %v43, i64 8
  %v46 = load <8 x double>, ptr %v45, align 8
  %v47 = getelementptr i64, ptr %scalars, i64 7
  %v48 = load i64, ptr %v47, align 8
  %v49 = getelementptr double, ptr %v6, i64 %v48
  %v50 = load <8 x double>, ptr %v49, align 8
  %v51 = getelementptr double, ptr %v49, i64 8
  %v52 = load <8 x double>, ptr %v51, align 8
  %v53 = getelementptr i64, ptr %scalars, i64 10
  %v54 = load i64, ptr %v53, align 8
  %v55 = getelementptr double, ptr %v7, i64 %v54
  %v56 = load <8 x double>, ptr %v55, align 8
  %v57 = getelementptr double, ptr %v55, i64 8
  %v58 = load <8 x double>, ptr %v57, align 8
  %v59 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v44, <8 x double> %v56, <8 x double> %v27)
  %v60 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v50, <8 x double> %v56, <8 x double> %v28)
  %v61 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v46, <8 x double> %v58, <8 x double> %v29)
  %v62 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v52, <8 x double> %v58, <8 x double> %v30)
  %v63 = getelementptr i64, ptr %scalars, i64 11
  %v64 = load i64, ptr %v63, align 8
  %v65 = getelementptr double, ptr %v7, i64 %v64
  %v66 = load <8 x double>, ptr %v65, align 8
  %v67 = getelementptr double, ptr %v65, i64 8
  %v68 = load <8 x double>, ptr %v67, align 8
  %v69 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v44, <8 x double> %v66, <8 x double> %v37)
  %v70 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v50, <8 x double> %v66, <8 x double> %v38)
  %v71 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v46, <8 x double> %v68, <8 x double> %v39)
  %v72 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v52, <8 x double> %v68, <8 x double> %v40)
  %v73 = getelementptr i64, ptr %scalars, i64 12
  %v74 = load i64, ptr %v73, align 8
  %v75 = getelementptr double, ptr %v8, i64 %v74
  store <8 x double> %v59, ptr %v75, align 8
  %v76 = getelementptr double, ptr %v75, i64 8
  store <8 x double> %v61, ptr %v76, align 8
  %v77 = getelementptr i64, ptr %scalars, i64 13
  %v78 = load i64, ptr %v77, align 8
  %v79 = getelementptr double, ptr %v8, i64 %v78
  store <8 x double> %v69, ptr %v79, align 8
  %v80 = getelementptr double, ptr %v79, i64 8
  store <8 x double> %v71, ptr %v80, align 8
  %v81 = getelementptr i64, ptr %scalars, i64 14
  %v82 = load i64, ptr %v81, align 8
  %v83 = getelementptr double, ptr %v8, i64 %v82
  store <8 x double> %v60, ptr %v83, align 8
  %v84 = getelementptr double, ptr %v83, i64 8
  store <8 x double> %v62, ptr %v84, align 8
  %v85 = getelementptr i64, ptr %scalars, i64 15
  %v86 = load i64, ptr %v85, align 8
  %v87 = getelementptr double, ptr %v8, i64 %v86
  store <8 x double> %v70, ptr %v87, align 8
  %v88 = getelementptr double, ptr %v87, i64 8
  store <8 x double> %v72, ptr %v88, align 8
  br label %latch3
latch3:
  %v89 = add i64 %loop2.i, 16
  %v90 = icmp slt i64 %v89, %sb
  br i1 %v90, label %loop2, label %after4
after4:
  ret void
}

define void @tilewright_kernel_rest(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp slt i64 %sa, %sb
  br i1 %v5, label %loop2, label %after4
loop2:
  %loop2.i = phi i64 [ %sa, %before1 ], [ %v65, %latch3 ]
  %v6 = getelementptr double, ptr %A, i64 %loop2.i
  %v7 = getelementptr double, ptr %B, i64 %loop2.i
  %v8 = getelementptr double, ptr %C, i64 %loop2.i
  %v9 = sub i64 %sb, %loop2.i
  %v10 = insertelement <8 x i64> poison, i64 %v9, i64 0
  %v11 = shufflevector <8 x i64> %v10, <8 x i64> poison, <8 x i32> zeroinitializer
  %v12 = icmp slt <8 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>, %v11
  %v13 = getelementptr i64, ptr %scalars, i64 4
  %v14 = load i64, ptr %v13, align 8
  %v15 = getelementptr double, ptr %v6, i64 %v14
  %v16 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr %v15, i32 8, <8 x i1> %v12, <8 x double> zeroinitializer)
  %v17 = getelementptr i64, ptr %scalars, i64 6
  %v18 = load i64, ptr %v17, align 8
  %v19 = getelementptr double, ptr %v6, i64 %v18
  %v20 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr %v19, i32 8, <8 x i1> %v12, <8 x double> zeroinitializer)
  %v21 = getelementptr i64, ptr %scalars, i64 8
  %v22 = load i64, ptr %v21, align 8
  %v23 = getelementptr double, ptr %v7, i64 %v22
  %v24 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr %v23, i32 8, <8 x i1> %v12, <8 x double> zeroinitializer)
  %v25 = fmul <8 x double> %v16, %v24
  %v26 = fmul <8 x double> %v20, %v24
  %v27 = getelementptr i64, ptr %scalars, i64 9
  %v28 = load i64, ptr %v27, align 8
  %v29 = getelementptr double, ptr %v7, i64 %v28
  %v30 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr %v29, i32 8, <8 x i1> %v12, <8 x double> zeroinitializer)
  %v31 = fmul <8 x double> %v16, %v30
  %v32 = fmul <8 x double> %v20, %v30
  %v33 = getelementptr i64, ptr %scalars, i64 5
  %v34 = load i64, ptr %v33, align 8
  %v35 = getelementptr double, ptr %v6, i64 %v34
  %v36 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr %v35, i32 8, <8 x i1> %v12, <8 x double> zeroinitializer)
  %v37 = getelementptr i64, ptr %scalars, i64 7
  %v38 = load i64, ptr %v37, align 8
  %v39 = getelementptr double, ptr %v6, i64 %v38
  %v40 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr %v39, i32 8, <8 x i1> %v12, <8 x double> zeroinitializer)
  %v41 = getelementptr i64, ptr %scalars, i64 10
  %v42 = load i64, ptr %v41, align 8
  %v43 = getelementptr double, ptr %v7, i64 %v42
  %v44 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr %v43, i32 8, <8 x i1> %v12, <8 x double> zeroinitializer)
  %v45 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v36, <8 x double> %v44, <8 x double> %v25)
  %v46 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v40, <8 x double> %v44, <8 x double> %v26)
  %v47 = getelementptr i64, ptr %scalars, i64 11
  %v48 = load i64, ptr %v47, align 8
  %v49 = getelementptr double, ptr %v7, i64 %v48
  %v50 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr %v49, i32 8, <8 x i1> %v12, <8 x double> zeroinitializer)
  %v51 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v36, <8 x double> %v50, <8 x double> %v31)
  %v52 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v40, <8 x double> %v50, <8 x double> %v32)
  %v53 = getelementptr i64, ptr %scalars, i64 12
  %v54 = load i64, ptr %v53, align 8
  %v55 = getelementptr double, ptr %v8, i64 %v54
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v45, ptr %v55, i32 8, <8 x i1> %v12)
  %v56 = getelementptr i64, ptr %scalars, i64 13
  %v57 = load i64, ptr %v56, align 8
  %v58 = getelementptr double, ptr %v8, i64 %v57
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v51, ptr %v58, i32 8, <8 x i1> %v12)
  %v59 = getelementptr i64, ptr %scalars, i64 14
  %v60 = load i64, ptr %v59, align 8
  %v61 = getelementptr double, ptr %v8, i64 %v60
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v46, ptr %v61, i32 8, <8 x i1> %v12)
  %v62 = getelementptr i64, ptr %scalars, i64 15
  %v63 = load i64, ptr %v62, align 8
  %v64 = getelementptr double, ptr %v8, i64 %v63
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v52, ptr %v64, i32 8, <8 x i1> %v12)
  br label %latch3
latch3:
  %v65 = add i64 %loop2.i, 8
  %v66 = icmp slt i64 %v65, %sb
  br i1 %v66, label %loop2, label %after4
after4:
  ret void
}

define void @tilewright_kernel_copies(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca double, i64 160, align 64
  %v2 = alloca double, i64 160, align 64
  %v3 = alloca double, i64 160, align 64
  br label %before4
before4:
  %v8 = icmp slt i64 %sa, %sb
  br i1 %v8, label %loop5, label %after7
loop5:
  %loop5.i = phi i64 [ %sa, %before4 ], [ %v176, %latch6 ]
  %v9 = getelementptr double, ptr %A, i64 %loop5.i
  br label %before10
before10:
  %v14 = icmp slt i64 0, 4
  br i1 %v14, label %loop11, label %after13
loop11:
  %loop11.i = phi i64 [ 0, %before10 ], [ %v39, %latch12 ]
  %v15 = add i64 %loop11.i, 4
  %v16 = call i64 @llvm.smin.i64(i64 %v15, i64 3)
  %v17 = add i64 %loop11.i, 4
  %v18 = getelementptr i64, ptr %scalars, i64 %v17
  %v19 = load i64, ptr %v18, align 8
  %v20 = getelementptr double, ptr %v9, i64 %v19
  %v21 = add i64 %v16, 4
  %v22 = getelementptr i64, ptr %scalars, i64 %v21
  %v23 = load i64, ptr %v22, align 8
  %v24 = getelementptr double, ptr %v9, i64 %v23
  %v25 = mul i64 %loop11.i, 40
  %v26 = getelementptr double, ptr %v1, i64 %v25
  br label %before27
before27:
  %v31 = icmp slt i64 0, 32
  br i1 %v31, label %loop28, label %after30
loop28:
  %loop28.i = phi i64 [ 0, %before27 ], [ %v37, %latch29 ]
  %v32 = getelementptr double, ptr %v24, i64 %loop28.i
  call void @llvm.prefetch.p0(ptr %v32, i32 0, i32 3, i32 1)
  %v33 = add i64 %loop28.i, 0
  %v34 = getelementptr double, ptr %v20, i64 %v33
  %v35 = load <8 x double>, ptr %v34, align 8
  %v36 = getelementptr double, ptr %v26, i64 %v33
  store <8 x double> %v35, ptr %v36, align 8
  br label %latch29
latch29:
  %v37 = add i64 %loop28.i, 8
  %v38 = icmp slt i64 %v37, 32
  br i1 %v38, label %loop28, label %after30
after30:
  br label %latch12
latch12:
  %v39 = add i64 %loop11.i, 1
  %v40 = icmp slt i64 %v39, 4
  br i1 %v40, label %loop11, label %after13
after13:
  %v41 = getelementptr double, ptr %B, i64 %loop5.i
  br label %before42
before42:
  %v46 = icmp slt i64 0, 4
  br i1 %v46, label %loop43, label %after45
loop43:
  %loop43.i = phi i64 [ 0, %before42 ], [ %v71, %latch44 ]
  %v47 = add i64 %loop43.i, 4
  %v48 = call i64 @llvm.smin.i64(i64 %v47, i64 3)
  %v49 = add i64 %loop43.i, 8
  %v50 = getelementptr i64, ptr %scalars, i64 %v49
  %v51 = load i64, ptr %v50, align 8
  %v52 = getelementptr double, ptr %v41, i64 %v51
  %v53 = add i64 %v48, 8
  %v54 = getelementptr i64, ptr %scalars, i64 %v53
  %v55 = load i64, ptr %v54, align 8
  %v56 = getelementptr double, ptr %v41, i64 %v55
  %v57 = mul i64 %loop43.i, 40
  %v58 = getelementptr double, ptr %v2, i64 %v57
  br label %before59
before59:
  %v63 = icmp slt i64 0, 32
  br i1 %v63, label %loop60, label %after62
loop60:
  %loop60.i = phi i64 [ 0, %before59 ], [ %v69, %latch61 ]
  %v64 = getelementptr double, ptr %v56, i64 %loop60.i
  call void @llvm.prefetch.p0(ptr %v64, i32 0, i32 3, i32 1)
  %v65 = add i64 %loop60.i, 0
  %v66 = getelementptr double, ptr %v52, i64 %v65
  %v67 = load <8 x double>, ptr %v66, align 8
  %v68 = getelementptr double, ptr %v58, i64 %v65
  store <8 x double> %v67, ptr %v68, align 8
  br label %latch61
latch61:
  %v69 = add i64 %loop60.i, 8
  %v70 = icmp slt i64 %v69, 32
  br i1 %v70, label %loop60, label %after62
after62:
  br label %latch44
latch44:
  %v71 = add i64 %loop43.i, 1
  %v72 = icmp slt i64 %v71, 4
  br i1 %v72, label %loop43, label %after45
after45:
  %v73 = add i64 %loop5.i, 32
  br label %before74
before74:
  %v78 = icmp slt i64 %loop5.i, %v73
  br i1 %v78, label %loop75, label %after77
loop75:
  %loop75.i = phi i64 [ %loop5.i, %before74 ], [ %v141, %latch76 ]
  %v79 = getelementptr double, ptr %A, i64 %loop75.i
  %v80 = getelementptr double, ptr %B, i64 %loop75.i
  %v81 = getelementptr double, ptr %C, i64 %loop75.i
  %v82 = sub i64 %loop75.i, %loop5.i
  %v83 = getelementptr double, ptr %v3, i64 8
  %v84 = getelementptr double, ptr %v83, i64 %v82
  %v85 = sub i64 %loop75.i, %loop5.i
  %v86 = getelementptr double, ptr %v1, i64 %v85
  %v87 = getelementptr double, ptr %v2, i64 %v85
  %v88 = load <8 x double>, ptr %v86, align 8
  %v89 = getelementptr double, ptr %v86, i64 8
  %v90 = load <8 x double>, ptr %v89, align 8
  %v91 = getelementptr double, ptr %v86, i64 80
  %v92 = load <8 x double>, ptr %v91, align 8
  %v93 = getelementptr double, ptr %v91, i64 8
  %v94 = load <8 x double>, ptr %v93, align 8
  %v95 = load <8 x double>, ptr %v87, align 8
  %v96 = getelementptr double, ptr %v87, i64 8
  %v97 = load <8 x double>, ptr %v96, align 8
  %v98 = fmul <8 x double> %v88, %v95
  %v99 = fmul <8 x double> %v92, %v95
  %v100 = fmul <8 x double> %v90, %v97
  %v101 = fmul <8 x double> %v94, %v97
  %v102 = getelementptr double, ptr %v87, i64 40
  %v103 = load <8 x double>, ptr %v102, align 8
  %v104 = getelementptr double, ptr %v102, i64 8
  %v105 = load <8 x double>, ptr %v104, align 8
  %v106 = fmul <8 x double> %v88, %v103
  %v107 = fmul <8 x double> %v92, %v103
  %v108 = fmul <8 x double> %v90, %v105
  %v109 = fmul <8 x double> %v94, %v105
  %v110 = getelementptr double, ptr %v86, i64 40
  %v111 = load <8 x double>, ptr %v110, align 8
  %v112 = getelementptr double, ptr %v110, i64 8
  %v113 = load <8 x double>, ptr %v112, align 8
  %v114 = getelementptr double, ptr %v86, i64 120
  %v115 = load <8 x double>, ptr %v114, align 8
  %v116 = getelementptr double, ptr %v114, i64 8
  %v117 = load <8 x double>, ptr %v116, align 8
  %v118 = getelementptr double, ptr %v87, i64 80
  %v119 = load <8 x double>, ptr %v118, align 8
  %v120 = getelementptr double, ptr %v118, i64 8
  %v121 = load <8 x double>, ptr %v120, align 8
  %v122 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v111, <8 x double> %v119, <8 x double> %v98)
  %v123 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v115, <8 x double> %v119, <8 x double> %v99)
  %v124 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v113, <8 x double> %v121, <8 x double> %v100)
  %v125 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v117, <8 x double> %v121, <8 x double> %v101)
  %v126 = getelementptr double, ptr %v87, i64 120
  %v127 = load <8 x double>, ptr %v126, align 8
  %v128 = getelementptr double, ptr %v126, i64 8
  %v129 = load <8 x double>, ptr %v128, align 8
  %v130 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v111, <8 x double> %v127, <8 x double> %v106)
  %v131 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v115, <8 x double> %v127, <8 x double> %v107)
  %v132 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v113, <8 x double> %v129, <8 x double> %v108)
  %v133 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v117, <8 x double> %v129, <8 x double> %v109)
  store <8 x double> %v122, ptr %v84, align 8
  %v134 = getelementptr double, ptr %v84, i64 8
  store <8 x double> %v124, ptr %v134, align 8
  %v135 = getelementptr double, ptr %v84, i64 40
  store <8 x double> %v130, ptr %v135, align 8
  %v136 = getelementptr double, ptr %v84, i64 48
  store <8 x double> %v132, ptr %v136, align 8
  %v137 = getelementptr double, ptr %v84, i64 80
  store <8 x double> %v123, ptr %v137, align 8
  %v138 = getelementptr double, ptr %v84, i64 88
  store <8 x double> %v125, ptr %v138, align 8
  %v139 = getelementptr double, ptr %v84, i64 120
  store <8 x double> %v131, ptr %v139, align 8
  %v140 = getelementptr double, ptr %v84, i64 128
  store <8 x double> %v133, ptr %v140, align 8
  br label %latch76
latch76:
  %v141 = add i64 %loop75.i, 16
  %v142 = icmp slt i64 %v141, %v73
  br i1 %v142, label %loop75, label %after77
after77:
  br label %before143
before143:
  %v147 = icmp slt i64 0, 4
  br i1 %v147, label %loop144, label %after146
loop144:
  %loop144.i = phi i64 [ 0, %before143 ], [ %v174, %latch145 ]
  %v148 = add i64 %loop144.i, 12
  %v149 = getelementptr i64, ptr %scalars, i64 %v148
  %v150 = load i64, ptr %v149, align 8
  %v151 = getelementptr double, ptr %C, i64 %v150
  %v152 = getelementptr double, ptr %v151, i64 %loop5.i
  %v153 = ptrtoint ptr %v152 to i64
  %v154 = and i64 %v153, 63
  %v155 = udiv i64 %v154, 8
  %v156 = sub i64 0, %v155
  %v157 = mul i64 %loop144.i, 40
  %v158 = getelementptr double, ptr %v3, i64 %v157
  %v159 = getelementptr double, ptr %v158, i64 8
  %v160 = getelementptr double, ptr %v159, i64 %v156
  %v161 = getelementptr double, ptr %v152, i64 %v156
  %v162 = getelementptr double, ptr %v160, i64 %v155
  %v163 = getelementptr double, ptr %v161, i64 %v155
  br label %before164
before164:
  %v168 = icmp slt i64 0, 32
  br i1 %v168, label %loop165, label %after167
loop165:
  %loop165.i = phi i64 [ 0, %before164 ], [ %v172, %latch166 ]
  %v169 = getelementptr double, ptr %v162, i64 %loop165.i
  %v170 = load <8 x double>, ptr %v169, align 8
  %v171 = getelementptr double, ptr %v163, i64 %loop165.i
  store <8 x double> %v170, ptr %v171, align 8
  br label %latch166
latch166:
  %v172 = add i64 %loop165.i, 8
  %v173 = icmp slt i64 %v172, 32
  br i1 %v173, label %loop165, label %after167
after167:
  br label %latch145
latch145:
  %v174 = add i64 %loop144.i, 1
  %v175 = icmp slt i64 %v174, 4
  br i1 %v175, label %loop144, label %after146
after146:
  br label %latch6
latch6:
  %v176 = add i64 %loop5.i, 32
  %v177 = icmp slt i64 %v176, %sb
  br i1 %v177, label %loop5, label %after7
after7:
  ret void
}

define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = getelementptr i64, ptr %scalars, i64 4
  %v2 = load i64, ptr %v1, align 4
  %v3 = getelementptr i64, ptr %scalars, i64 5
  %v4 = load i64, ptr %v3, align 4
  %v5 = getelementptr i64, ptr %scalars, i64 6
  %v6 = load i64, ptr %v5, align 4
  %v7 = getelementptr i64, ptr %scalars, i64 7
  %v8 = load i64, ptr %v7, align 4
  %v9 = getelementptr i64, ptr %scalars, i64 8
  %v10 = load i64, ptr %v9, align 4
  %v11 = getelementptr i64, ptr %scalars, i64 9
  %v12 = load i64, ptr %v11, align 4
  %v13 = getelementptr i64, ptr %scalars, i64 10
  %v14 = load i64, ptr %v13, align 4
  %v15 = getelementptr i64, ptr %scalars, i64 11
  %v16 = load i64, ptr %v15, align 4
  %v17 = alloca i64, i64 16, align 64
  %v18 = getelementptr i64, ptr %scalars, i64 0
  %v19 = load i64, ptr %v18, align 4
  %v20 = getelementptr i64, ptr %v17, i64 0
  store i64 %v19, ptr %v20, align 8
  %v21 = getelementptr i64, ptr %scalars, i64 1
  %v22 = load i64, ptr %v21, align 4
  %v23 = getelementptr i64, ptr %v17, i64 1
  store i64 %v22, ptr %v23, align 8
  %v24 = getelementptr i64, ptr %scalars, i64 2
  %v25 = load i64, ptr %v24, align 4
  %v26 = getelementptr i64, ptr %v17, i64 2
  store i64 %v25, ptr %v26, align 8
  %v27 = getelementptr i64, ptr %scalars, i64 3
  %v28 = load i64, ptr %v27, align 4
  %v29 = getelementptr i64, ptr %v17, i64 3
  store i64 %v28, ptr %v29, align 8
  br label %before30
before30:
  %v34 = icmp slt i64 0, 2
  br i1 %v34, label %loop31, label %after33
loop31:
  %loop31.i = phi i64 [ 0, %before30 ], [ %v49, %latch32 ]
  %v35 = mul i64 %loop31.i, %v2
  %v36 = mul i64 %loop31.i, 2
  %v37 = add i64 %v36, 4
  br label %before38
before38:
  %v42 = icmp slt i64 0, 2
  br i1 %v42, label %loop39, label %after41
loop39:
  %loop39.i = phi i64 [ 0, %before38 ], [ %v47, %latch40 ]
  %v43 = mul i64 %loop39.i, %v8
  %v44 = add i64 %v35, %v43
  %v45 = add i64 %v37, %loop39.i
  %v46 = getelementptr i64, ptr %v17, i64 %v45
  store i64 %v44, ptr %v46, align 8
  br label %latch40
latch40:
  %v47 = add i64 %loop39.i, 1
  %v48 = icmp slt i64 %v47, 2
  br i1 %v48, label %loop39, label %after41
after41:
  br label %latch32
latch32:
  %v49 = add i64 %loop31.i, 1
  %v50 = icmp slt i64 %v49, 2
  br i1 %v50, label %loop31, label %after33
after33:
  br label %before51
before51:
  %v55 = icmp slt i64 0, 2
  br i1 %v55, label %loop52, label %after54
loop52:
  %loop52.i = phi i64 [ 0, %before51 ], [ %v70, %latch53 ]
  %v56 = mul i64 %loop52.i, %v4
  %v57 = mul i64 %loop52.i, 2
  %v58 = add i64 %v57, 8
  br label %before59
before59:
  %v63 = icmp slt i64 0, 2
  br i1 %v63, label %loop60, label %after62
loop60:
  %loop60.i = phi i64 [ 0, %before59 ], [ %v68, %latch61 ]
  %v64 = mul i64 %loop60.i, %v10
  %v65 = add i64 %v56, %v64
  %v66 = add i64 %v58, %loop60.i
  %v67 = getelementptr i64, ptr %v17, i64 %v66
  store i64 %v65, ptr %v67, align 8
  br label %latch61
latch61:
  %v68 = add i64 %loop60.i, 1
  %v69 = icmp slt i64 %v68, 2
  br i1 %v69, label %loop60, label %after62
after62:
  br label %latch53
latch53:
  %v70 = add i64 %loop52.i, 1
  %v71 = icmp slt i64 %v70, 2
  br i1 %v71, label %loop52, label %after54
after54:
  br label %before72
before72:
  %v76 = icmp slt i64 0, 2
  br i1 %v76, label %loop73, label %after75
loop73:
  %loop73.i = phi i64 [ 0, %before72 ], [ %v91, %latch74 ]
  %v77 = mul i64 %loop73.i, %v6
  %v78 = mul i64 %loop73.i, 2
  %v79 = add i64 %v78, 12
  br label %before80
before80:
  %v84 = icmp slt i64 0, 2
  br i1 %v84, label %loop81, label %after83
loop81:
  %loop81.i = phi i64 [ 0, %before80 ], [ %v89, %latch82 ]
  %v85 = mul i64 %loop81.i, %v12
  %v86 = add i64 %v77, %v85
  %v87 = add i64 %v79, %loop81.i
  %v88 = getelementptr i64, ptr %v17, i64 %v87
  store i64 %v86, ptr %v88, align 8
  br label %latch82
latch82:
  %v89 = add i64 %loop81.i, 1
  %v90 = icmp slt i64 %v89, 2
  br i1 %v90, label %loop81, label %after83
after83:
  br label %latch74
latch74:
  %v91 = add i64 %loop73.i, 1
  %v92 = icmp slt i64 %v91, 2
  br i1 %v92, label %loop73, label %after75
after75:
  %v93 = alloca [64 x i64], align 64
  %v94 = alloca i64, align 8
  call void @llvm.memset.p0.i64(ptr %v93, i8 0, i64 512, i1 false)
  store i64 0, ptr %v94, align 8
  %v95 = ptrtoint ptr %A to i64
  br label %before96
before96:
  %v100 = icmp slt i64 0, 4
  br i1 %v100, label %loop97, label %after99
loop97:
  %loop97.i = phi i64 [ 0, %before96 ], [ %v114, %latch98 ]
  %v101 = add i64 %loop97.i, 4
  %v102 = getelementptr i64, ptr %v17, i64 %v101
  %v103 = load i64, ptr %v102, align 8
  %v104 = mul i64 %v103, 8
  %v105 = add i64 %v95, %v104
  %v106 = udiv i64 %v105, 64
  %v107 = urem i64 %v106, 64
  %v108 = getelementptr i64, ptr %v93, i64 %v107
  %v109 = load i64, ptr %v108, align 8
  %v110 = add i64 %v109, 1
  store i64 %v110, ptr %v108, align 8
  %v111 = load i64, ptr %v94, align 8
  %v112 = icmp ugt i64 %v110, %v111
  %v113 = select i1 %v112, i64 %v110, i64 %v111
  store i64 %v113, ptr %v94, align 8
  br label %latch98
latch98:
  %v114 = add i64 %loop97.i, 1
  %v115 = icmp slt i64 %v114, 4
  br i1 %v115, label %loop97, label %after99
after99:
  %v116 = ptrtoint ptr %B to i64
  br label %before117
before117:
  %v121 = icmp slt i64 0, 4
  br i1 %v121, label %loop118, label %after120
loop118:
  %loop118.i = phi i64 [ 0, %before117 ], [ %v135, %latch119 ]
  %v122 = add i64 %loop118.i, 8
  %v123 = getelementptr i64, ptr %v17, i64 %v122
  %v124 = load i64, ptr %v123, align 8
  %v125 = mul i64 %v124, 8
  %v126 = add i64 %v116, %v125
  %v127 = udiv i64 %v126, 64
  %v128 = urem i64 %v127, 64
  %v129 = getelementptr i64, ptr %v93, i64 %v128
  %v130 = load i64, ptr %v129, align 8
  %v131 = add i64 %v130, 1
  store i64 %v131, ptr %v129, align 8
  %v132 = load i64, ptr %v94, align 8
  %v133 = icmp ugt i64 %v131, %v132
  %v134 = select i1 %v133, i64 %v131, i64 %v132
  store i64 %v134, ptr %v94, align 8
  br label %latch119
latch119:
  %v135 = add i64 %loop118.i, 1
  %v136 = icmp slt i64 %v135, 4
  br i1 %v136, label %loop118, label %after120
after120:
  %v137 = ptrtoint ptr %C to i64
  br label %before138
before138:
  %v142 = icmp slt i64 0, 4
  br i1 %v142, label %loop139, label %after141
loop139:
  %loop139.i = phi i64 [ 0, %before138 ], [ %v156, %latch140 ]
  %v143 = add i64 %loop139.i, 12
  %v144 = getelementptr i64, ptr %v17, i64 %v143
  %v145 = load i64, ptr %v144, align 8
  %v146 = mul i64 %v145, 8
  %v147 = add i64 %v137, %v146
  %v148 = udiv i64 %v147, 64
  %v149 = urem i64 %v148, 64
  %v150 = getelementptr i64, ptr %v93, i64 %v149
  %v151 = load i64, ptr %v150, align 8
  %v152 = add i64 %v151, 1
  store i64 %v152, ptr %v150, align 8
  %v153 = load i64, ptr %v94, align 8
  %v154 = icmp ugt i64 %v152, %v153
  %v155 = select i1 %v154, i64 %v152, i64 %v153
  store i64 %v155, ptr %v94, align 8
  br label %latch140
latch140:
  %v156 = add i64 %loop139.i, 1
  %v157 = icmp slt i64 %v156, 4
  br i1 %v157, label %loop139, label %after141
after141:
  %v158 = load i64, ptr %v94, align 8
  %v159 = icmp ugt i64 %v158, 8
  %v160 = or i1 false, %v159
  %v161 = alloca [128 x i64], align 64
  %v162 = alloca i64, align 8
  call void @llvm.memset.p0.i64(ptr %v161, i8 0, i64 1024, i1 false)
  store i64 0, ptr %v162, align 8
  %v163 = ptrtoint ptr %A to i64
  br label %before164
before164:
  %v168 = icmp slt i64 0, 4
  br i1 %v168, label %loop165, label %after167
loop165:
  %loop165.i = phi i64 [ 0, %before164 ], [ %v182, %latch166 ]
  %v169 = add i64 %loop165.i, 4
  %v170 = getelementptr i64, ptr %v17, i64 %v169
  %v171 = load i64, ptr %v170, align 8
  %v172 = mul i64 %v171, 8
  %v173 = add i64 %v163, %v172
  %v174 = udiv i64 %v173, 512
  %v175 = urem i64 %v174, 128
  %v176 = getelementptr i64, ptr %v161, i64 %v175
  %v177 = load i64, ptr %v176, align 8
  %v178 = add i64 %v177, 1
  store i64 %v178, ptr %v176, align 8
  %v179 = load i64, ptr %v162, align 8
  %v180 = icmp ugt i64 %v178, %v179
  %v181 = select i1 %v180, i64 %v178, i64 %v179
  store i64 %v181, ptr %v162, align 8
  br label %latch166
latch166:
  %v182 = add i64 %loop165.i, 1
  %v183 = icmp slt i64 %v182, 4
  br i1 %v183, label %loop165, label %after167
after167:
  %v184 = ptrtoint ptr %B to i64
  br label %before185
before185:
  %v189 = icmp slt i64 0, 4
  br i1 %v189, label %loop186, label %after188
loop186:
  %loop186.i = phi i64 [ 0, %before185 ], [ %v203, %latch187 ]
  %v190 = add i64 %loop186.i, 8
  %v191 = getelementptr i64, ptr %v17, i64 %v190
  %v192 = load i64, ptr %v191, align 8
  %v193 = mul i64 %v192, 8
  %v194 = add i64 %v184, %v193
  %v195 = udiv i64 %v194, 512
  %v196 = urem i64 %v195, 128
  %v197 = getelementptr i64, ptr %v161, i64 %v196
  %v198 = load i64, ptr %v197, align 8
  %v199 = add i64 %v198, 1
  store i64 %v199, ptr %v197, align 8
  %v200 = load i64, ptr %v162, align 8
  %v201 = icmp ugt i64 %v199, %v200
  %v202 = select i1 %v201, i64 %v199, i64 %v200
  store i64 %v202, ptr %v162, align 8
  br label %latch187
latch187:
  %v203 = add i64 %loop186.i, 1
  %v204 = icmp slt i64 %v203, 4
  br i1 %v204, label %loop186, label %after188
after188:
  %v205 = ptrtoint ptr %C to i64
  br label %before206
before206:
  %v210 = icmp slt i64 0, 4
  br i1 %v210, label %loop207, label %after209
loop207:
  %loop207.i = phi i64 [ 0, %before206 ], [ %v224, %latch208 ]
  %v211 = add i64 %loop207.i, 12
  %v212 = getelementptr i64, ptr %v17, i64 %v211
  %v213 = load i64, ptr %v212, align 8
  %v214 = mul i64 %v213, 8
  %v215 = add i64 %v205, %v214
  %v216 = udiv i64 %v215, 512
  %v217 = urem i64 %v216, 128
  %v218 = getelementptr i64, ptr %v161, i64 %v217
  %v219 = load i64, ptr %v218, align 8
  %v220 = add i64 %v219, 1
  store i64 %v220, ptr %v218, align 8
  %v221 = load i64, ptr %v162, align 8
  %v222 = icmp ugt i64 %v220, %v221
  %v223 = select i1 %v222, i64 %v220, i64 %v221
  store i64 %v223, ptr %v162, align 8
  br label %latch208
latch208:
  %v224 = add i64 %loop207.i, 1
  %v225 = icmp slt i64 %v224, 4
  br i1 %v225, label %loop207, label %after209
after209:
  %v226 = load i64, ptr %v162, align 8
  %v227 = icmp ugt i64 %v226, 8
  %v228 = or i1 %v160, %v227
  %v229 = srem i64 %count, 32
  %v230 = sub i64 %count, %v229
  %v231 = select i1 %v228, i64 %v230, i64 0
  %v232 = select i1 %v228, i1 false, i1 false
  %v233 = sub i64 %count, %v231
  %v234 = srem i64 %v233, 16
  %v235 = sub i64 %v233, %v234
  %v236 = add i64 %v231, %v235
  %v237 = icmp slt i64 0, %v231
  %v238 = and i1 %v237, %v228
  br i1 %v238, label %copies239, label %next240
copies239:
  call void @tilewright_kernel_copies(ptr %A, ptr %B, ptr %C, i64 0, i64 %v231, i64 %v16, i64 0, ptr %v17)
  br label %next240
next240:
  %v241 = icmp slt i64 %v231, %v236
  %v242 = and i1 %v241, true
  br i1 %v242, label %main243, label %next244
main243:
  call void @tilewright_kernel_main(ptr %A, ptr %B, ptr %C, i64 %v231, i64 %v236, i64 %v16, i64 0, ptr %v17)
  br label %next244
next244:
  %v245 = icmp slt i64 %v236, %count
  %v246 = and i1 %v245, true
  br i1 %v246, label %rest247, label %next248
rest247:
  call void @tilewright_kernel_rest(ptr %A, ptr %B, ptr %C, i64 %v236, i64 %count, i64 %v16, i64 0, ptr %v17)
  br label %next248
next248:
  ret void
}

declare <8 x double> @llvm.fma.v8f64(<8 x double>, <8 x double>, <8 x double>)
declare <8 x double> @llvm.masked.load.v8f64.p0(ptr, i32, <8 x i1>, <8 x double>)
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.masked.store.v8f64.p0(<8 x double>, ptr, i32, <8 x i1>)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)

!0 = !{i32 1}
