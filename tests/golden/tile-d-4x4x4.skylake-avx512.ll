; d:nn:4x4x4|packed|alpha=1|beta=0|ieee skylake-avx512
; vector_bits=256 tail=mask store=plain cmul=none blk_m=1 blk_n=4 blk_k=4 inner=column reg_a=1 reg_b=1 order=nm roll=0 prefetch=0 level=1
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v95, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v96, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v97, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v98, %latch3 ]
  %v6 = load <4 x double>, ptr %batch2.a, align 8
  %v7 = load double, ptr %batch2.b, align 8
  %v8 = insertelement <4 x double> poison, double %v7, i64 0
  %v9 = shufflevector <4 x double> %v8, <4 x double> poison, <4 x i32> zeroinitializer
  %v10 = fmul <4 x double> %v6, %v9
  %v11 = getelementptr double, ptr %batch2.b, i64 4
  %v12 = load double, ptr %v11, align 8
  %v13 = insertelement <4 x double> poison, double %v12, i64 0
  %v14 = shufflevector <4 x double> %v13, <4 x double> poison, <4 x i32> zeroinitializer
  %v15 = fmul <4 x double> %v6, %v14
  %v16 = getelementptr double, ptr %batch2.b, i64 8
  %v17 = load double, ptr %v16, align 8
  %v18 = insertelement <4 x double> poison, double %v17, i64 0
  %v19 = shufflevector <4 x double> %v18, <4 x double> poison, <4 x i32> zeroinitializer
  %v20 = fmul <4 x double> %v6, %v19
  %v21 = getelementptr double, ptr %batch2.b, i64 12
  %v22 = load double, ptr %v21, align 8
  %v23 = insertelement <4 x double> poison, double %v22, i64 0
  %v24 = shufflevector <4 x double> %v23, <4 x double> poison, <4 x i32> zeroinitializer
  %v25 = fmul <4 x double> %v6, %v24
  %v26 = getelementptr double, ptr %batch2.a, i64 4
  %v27 = load <4 x double>, ptr %v26, align 8
  %v28 = getelementptr double, ptr %batch2.b, i64 1
  %v29 = load double, ptr %v28, align 8
  %v30 = insertelement <4 x double> poison, double %v29, i64 0
  %v31 = shufflevector <4 x double> %v30, <4 x double> poison, <4 x i32> zeroinitializer
  %v32 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v27, <4 x double> %v31, <4 x double> %v10)
  %v33 = getelementptr double, ptr %batch2.b, i64 5
  %v34 = load double, ptr %v33, align 8
  %v35 = insertelement <4 x double> poison, double %v34, i64 0
  %v36 = shufflevector <4 x double> %v35, <4 x double> poison, <4 x i32> zeroinitializer
  %v37 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v27, <4 x double> %v36, <4 x double> %v15)
  %v38 = getelementptr double, ptr %batch2.b, i64 9
  %v39 = load double, ptr %v38, align 8
  %v40 = insertelement <4 x double> poison, double %v39, i64 0
  %v41 = shufflevector <4 x double> %v40, <4 x double> poison, <4 x i32> zeroinitializer
  %v42 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v27, <4 x double> %v41, <4 x double> %v20)
  %v43 = getelementptr double, ptr %batch2.b, i64 13
  %v44 = load double, ptr %v43, align 8
  %v45 = insertelement <4 x double> poison, double %v44, i64 0
  %v46 = shufflevector <4 x double> %v45, <4 x double> poison, <4 x i32> zeroinitializer
  %v47 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v27, <4 x double> %v46, <4 x double> %v25)
  %v48 = getelementptr double, ptr %batch2.a, i64 8
  %v49 = load <4 x double>, ptr %v48, align 8
  %v50 = getelementptr double, ptr %batch2.b, i64 2
  %v51 = load double, ptr %v50, align 8
  %v52 = insertelement <4 x double> poison, double %v51, i64 0
  %v53 = shufflevector <4 x double> %v52, <4 x double> poison, <4 x i32> zeroinitializer
  %v54 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v49, <4 x double> %v53, <4 x double> %v32)
  %v55 = getelementptr double, ptr %batch2.b, i64 6
  %v56 = load double, ptr %v55, align 8
  %v57 = insertelement <4 x double> poison, double %v56, i64 0
  %v58 = shufflevector <4 x double> %v57, <4 x double> poison, <4 x i32> zeroinitializer
  %v59 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v49, <4 x double> %v58, <4 x double> %v37)
  %v60 = getelementptr double, ptr %batch2.b, i64 10
  %v61 = load double, ptr %v60, align 8
  %v62 = insertelement <4 x double> poison, double %v61, i64 0
  %v63 = shufflevector <4 x double> %v62, <4 x double> poison, <4 x i32> zeroinitializer
  %v64 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v49, <4 x double> %v63, <4 x double> %v42)
  %v65 = getelementptr double, ptr %batch2.b, i64 14
  %v66 = load double, ptr %v65, align 8
  %v67 = insertelement <4 x double> poison, double %v66, i64 0
  %v68 = shufflevector <4 x double> %v67, <4 x double> poison, <4 x i32> zeroinitializer
  %v69 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v49, <4 x double> %v68, <4 x double> %v47)
  %v70 = getelementptr double, ptr %batch2.a, i64 12
  %v71 = load <4 x double>, ptr %v70, align 8
  %v72 = getelementptr double, ptr %batch2.b, i64 3
  %v73 = load double, ptr %v72, align 8
  %v74 = insertelement <4 x double> poison, double %v73, i64 0
  %v75 = shufflevector <4 x double> %v74, <4 x double> poison, <4 x i32> zeroinitializer
  %v76 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v71, <4 x double> %v75, <4 x double> %v54)
  %v77 = getelementptr double, ptr %batch2.b, i64 7
  %v78 = load double, ptr %v77, align 8
  %v79 = insertelement <4 x double> poison, double %v78, i64 0
  %v80 = shufflevector <4 x double> %v79, <4 x double> poison, <4 x i32> zeroinitializer
  %v81 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v71, <4 x double> %v80, <4 x double> %v59)
  %v82 = getelementptr double, ptr %batch2.b, i64 11
  %v83 = load double, ptr %v82, align 8
  %v84 = insertelement <4 x double> poison, double %v83, i64 0
  %v85 = shufflevector <4 x double> %v84, <4 x double> poison, <4 x i32> zeroinitializer
  %v86 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v71, <4 x double> %v85, <4 x double> %v64)
  %v87 = getelementptr double, ptr %batch2.b, i64 15
  %v88 = load double, ptr %v87, align 8
  %v89 = insertelement <4 x double> poison, double %v88, i64 0
  %v90 = shufflevector <4 x double> %v89, <4 x double> poison, <4 x i32> zeroinitializer
  %v91 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v71, <4 x double> %v90, <4 x double> %v69)
  %v92 = getelementptr double, ptr %batch2.c, i64 4
  %v93 = getelementptr double, ptr %batch2.c, i64 8
  %v94 = getelementptr double, ptr %batch2.c, i64 12
  store <4 x double> %v76, ptr %batch2.c, align 8
  store <4 x double> %v81, ptr %v92, align 8
  store <4 x double> %v86, ptr %v93, align 8
  store <4 x double> %v91, ptr %v94, align 8
  br label %latch3
latch3:
  %v95 = add i64 %batch2.i, 1
  %v96 = getelementptr double, ptr %batch2.a, i64 %sa
  %v97 = getelementptr double, ptr %batch2.b, i64 %sb
  %v98 = getelementptr double, ptr %batch2.c, i64 %sc
  %v99 = icmp slt i64 %v95, %count
  br i1 %v99, label %batch2, label %done4
done4:
  ret void
}

declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)

!0 = !{i32 1}
