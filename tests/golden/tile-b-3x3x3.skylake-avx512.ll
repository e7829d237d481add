; b:nn:3x3x3|packed|alpha=1|beta=0|ieee skylake-avx512
; vector_bits=128 tail=mask store=plain cmul=none blk_m=1 blk_n=3 blk_k=3 inner=column reg_a=1 reg_b=1 order=nm roll=0 prefetch=0 level=1
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [9 x float], align 64
  br label %before2
before2:
  %v6 = icmp sgt i64 %count, 0
  br i1 %v6, label %batch3, label %done5
batch3:
  %batch3.i = phi i64 [ 0, %before2 ], [ %v104, %latch4 ]
  %batch3.a = phi ptr [ %A, %before2 ], [ %v105, %latch4 ]
  %batch3.b = phi ptr [ %B, %before2 ], [ %v106, %latch4 ]
  %batch3.c = phi ptr [ %C, %before2 ], [ %v107, %latch4 ]
  %v7 = load <4 x bfloat>, ptr %batch3.b, align 2
  %v8 = fpext <4 x bfloat> %v7 to <4 x float>
  store <4 x float> %v8, ptr %v1, align 4
  %v9 = getelementptr bfloat, ptr %batch3.b, i64 4
  %v10 = load <4 x bfloat>, ptr %v9, align 2
  %v11 = fpext <4 x bfloat> %v10 to <4 x float>
  %v12 = getelementptr float, ptr %v1, i64 4
  store <4 x float> %v11, ptr %v12, align 4
  %v13 = getelementptr bfloat, ptr %batch3.b, i64 8
  %v14 = load bfloat, ptr %v13, align 2
  %v15 = fpext bfloat %v14 to float
  %v16 = getelementptr float, ptr %v1, i64 8
  store float %v15, ptr %v16, align 4
  %v17 = call <4 x bfloat> @llvm.masked.load.v4bf16.p0(ptr %batch3.a, i32 2, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x bfloat> zeroinitializer)
  %v18 = fpext <4 x bfloat> %v17 to <4 x float>
  %v19 = load float, ptr %v1, align 4
  %v20 = insertelement <4 x float> poison, float %v19, i64 0
  %v21 = shufflevector <4 x float> %v20, <4 x float> poison, <4 x i32> zeroinitializer
  %v22 = fmul <4 x float> %v18, %v21
  %v23 = getelementptr float, ptr %v1, i64 3
  %v24 = load float, ptr %v23, align 4
  %v25 = insertelement <4 x float> poison, float %v24, i64 0
  %v26 = shufflevector <4 x float> %v25, <4 x float> poison, <4 x i32> zeroinitializer
  %v27 = fmul <4 x float> %v18, %v26
  %v28 = getelementptr float, ptr %v1, i64 6
  %v29 = load float, ptr %v28, align 4
  %v30 = insertelement <4 x float> poison, float %v29, i64 0
  %v31 = shufflevector <4 x float> %v30, <4 x float> poison, <4 x i32> zeroinitializer
  %v32 = fmul <4 x float> %v18, %v31
  %v33 = getelementptr bfloat, ptr %batch3.a, i64 3
  %v34 = call <4 x bfloat> @llvm.masked.load.v4bf16.p0(ptr %v33, i32 2, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x bfloat> zeroinitializer)
  %v35 = fpext <4 x bfloat> %v34 to <4 x float>
  %v36 = getelementptr float, ptr %v1, i64 1
  %v37 = load float, ptr %v36, align 4
  %v38 = insertelement <4 x float> poison, float %v37, i64 0
  %v39 = shufflevector <4 x float> %v38, <4 x float> poison, <4 x i32> zeroinitializer
  %v40 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v35, <4 x float> %v39, <4 x float> %v22)
  %v41 = getelementptr float, ptr %v1, i64 4
  %v42 = load float, ptr %v41, align 4
  %v43 = insertelement <4 x float> poison, float %v42, i64 0
  %v44 = shufflevector <4 x float> %v43, <4 x float> poison, <4 x i32> zeroinitializer
  %v45 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v35, <4 x float> %v44, <4 x float> %v27)
  %v46 = getelementptr float, ptr %v1, i64 7
  %v47 = load float, ptr %v46, align 4
  %v48 = insertelement <4 x float> poison, float %v47, i64 0
  %v49 = shufflevector <4 x float> %v48, <4 x float> poison, <4 x i32> zeroinitializer
  %v50 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v35, <4 x float> %v49, <4 x float> %v32)
  %v51 = getelementptr bfloat, ptr %batch3.a, i64 6
  %v52 = call <4 x bfloat> @llvm.masked.load.v4bf16.p0(ptr %v51, i32 2, <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x bfloat> zeroinitializer)
  %v53 = fpext <4 x bfloat> %v52 to <4 x float>
  %v54 = getelementptr float, ptr %v1, i64 2
  %v55 = load float, ptr %v54, align 4
  %v56 = insertelement <4 x float> poison, float %v55, i64 0
  %v57 = shufflevector <4 x float> %v56, <4 x float> poison, <4 x i32> zeroinitializer
  %v58 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v53, <4 x float> %v57, <4 x float> %v40)
  %v59 = getelementptr float, ptr %v1, i64 5
  %v60 = load float, ptr %v59, align 4
  %v61 = insertelement <4 x float> poison, float %v60, i64 0
  %v62 = shufflevector <4 x float> %v61, <4 x float> poison, <4 x i32> zeroinitializer
  %v63 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v53, <4 x float> %v62, <4 x float> %v45)
  %v64 = getelementptr float, ptr %v1, i64 8
  %v65 = load float, ptr %v64, align 4
  %v66 = insertelement <4 x float> poison, float %v65, i64 0
  %v67 = shufflevector <4 x float> %v66, <4 x float> poison, <4 x i32> zeroinitializer
  %v68 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v53, <4 x float> %v67, <4 x float> %v50)
  %v69 = getelementptr bfloat, ptr %batch3.c, i64 3
  %v70 = getelementptr bfloat, ptr %batch3.c, i64 6
  %v71 = bitcast <4 x float> %v58 to <4 x i32>
  %v72 = lshr <4 x i32> %v71, <i32 16, i32 16, i32 16, i32 16>
  %v73 = and <4 x i32> %v72, <i32 1, i32 1, i32 1, i32 1>
  %v74 = add <4 x i32> %v71, %v73
  %v75 = add <4 x i32> %v74, <i32 32767, i32 32767, i32 32767, i32 32767>
  %v76 = or <4 x i32> %v71, <i32 4194304, i32 4194304, i32 4194304, i32 4194304>
  %v77 = fcmp uno <4 x float> %v58, %v58
  %v78 = select <4 x i1> %v77, <4 x i32> %v76, <4 x i32> %v75
  %v79 = lshr <4 x i32> %v78, <i32 16, i32 16, i32 16, i32 16>
  %v80 = trunc <4 x i32> %v79 to <4 x i16>
  %v81 = bitcast <4 x i16> %v80 to <4 x bfloat>
  call void @llvm.masked.store.v4bf16.p0(<4 x bfloat> %v81, ptr %batch3.c, i32 2, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  %v82 = bitcast <4 x float> %v63 to <4 x i32>
  %v83 = lshr <4 x i32> %v82, <i32 16, i32 16, i32 16, i32 16>
  %v84 = and <4 x i32> %v83, <i32 1, i32 1, i32 1, i32 1>
  %v85 = add <4 x i32> %v82, %v84
  %v86 = add <4 x i32> %v85, <i32 32767, i32 32767, i32 32767, i32 32767>
  %v87 = or <4 x i32> %v82, <i32 4194304, i32 4194304, i32 4194304, i32 4194304>
  %v88 = fcmp uno <4 x float> %v63, %v63
  %v89 = select <4 x i1> %v88, <4 x i32> %v87, <4 x i32> %v86
  %v90 = lshr <4 x i32> %v89, <i32 16, i32 16, i32 16, i32 16>
  %v91 = trunc <4 x i32> %v90 to <4 x i16>
  %v92 = bitcast <4 x i16> %v91 to <4 x bfloat>
  call void @llvm.masked.store.v4bf16.p0(<4 x bfloat> %v92, ptr %v69, i32 2, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  %v93 = bitcast <4 x float> %v68 to <4 x i32>
  %v94 = lshr <4 x i32> %v93, <i32 16, i32 16, i32 16, i32 16>
  %v95 = and <4 x i32> %v94, <i32 1, i32 1, i32 1, i32 1>
  %v96 = add <4 x i32> %v93, %v95
  %v97 = add <4 x i32> %v96, <i32 32767, i32 32767, i32 32767, i32 32767>
  %v98 = or <4 x i32> %v93, <i32 4194304, i32 4194304, i32 4194304, i32 4194304>
  %v99 = fcmp uno <4 x float> %v68, %v68
  %v100 = select <4 x i1> %v99, <4 x i32> %v98, <4 x i32> %v97
  %v101 = lshr <4 x i32> %v100, <i32 16, i32 16, i32 16, i32 16>
  %v102 = trunc <4 x i32> %v101 to <4 x i16>
  %v103 = bitcast <4 x i16> %v102 to <4 x bfloat>
  call void @llvm.masked.store.v4bf16.p0(<4 x bfloat> %v103, ptr %v70, i32 2, <4 x i1> <i1 1, i1 1, i1 1, i1 0>)
  br label %latch4
latch4:
  %v104 = add i64 %batch3.i, 1
  %v105 = getelementptr bfloat, ptr %batch3.a, i64 %sa
  %v106 = getelementptr bfloat, ptr %batch3.b, i64 %sb
  %v107 = getelementptr bfloat, ptr %batch3.c, i64 %sc
  %v108 = icmp slt i64 %v104, %count
  br i1 %v108, label %batch3, label %done5
done5:
  ret void
}

declare <4 x bfloat> @llvm.masked.load.v4bf16.p0(ptr, i32, <4 x i1>, <4 x bfloat>)
declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare void @llvm.masked.store.v4bf16.p0(<4 x bfloat>, ptr, i32, <4 x i1>)

!0 = !{i32 1}
