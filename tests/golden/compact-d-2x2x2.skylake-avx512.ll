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
  %v93 = sub i64 %count, 0
  %v94 = srem i64 %v93, 16
  %v95 = sub i64 %v93, %v94
  %v96 = add i64 0, %v95
  %v97 = icmp slt i64 0, %v96
  %v98 = and i1 %v97, true
  br i1 %v98, label %main99, label %next100
main99:
  call void @tilewright_kernel_main(ptr %A, ptr %B, ptr %C, i64 0, i64 %v96, i64 %v16, i64 0, ptr %v17)
  br label %next100
next100:
  %v101 = icmp slt i64 %v96, %count
  %v102 = and i1 %v101, true
  br i1 %v102, label %rest103, label %next104
rest103:
  call void @tilewright_kernel_rest(ptr %A, ptr %B, ptr %C, i64 %v96, i64 %count, i64 %v16, i64 0, ptr %v17)
  br label %next104
next104:
  ret void
}

declare <8 x double> @llvm.fma.v8f64(<8 x double>, <8 x double>, <8 x double>)
declare <8 x double> @llvm.masked.load.v8f64.p0(ptr, i32, <8 x i1>, <8 x double>)
declare void @llvm.masked.store.v8f64.p0(<8 x double>, ptr, i32, <8 x i1>)

!0 = !{i32 1}
