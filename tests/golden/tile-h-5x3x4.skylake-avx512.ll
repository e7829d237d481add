; h:nn:5x3x4|packed|alpha=1|beta=1|ieee skylake-avx512
; vector_bits=256 tail=mask store=plain cmul=none blk_m=1 blk_n=3 blk_k=4 inner=column reg_a=1 reg_b=1 order=nm roll=0 prefetch=0 level=1
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [12 x float], align 64
  br label %before2
before2:
  %v6 = icmp sgt i64 %count, 0
  br i1 %v6, label %batch3, label %done5
batch3:
  %batch3.i = phi i64 [ 0, %before2 ], [ %v97, %latch4 ]
  %batch3.a = phi ptr [ %A, %before2 ], [ %v98, %latch4 ]
  %batch3.b = phi ptr [ %B, %before2 ], [ %v99, %latch4 ]
  %batch3.c = phi ptr [ %C, %before2 ], [ %v100, %latch4 ]
  %v7 = load <8 x half>, ptr %batch3.b, align 2
  %v8 = fpext <8 x half> %v7 to <8 x float>
  store <8 x float> %v8, ptr %v1, align 4
  %v9 = getelementptr half, ptr %batch3.b, i64 8
  %v10 = load <4 x half>, ptr %v9, align 2
  %v11 = fpext <4 x half> %v10 to <4 x float>
  %v12 = getelementptr float, ptr %v1, i64 8
  store <4 x float> %v11, ptr %v12, align 4
  %v13 = call <8 x half> @llvm.masked.load.v8f16.p0(ptr %batch3.a, i32 2, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x half> zeroinitializer)
  %v14 = fpext <8 x half> %v13 to <8 x float>
  %v15 = load float, ptr %v1, align 4
  %v16 = insertelement <8 x float> poison, float %v15, i64 0
  %v17 = shufflevector <8 x float> %v16, <8 x float> poison, <8 x i32> zeroinitializer
  %v18 = fmul <8 x float> %v14, %v17
  %v19 = getelementptr float, ptr %v1, i64 4
  %v20 = load float, ptr %v19, align 4
  %v21 = insertelement <8 x float> poison, float %v20, i64 0
  %v22 = shufflevector <8 x float> %v21, <8 x float> poison, <8 x i32> zeroinitializer
  %v23 = fmul <8 x float> %v14, %v22
  %v24 = getelementptr float, ptr %v1, i64 8
  %v25 = load float, ptr %v24, align 4
  %v26 = insertelement <8 x float> poison, float %v25, i64 0
  %v27 = shufflevector <8 x float> %v26, <8 x float> poison, <8 x i32> zeroinitializer
  %v28 = fmul <8 x float> %v14, %v27
  %v29 = getelementptr half, ptr %batch3.a, i64 5
  %v30 = call <8 x half> @llvm.masked.load.v8f16.p0(ptr %v29, i32 2, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x half> zeroinitializer)
  %v31 = fpext <8 x half> %v30 to <8 x float>
  %v32 = getelementptr float, ptr %v1, i64 1
  %v33 = load float, ptr %v32, align 4
  %v34 = insertelement <8 x float> poison, float %v33, i64 0
  %v35 = shufflevector <8 x float> %v34, <8 x float> poison, <8 x i32> zeroinitializer
  %v36 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v31, <8 x float> %v35, <8 x float> %v18)
  %v37 = getelementptr float, ptr %v1, i64 5
  %v38 = load float, ptr %v37, align 4
  %v39 = insertelement <8 x float> poison, float %v38, i64 0
  %v40 = shufflevector <8 x float> %v39, <8 x float> poison, <8 x i32> zeroinitializer
  %v41 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v31, <8 x float> %v40, <8 x float> %v23)
  %v42 = getelementptr float, ptr %v1, i64 9
  %v43 = load float, ptr %v42, align 4
  %v44 = insertelement <8 x float> poison, float %v43, i64 0
  %v45 = shufflevector <8 x float> %v44, <8 x float> poison, <8 x i32> zeroinitializer
  %v46 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v31, <8 x float> %v45, <8 x float> %v28)
  %v47 = getelementptr half, ptr %batch3.a, i64 10
  %v48 = call <8 x half> @llvm.masked.load.v8f16.p0(ptr %v47, i32 2, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x half> zeroinitializer)
  %v49 = fpext <8 x half> %v48 to <8 x float>
  %v50 = getelementptr float, ptr %v1, i64 2
  %v51 = load float, ptr %v50, align 4
  %v52 = insertelement <8 x float> poison, float %v51, i64 0
  %v53 = shufflevector <8 x float> %v52, <8 x float> poison, <8 x i32> zeroinitializer
  %v54 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v49, <8 x float> %v53, <8 x float> %v36)
  %v55 = getelementptr float, ptr %v1, i64 6
  %v56 = load float, ptr %v55, align 4
  %v57 = insertelement <8 x float> poison, float %v56, i64 0
  %v58 = shufflevector <8 x float> %v57, <8 x float> poison, <8 x i32> zeroinitializer
  %v59 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v49, <8 x float> %v58, <8 x float> %v41)
  %v60 = getelementptr float, ptr %v1, i64 10
  %v61 = load float, ptr %v60, align 4
  %v62 = insertelement <8 x float> poison, float %v61, i64 0
  %v63 = shufflevector <8 x float> %v62, <8 x float> poison, <8 x i32> zeroinitializer
  %v64 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v49, <8 x float> %v63, <8 x float> %v46)
  %v65 = getelementptr half, ptr %batch3.a, i64 15
  %v66 = call <8 x half> @llvm.masked.load.v8f16.p0(ptr %v65, i32 2, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x half> zeroinitializer)
  %v67 = fpext <8 x half> %v66 to <8 x float>
  %v68 = getelementptr float, ptr %v1, i64 3
  %v69 = load float, ptr %v68, align 4
  %v70 = insertelement <8 x float> poison, float %v69, i64 0
  %v71 = shufflevector <8 x float> %v70, <8 x float> poison, <8 x i32> zeroinitializer
  %v72 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v67, <8 x float> %v71, <8 x float> %v54)
  %v73 = getelementptr float, ptr %v1, i64 7
  %v74 = load float, ptr %v73, align 4
  %v75 = insertelement <8 x float> poison, float %v74, i64 0
  %v76 = shufflevector <8 x float> %v75, <8 x float> poison, <8 x i32> zeroinitializer
  %v77 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v67, <8 x float> %v76, <8 x float> %v59)
  %v78 = getelementptr float, ptr %v1, i64 11
  %v79 = load float, ptr %v78, align 4
  %v80 = insertelement <8 x float> poison, float %v79, i64 0
  %v81 = shufflevector <8 x float> %v80, <8 x float> poison, <8 x i32> zeroinitializer
  %v82 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v67, <8 x float> %v81, <8 x float> %v64)
  %v83 = getelementptr half, ptr %batch3.c, i64 5
  %v84 = getelementptr half, ptr %batch3.c, i64 10
  %v85 = call <8 x half> @llvm.masked.load.v8f16.p0(ptr %batch3.c, i32 2, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x half> zeroinitializer)
  %v86 = fpext <8 x half> %v85 to <8 x float>
  %v87 = fadd <8 x float> %v72, %v86
  %v88 = call <8 x half> @llvm.masked.load.v8f16.p0(ptr %v83, i32 2, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x half> zeroinitializer)
  %v89 = fpext <8 x half> %v88 to <8 x float>
  %v90 = fadd <8 x float> %v77, %v89
  %v91 = call <8 x half> @llvm.masked.load.v8f16.p0(ptr %v84, i32 2, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x half> zeroinitializer)
  %v92 = fpext <8 x half> %v91 to <8 x float>
  %v93 = fadd <8 x float> %v82, %v92
  %v94 = fptrunc <8 x float> %v87 to <8 x half>
  call void @llvm.masked.store.v8f16.p0(<8 x half> %v94, ptr %batch3.c, i32 2, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  %v95 = fptrunc <8 x float> %v90 to <8 x half>
  call void @llvm.masked.store.v8f16.p0(<8 x half> %v95, ptr %v83, i32 2, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  %v96 = fptrunc <8 x float> %v93 to <8 x half>
  call void @llvm.masked.store.v8f16.p0(<8 x half> %v96, ptr %v84, i32 2, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  br label %latch4
latch4:
  %v97 = add i64 %batch3.i, 1
  %v98 = getelementptr half, ptr %batch3.a, i64 %sa
  %v99 = getelementptr half, ptr %batch3.b, i64 %sb
  %v100 = getelementptr half, ptr %batch3.c, i64 %sc
  %v101 = icmp slt i64 %v97, %count
  br i1 %v101, label %batch3, label %done5
done5:
  ret void
}

declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <8 x half> @llvm.masked.load.v8f16.p0(ptr, i32, <8 x i1>, <8 x half>)
declare void @llvm.masked.store.v8f16.p0(<8 x half>, ptr, i32, <8 x i1>)

!0 = !{i32 1}
