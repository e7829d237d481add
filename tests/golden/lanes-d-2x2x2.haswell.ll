; d:nn:2x2x2|packed|alpha=1|beta=0|ieee haswell
; vector_bits=256 columns=0 cmul=none window_a=near group=4 window_b=near store=plain prefetch=0
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = udiv i64 %count, 4
  br label %before2
before2:
  %v6 = icmp sgt i64 %v1, 0
  br i1 %v6, label %batch3, label %done5
batch3:
  %batch3.i = phi i64 [ 0, %before2 ], [ %v62, %latch4 ]
  %batch3.a = phi ptr [ %A, %before2 ], [ %v63, %latch4 ]
  %batch3.b = phi ptr [ %B, %before2 ], [ %v64, %latch4 ]
  %batch3.c = phi ptr [ %C, %before2 ], [ %v65, %latch4 ]
  %v7 = load <2 x double>, ptr %batch3.a, align 8
  %v8 = shufflevector <2 x double> %v7, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v9 = load <4 x double>, ptr %batch3.b, align 8
  %v10 = shufflevector <4 x double> %v9, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v11 = fmul <4 x double> %v8, %v10
  %v12 = getelementptr double, ptr %batch3.a, i64 2
  %v13 = load <2 x double>, ptr %v12, align 8
  %v14 = shufflevector <2 x double> %v13, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v15 = getelementptr double, ptr %batch3.b, i64 1
  %v16 = load <4 x double>, ptr %v15, align 8
  %v17 = shufflevector <4 x double> %v16, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v18 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v14, <4 x double> %v17, <4 x double> %v11)
  store <4 x double> %v18, ptr %batch3.c, align 8
  %v19 = getelementptr double, ptr %batch3.a, i64 4
  %v20 = load <2 x double>, ptr %v19, align 8
  %v21 = shufflevector <2 x double> %v20, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v22 = getelementptr double, ptr %batch3.b, i64 4
  %v23 = load <4 x double>, ptr %v22, align 8
  %v24 = shufflevector <4 x double> %v23, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v25 = fmul <4 x double> %v21, %v24
  %v26 = getelementptr double, ptr %batch3.a, i64 6
  %v27 = load <2 x double>, ptr %v26, align 8
  %v28 = shufflevector <2 x double> %v27, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v29 = getelementptr double, ptr %batch3.b, i64 5
  %v30 = load <4 x double>, ptr %v29, align 8
  %v31 = shufflevector <4 x double> %v30, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v32 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v28, <4 x double> %v31, <4 x double> %v25)
  %v33 = getelementptr double, ptr %batch3.c, i64 4
  store <4 x double> %v32, ptr %v33, align 8
  %v34 = getelementptr double, ptr %batch3.a, i64 8
  %v35 = load <2 x double>, ptr %v34, align 8
  %v36 = shufflevector <2 x double> %v35, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v37 = getelementptr double, ptr %batch3.b, i64 8
  %v38 = load <4 x double>, ptr %v37, align 8
  %v39 = shufflevector <4 x double> %v38, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v40 = fmul <4 x double> %v36, %v39
  %v41 = getelementptr double, ptr %batch3.a, i64 10
  %v42 = load <2 x double>, ptr %v41, align 8
  %v43 = shufflevector <2 x double> %v42, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v44 = getelementptr double, ptr %batch3.b, i64 9
  %v45 = load <4 x double>, ptr %v44, align 8
  %v46 = shufflevector <4 x double> %v45, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v47 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v43, <4 x double> %v46, <4 x double> %v40)
  %v48 = getelementptr double, ptr %batch3.c, i64 8
  store <4 x double> %v47, ptr %v48, align 8
  %v49 = getelementptr double, ptr %batch3.a, i64 12
  %v50 = load <2 x double>, ptr %v49, align 8
  %v51 = shufflevector <2 x double> %v50, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v52 = getelementptr double, ptr %batch3.b, i64 12
  %v53 = load <4 x double>, ptr %v52, align 8
  %v54 = shufflevector <4 x double> %v53, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v55 = fmul <4 x double> %v51, %v54
  %v56 = getelementptr double, ptr %batch3.a, i64 14
  %v57 = load <2 x double>, ptr %v56, align 8
  %v58 = shufflevector <2 x double> %v57, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v59 = shufflevector <4 x double> %v53, <4 x double> poison, <4 x i32> <i32 1, i32 1, i32 3, i32 3>
  %v60 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v58, <4 x double> %v59, <4 x double> %v55)
  %v61 = getelementptr double, ptr %batch3.c, i64 12
  store <4 x double> %v60, ptr %v61, align 8
  br label %latch4
latch4:
  %v62 = add i64 %batch3.i, 1
  %v63 = getelementptr double, ptr %batch3.a, i64 16
  %v64 = getelementptr double, ptr %batch3.b, i64 16
  %v65 = getelementptr double, ptr %batch3.c, i64 16
  %v66 = icmp slt i64 %v62, %v1
  br i1 %v66, label %batch3, label %done5
done5:
  %v67 = mul i64 %v1, 4
  %v68 = sub i64 %count, %v67
  %v69 = mul i64 %v67, 4
  %v70 = getelementptr double, ptr %A, i64 %v69
  %v71 = mul i64 %v67, 4
  %v72 = getelementptr double, ptr %B, i64 %v71
  %v73 = mul i64 %v67, 4
  %v74 = getelementptr double, ptr %C, i64 %v73
  br label %before75
before75:
  %v79 = icmp sgt i64 %v68, 0
  br i1 %v79, label %batch76, label %done78
batch76:
  %batch76.i = phi i64 [ 0, %before75 ], [ %v90, %latch77 ]
  %batch76.a = phi ptr [ %v70, %before75 ], [ %v91, %latch77 ]
  %batch76.b = phi ptr [ %v72, %before75 ], [ %v92, %latch77 ]
  %batch76.c = phi ptr [ %v74, %before75 ], [ %v93, %latch77 ]
  %v80 = load <2 x double>, ptr %batch76.a, align 8
  %v81 = shufflevector <2 x double> %v80, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v82 = load <4 x double>, ptr %batch76.b, align 8
  %v83 = shufflevector <4 x double> %v82, <4 x double> poison, <4 x i32> <i32 0, i32 0, i32 2, i32 2>
  %v84 = fmul <4 x double> %v81, %v83
  %v85 = getelementptr double, ptr %batch76.a, i64 2
  %v86 = load <2 x double>, ptr %v85, align 8
  %v87 = shufflevector <2 x double> %v86, <2 x double> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %v88 = shufflevector <4 x double> %v82, <4 x double> poison, <4 x i32> <i32 1, i32 1, i32 3, i32 3>
  %v89 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v87, <4 x double> %v88, <4 x double> %v84)
  store <4 x double> %v89, ptr %batch76.c, align 8
  br label %latch77
latch77:
  %v90 = add i64 %batch76.i, 1
  %v91 = getelementptr double, ptr %batch76.a, i64 4
  %v92 = getelementptr double, ptr %batch76.b, i64 4
  %v93 = getelementptr double, ptr %batch76.c, i64 4
  %v94 = icmp slt i64 %v90, %v68
  br i1 %v94, label %batch76, label %done78
done78:
  ret void
}

declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)

!0 = !{i32 1}
