; d:tn:3x2x5|packed|alpha=1|beta=1|ieee skylake-avx512
; vector_bits=256 blk_m=4 blk_n=2 tail=mask store=plain prefetch=0
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v66, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v67, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v68, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v69, %latch3 ]
  br label %tile6
tile6:
  %v7 = load <4 x double>, ptr %batch2.b, align 8
  %v8 = getelementptr double, ptr %batch2.b, i64 5
  %v9 = load <4 x double>, ptr %v8, align 8
  %v10 = load <4 x double>, ptr %batch2.a, align 8
  %v11 = fmul <4 x double> %v10, %v7
  %v12 = fmul <4 x double> %v10, %v9
  %v13 = getelementptr double, ptr %batch2.a, i64 5
  %v14 = load <4 x double>, ptr %v13, align 8
  %v15 = fmul <4 x double> %v14, %v7
  %v16 = fmul <4 x double> %v14, %v9
  %v17 = getelementptr double, ptr %batch2.a, i64 10
  %v18 = load <4 x double>, ptr %v17, align 8
  %v19 = fmul <4 x double> %v18, %v7
  %v20 = fmul <4 x double> %v18, %v9
  %v21 = getelementptr double, ptr %batch2.b, i64 4
  %v22 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v21, i32 8, <4 x i1> <i1 1, i1 0, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v23 = getelementptr double, ptr %batch2.b, i64 9
  %v24 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v23, i32 8, <4 x i1> <i1 1, i1 0, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v25 = getelementptr double, ptr %batch2.a, i64 4
  %v26 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v25, i32 8, <4 x i1> <i1 1, i1 0, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v27 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v26, <4 x double> %v22, <4 x double> %v11)
  %v28 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v26, <4 x double> %v24, <4 x double> %v12)
  %v29 = getelementptr double, ptr %batch2.a, i64 9
  %v30 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v29, i32 8, <4 x i1> <i1 1, i1 0, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v31 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v30, <4 x double> %v22, <4 x double> %v15)
  %v32 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v30, <4 x double> %v24, <4 x double> %v16)
  %v33 = getelementptr double, ptr %batch2.a, i64 14
  %v34 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v33, i32 8, <4 x i1> <i1 1, i1 0, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v35 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v34, <4 x double> %v22, <4 x double> %v19)
  %v36 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v34, <4 x double> %v24, <4 x double> %v20)
  %v37 = getelementptr double, ptr %batch2.c, i64 3
  %v38 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %batch2.c, i32 8, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x double> zeroinitializer)
  %v39 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v37, i32 8, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x double> zeroinitializer)
  %v40 = shufflevector <4 x double> %v27, <4 x double> %v31, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v41 = shufflevector <4 x double> %v27, <4 x double> %v31, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v42 = fadd <4 x double> %v40, %v41
  %v43 = shufflevector <4 x double> %v35, <4 x double> poison, <4 x i32> <i32 0, i32 poison, i32 2, i32 poison>
  %v44 = shufflevector <4 x double> %v35, <4 x double> poison, <4 x i32> <i32 1, i32 poison, i32 3, i32 poison>
  %v45 = fadd <4 x double> %v43, %v44
  %v46 = shufflevector <4 x double> %v42, <4 x double> %v45, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %v47 = shufflevector <4 x double> %v42, <4 x double> %v45, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  %v48 = fadd <4 x double> %v46, %v47
  %v49 = fadd <4 x double> %v48, %v38
  %v50 = shufflevector <4 x double> %v49, <4 x double> poison, <2 x i32> <i32 0, i32 1>
  store <2 x double> %v50, ptr %batch2.c, align 8
  %v51 = shufflevector <4 x double> %v49, <4 x double> poison, <2 x i32> <i32 1, i32 2>
  %v52 = getelementptr double, ptr %batch2.c, i64 1
  store <2 x double> %v51, ptr %v52, align 8
  %v53 = shufflevector <4 x double> %v28, <4 x double> %v32, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v54 = shufflevector <4 x double> %v28, <4 x double> %v32, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v55 = fadd <4 x double> %v53, %v54
  %v56 = shufflevector <4 x double> %v36, <4 x double> poison, <4 x i32> <i32 0, i32 poison, i32 2, i32 poison>
  %v57 = shufflevector <4 x double> %v36, <4 x double> poison, <4 x i32> <i32 1, i32 poison, i32 3, i32 poison>
  %v58 = fadd <4 x double> %v56, %v57
  %v59 = shufflevector <4 x double> %v55, <4 x double> %v58, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %v60 = shufflevector <4 x double> %v55, <4 x double> %v58, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  %v61 = fadd <4 x double> %v59, %v60
  %v62 = fadd <4 x double> %v61, %v39
  %v63 = shufflevector <4 x double> %v62, <4 x double> poison, <2 x i32> <i32 0, i32 1>
  store <2 x double> %v63, ptr %v37, align 8
  %v64 = shufflevector <4 x double> %v62, <4 x double> poison, <2 x i32> <i32 1, i32 2>
  %v65 = getelementptr double, ptr %v37, i64 1
  store <2 x double> %v64, ptr %v65, align 8
  br label %latch3
latch3:
  %v66 = add i64 %batch2.i, 1
  %v67 = getelementptr double, ptr %batch2.a, i64 %sa
  %v68 = getelementptr double, ptr %batch2.b, i64 %sb
  %v69 = getelementptr double, ptr %batch2.c, i64 %sc
  %v70 = icmp slt i64 %v66, %count
  br i1 %v70, label %batch2, label %done4
done4:
  ret void
}

declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)
declare <4 x double> @llvm.masked.load.v4f64.p0(ptr, i32, <4 x i1>, <4 x double>)

!0 = !{i32 1}
