define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
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
  %v6 = call <4 x double> @llvm.vp.load.v4f64.p0(ptr align 8 %batch2.a, <4 x i1> <i1 1, i1 1, i1 1, i1 1>, i32 3)
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
  fence syncscope("singlethread") seq_cst
  %v21 = getelementptr double, ptr %batch2.a, i64 3
  %v22 = call <4 x double> @llvm.vp.load.v4f64.p0(ptr align 8 %v21, <4 x i1> <i1 1, i1 1, i1 1, i1 1>, i32 3)
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
  fence syncscope("singlethread") seq_cst
  %v38 = getelementptr double, ptr %batch2.a, i64 6
  %v39 = call <4 x double> @llvm.vp.load.v4f64.p0(ptr align 8 %v38, <4 x i1> <i1 1, i1 1, i1 1, i1 1>, i32 3)
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
  fence syncscope("singlethread") seq_cst
  fence syncscope("singlethread") seq_cst
  %v55 = getelementptr double, ptr %batch2.c, i64 3
  %v56 = getelementptr double, ptr %batch2.c, i64 6
  call void @llvm.vp.store.v4f64.p0(<4 x double> %v44, ptr align 8 %batch2.c, <4 x i1> <i1 1, i1 1, i1 1, i1 1>, i32 3)
  fence syncscope("singlethread") seq_cst
  call void @llvm.vp.store.v4f64.p0(<4 x double> %v49, ptr align 8 %v55, <4 x i1> <i1 1, i1 1, i1 1, i1 1>, i32 3)
  fence syncscope("singlethread") seq_cst
  call void @llvm.vp.store.v4f64.p0(<4 x double> %v54, ptr align 8 %v56, <4 x i1> <i1 1, i1 1, i1 1, i1 1>, i32 3)
  fence syncscope("singlethread") seq_cst
  fence syncscope("singlethread") seq_cst
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

declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)
declare <4 x double> @llvm.vp.load.v4f64.p0(ptr, <4 x i1>, i32)
declare void @llvm.vp.store.v4f64.p0(<4 x double>, ptr, <4 x i1>, i32)

!0 = !{i32 1}
