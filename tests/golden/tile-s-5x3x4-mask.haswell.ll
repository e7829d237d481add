; s:nn:5x3x4|packed|alpha=1|beta=0|ieee haswell
; vector_bits=128 tail=binary store=plain cmul=none blk_m=2 blk_n=3 blk_k=4 inner=column reg_a=2 reg_b=1 order=nm roll=0 prefetch=0 level=1
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v97, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v98, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v99, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v100, %latch3 ]
  %v6 = load <4 x float>, ptr %batch2.a, align 4
  %v7 = getelementptr float, ptr %batch2.a, i64 4
  %v8 = load float, ptr %v7, align 4
  %v9 = load float, ptr %batch2.b, align 4
  %v10 = insertelement <4 x float> poison, float %v9, i64 0
  %v11 = shufflevector <4 x float> %v10, <4 x float> poison, <4 x i32> zeroinitializer
  %v12 = fmul <4 x float> %v6, %v11
  %v13 = fmul float %v8, %v9
  %v14 = getelementptr float, ptr %batch2.b, i64 4
  %v15 = load float, ptr %v14, align 4
  %v16 = insertelement <4 x float> poison, float %v15, i64 0
  %v17 = shufflevector <4 x float> %v16, <4 x float> poison, <4 x i32> zeroinitializer
  %v18 = fmul <4 x float> %v6, %v17
  %v19 = fmul float %v8, %v15
  %v20 = getelementptr float, ptr %batch2.b, i64 8
  %v21 = load float, ptr %v20, align 4
  %v22 = insertelement <4 x float> poison, float %v21, i64 0
  %v23 = shufflevector <4 x float> %v22, <4 x float> poison, <4 x i32> zeroinitializer
  %v24 = fmul <4 x float> %v6, %v23
  %v25 = fmul float %v8, %v21
  %v26 = getelementptr float, ptr %batch2.a, i64 5
  %v27 = load <4 x float>, ptr %v26, align 4
  %v28 = getelementptr float, ptr %batch2.a, i64 9
  %v29 = load float, ptr %v28, align 4
  %v30 = getelementptr float, ptr %batch2.b, i64 1
  %v31 = load float, ptr %v30, align 4
  %v32 = insertelement <4 x float> poison, float %v31, i64 0
  %v33 = shufflevector <4 x float> %v32, <4 x float> poison, <4 x i32> zeroinitializer
  %v34 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v27, <4 x float> %v33, <4 x float> %v12)
  %v35 = call float @llvm.fma.f32(float %v29, float %v31, float %v13)
  %v36 = getelementptr float, ptr %batch2.b, i64 5
  %v37 = load float, ptr %v36, align 4
  %v38 = insertelement <4 x float> poison, float %v37, i64 0
  %v39 = shufflevector <4 x float> %v38, <4 x float> poison, <4 x i32> zeroinitializer
  %v40 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v27, <4 x float> %v39, <4 x float> %v18)
  %v41 = call float @llvm.fma.f32(float %v29, float %v37, float %v19)
  %v42 = getelementptr float, ptr %batch2.b, i64 9
  %v43 = load float, ptr %v42, align 4
  %v44 = insertelement <4 x float> poison, float %v43, i64 0
  %v45 = shufflevector <4 x float> %v44, <4 x float> poison, <4 x i32> zeroinitializer
  %v46 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v27, <4 x float> %v45, <4 x float> %v24)
  %v47 = call float @llvm.fma.f32(float %v29, float %v43, float %v25)
  %v48 = getelementptr float, ptr %batch2.a, i64 10
  %v49 = load <4 x float>, ptr %v48, align 4
  %v50 = getelementptr float, ptr %batch2.a, i64 14
  %v51 = load float, ptr %v50, align 4
  %v52 = getelementptr float, ptr %batch2.b, i64 2
  %v53 = load float, ptr %v52, align 4
  %v54 = insertelement <4 x float> poison, float %v53, i64 0
  %v55 = shufflevector <4 x float> %v54, <4 x float> poison, <4 x i32> zeroinitializer
  %v56 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v49, <4 x float> %v55, <4 x float> %v34)
  %v57 = call float @llvm.fma.f32(float %v51, float %v53, float %v35)
  %v58 = getelementptr float, ptr %batch2.b, i64 6
  %v59 = load float, ptr %v58, align 4
  %v60 = insertelement <4 x float> poison, float %v59, i64 0
  %v61 = shufflevector <4 x float> %v60, <4 x float> poison, <4 x i32> zeroinitializer
  %v62 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v49, <4 x float> %v61, <4 x float> %v40)
  %v63 = call float @llvm.fma.f32(float %v51, float %v59, float %v41)
  %v64 = getelementptr float, ptr %batch2.b, i64 10
  %v65 = load float, ptr %v64, align 4
  %v66 = insertelement <4 x float> poison, float %v65, i64 0
  %v67 = shufflevector <4 x float> %v66, <4 x float> poison, <4 x i32> zeroinitializer
  %v68 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v49, <4 x float> %v67, <4 x float> %v46)
  %v69 = call float @llvm.fma.f32(float %v51, float %v65, float %v47)
  %v70 = getelementptr float, ptr %batch2.a, i64 15
  %v71 = load <4 x float>, ptr %v70, align 4
  %v72 = getelementptr float, ptr %batch2.a, i64 19
  %v73 = load float, ptr %v72, align 4
  %v74 = getelementptr float, ptr %batch2.b, i64 3
  %v75 = load float, ptr %v74, align 4
  %v76 = insertelement <4 x float> poison, float %v75, i64 0
  %v77 = shufflevector <4 x float> %v76, <4 x float> poison, <4 x i32> zeroinitializer
  %v78 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v71, <4 x float> %v77, <4 x float> %v56)
  %v79 = call float @llvm.fma.f32(float %v73, float %v75, float %v57)
  %v80 = getelementptr float, ptr %batch2.b, i64 7
  %v81 = load float, ptr %v80, align 4
  %v82 = insertelement <4 x float> poison, float %v81, i64 0
  %v83 = shufflevector <4 x float> %v82, <4 x float> poison, <4 x i32> zeroinitializer
  %v84 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v71, <4 x float> %v83, <4 x float> %v62)
  %v85 = call float @llvm.fma.f32(float %v73, float %v81, float %v63)
  %v86 = getelementptr float, ptr %batch2.b, i64 11
  %v87 = load float, ptr %v86, align 4
  %v88 = insertelement <4 x float> poison, float %v87, i64 0
  %v89 = shufflevector <4 x float> %v88, <4 x float> poison, <4 x i32> zeroinitializer
  %v90 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v71, <4 x float> %v89, <4 x float> %v68)
  %v91 = call float @llvm.fma.f32(float %v73, float %v87, float %v69)
  %v92 = getelementptr float, ptr %batch2.c, i64 4
  %v93 = getelementptr float, ptr %batch2.c, i64 5
  %v94 = getelementptr float, ptr %batch2.c, i64 9
  %v95 = getelementptr float, ptr %batch2.c, i64 10
  %v96 = getelementptr float, ptr %batch2.c, i64 14
  store <4 x float> %v78, ptr %batch2.c, align 4
  store float %v79, ptr %v92, align 4
  store <4 x float> %v84, ptr %v93, align 4
  store float %v85, ptr %v94, align 4
  store <4 x float> %v90, ptr %v95, align 4
  store float %v91, ptr %v96, align 4
  br label %latch3
latch3:
  %v97 = add i64 %batch2.i, 1
  %v98 = getelementptr float, ptr %batch2.a, i64 %sa
  %v99 = getelementptr float, ptr %batch2.b, i64 %sb
  %v100 = getelementptr float, ptr %batch2.c, i64 %sc
  %v101 = icmp slt i64 %v97, %count
  br i1 %v101, label %batch2, label %done4
done4:
  ret void
}

declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare float @llvm.fma.f32(float, float, float)

!0 = !{i32 1}
