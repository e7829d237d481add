; s:nn:5x3x4|packed|alpha=1|beta=0|ieee skylake-avx512
; vector_bits=256 tail=mask store=plain cmul=none blk_m=1 blk_n=3 blk_k=4 inner=column reg_a=1 reg_b=1 order=nm roll=0 prefetch=0 level=1
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v74, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v75, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v76, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v77, %latch3 ]
  %v6 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %batch2.a, i32 4, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %v7 = load float, ptr %batch2.b, align 4
  %v8 = insertelement <8 x float> poison, float %v7, i64 0
  %v9 = shufflevector <8 x float> %v8, <8 x float> poison, <8 x i32> zeroinitializer
  %v10 = fmul <8 x float> %v6, %v9
  %v11 = getelementptr float, ptr %batch2.b, i64 4
  %v12 = load float, ptr %v11, align 4
  %v13 = insertelement <8 x float> poison, float %v12, i64 0
  %v14 = shufflevector <8 x float> %v13, <8 x float> poison, <8 x i32> zeroinitializer
  %v15 = fmul <8 x float> %v6, %v14
  %v16 = getelementptr float, ptr %batch2.b, i64 8
  %v17 = load float, ptr %v16, align 4
  %v18 = insertelement <8 x float> poison, float %v17, i64 0
  %v19 = shufflevector <8 x float> %v18, <8 x float> poison, <8 x i32> zeroinitializer
  %v20 = fmul <8 x float> %v6, %v19
  %v21 = getelementptr float, ptr %batch2.a, i64 5
  %v22 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v21, i32 4, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %v23 = getelementptr float, ptr %batch2.b, i64 1
  %v24 = load float, ptr %v23, align 4
  %v25 = insertelement <8 x float> poison, float %v24, i64 0
  %v26 = shufflevector <8 x float> %v25, <8 x float> poison, <8 x i32> zeroinitializer
  %v27 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v22, <8 x float> %v26, <8 x float> %v10)
  %v28 = getelementptr float, ptr %batch2.b, i64 5
  %v29 = load float, ptr %v28, align 4
  %v30 = insertelement <8 x float> poison, float %v29, i64 0
  %v31 = shufflevector <8 x float> %v30, <8 x float> poison, <8 x i32> zeroinitializer
  %v32 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v22, <8 x float> %v31, <8 x float> %v15)
  %v33 = getelementptr float, ptr %batch2.b, i64 9
  %v34 = load float, ptr %v33, align 4
  %v35 = insertelement <8 x float> poison, float %v34, i64 0
  %v36 = shufflevector <8 x float> %v35, <8 x float> poison, <8 x i32> zeroinitializer
  %v37 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v22, <8 x float> %v36, <8 x float> %v20)
  %v38 = getelementptr float, ptr %batch2.a, i64 10
  %v39 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v38, i32 4, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %v40 = getelementptr float, ptr %batch2.b, i64 2
  %v41 = load float, ptr %v40, align 4
  %v42 = insertelement <8 x float> poison, float %v41, i64 0
  %v43 = shufflevector <8 x float> %v42, <8 x float> poison, <8 x i32> zeroinitializer
  %v44 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v39, <8 x float> %v43, <8 x float> %v27)
  %v45 = getelementptr float, ptr %batch2.b, i64 6
  %v46 = load float, ptr %v45, align 4
  %v47 = insertelement <8 x float> poison, float %v46, i64 0
  %v48 = shufflevector <8 x float> %v47, <8 x float> poison, <8 x i32> zeroinitializer
  %v49 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v39, <8 x float> %v48, <8 x float> %v32)
  %v50 = getelementptr float, ptr %batch2.b, i64 10
  %v51 = load float, ptr %v50, align 4
  %v52 = insertelement <8 x float> poison, float %v51, i64 0
  %v53 = shufflevector <8 x float> %v52, <8 x float> poison, <8 x i32> zeroinitializer
  %v54 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v39, <8 x float> %v53, <8 x float> %v37)
  %v55 = getelementptr float, ptr %batch2.a, i64 15
  %v56 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v55, i32 4, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %v57 = getelementptr float, ptr %batch2.b, i64 3
  %v58 = load float, ptr %v57, align 4
  %v59 = insertelement <8 x float> poison, float %v58, i64 0
  %v60 = shufflevector <8 x float> %v59, <8 x float> poison, <8 x i32> zeroinitializer
  %v61 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v56, <8 x float> %v60, <8 x float> %v44)
  %v62 = getelementptr float, ptr %batch2.b, i64 7
  %v63 = load float, ptr %v62, align 4
  %v64 = insertelement <8 x float> poison, float %v63, i64 0
  %v65 = shufflevector <8 x float> %v64, <8 x float> poison, <8 x i32> zeroinitializer
  %v66 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v56, <8 x float> %v65, <8 x float> %v49)
  %v67 = getelementptr float, ptr %batch2.b, i64 11
  %v68 = load float, ptr %v67, align 4
  %v69 = insertelement <8 x float> poison, float %v68, i64 0
  %v70 = shufflevector <8 x float> %v69, <8 x float> poison, <8 x i32> zeroinitializer
  %v71 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v56, <8 x float> %v70, <8 x float> %v54)
  %v72 = getelementptr float, ptr %batch2.c, i64 5
  %v73 = getelementptr float, ptr %batch2.c, i64 10
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v61, ptr %batch2.c, i32 4, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v66, ptr %v72, i32 4, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v71, ptr %v73, i32 4, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  br label %latch3
latch3:
  %v74 = add i64 %batch2.i, 1
  %v75 = getelementptr float, ptr %batch2.a, i64 %sa
  %v76 = getelementptr float, ptr %batch2.b, i64 %sb
  %v77 = getelementptr float, ptr %batch2.c, i64 %sc
  %v78 = icmp slt i64 %v74, %count
  br i1 %v78, label %batch2, label %done4
done4:
  ret void
}

declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)

!0 = !{i32 1}
