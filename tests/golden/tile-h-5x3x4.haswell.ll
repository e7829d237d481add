; h:nn:5x3x4|packed|alpha=1|beta=1|ieee haswell
; vector_bits=128 tail=binary store=plain cmul=none blk_m=2 blk_n=3 blk_k=4 inner=column reg_a=2 reg_b=1 order=nm roll=0 prefetch=0 level=1
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [12 x float], align 64
  br label %before2
before2:
  %v6 = icmp sgt i64 %count, 0
  br i1 %v6, label %batch3, label %done5
batch3:
  %batch3.i = phi i64 [ 0, %before2 ], [ %v140, %latch4 ]
  %batch3.a = phi ptr [ %A, %before2 ], [ %v141, %latch4 ]
  %batch3.b = phi ptr [ %B, %before2 ], [ %v142, %latch4 ]
  %batch3.c = phi ptr [ %C, %before2 ], [ %v143, %latch4 ]
  %v7 = load <4 x half>, ptr %batch3.b, align 2
  %v8 = fpext <4 x half> %v7 to <4 x float>
  store <4 x float> %v8, ptr %v1, align 4
  %v9 = getelementptr half, ptr %batch3.b, i64 4
  %v10 = load <4 x half>, ptr %v9, align 2
  %v11 = fpext <4 x half> %v10 to <4 x float>
  %v12 = getelementptr float, ptr %v1, i64 4
  store <4 x float> %v11, ptr %v12, align 4
  %v13 = getelementptr half, ptr %batch3.b, i64 8
  %v14 = load <4 x half>, ptr %v13, align 2
  %v15 = fpext <4 x half> %v14 to <4 x float>
  %v16 = getelementptr float, ptr %v1, i64 8
  store <4 x float> %v15, ptr %v16, align 4
  %v17 = load <4 x half>, ptr %batch3.a, align 2
  %v18 = fpext <4 x half> %v17 to <4 x float>
  %v19 = getelementptr half, ptr %batch3.a, i64 4
  %v20 = load half, ptr %v19, align 2
  %v21 = fpext half %v20 to float
  %v22 = load float, ptr %v1, align 4
  %v23 = insertelement <4 x float> poison, float %v22, i64 0
  %v24 = shufflevector <4 x float> %v23, <4 x float> poison, <4 x i32> zeroinitializer
  %v25 = fmul <4 x float> %v18, %v24
  %v26 = fmul float %v21, %v22
  %v27 = getelementptr float, ptr %v1, i64 4
  %v28 = load float, ptr %v27, align 4
  %v29 = insertelement <4 x float> poison, float %v28, i64 0
  %v30 = shufflevector <4 x float> %v29, <4 x float> poison, <4 x i32> zeroinitializer
  %v31 = fmul <4 x float> %v18, %v30
  %v32 = fmul float %v21, %v28
  %v33 = getelementptr float, ptr %v1, i64 8
  %v34 = load float, ptr %v33, align 4
  %v35 = insertelement <4 x float> poison, float %v34, i64 0
  %v36 = shufflevector <4 x float> %v35, <4 x float> poison, <4 x i32> zeroinitializer
  %v37 = fmul <4 x float> %v18, %v36
  %v38 = fmul float %v21, %v34
  %v39 = getelementptr half, ptr %batch3.a, i64 5
  %v40 = load <4 x half>, ptr %v39, align 2
  %v41 = fpext <4 x half> %v40 to <4 x float>
  %v42 = getelementptr half, ptr %batch3.a, i64 9
  %v43 = load half, ptr %v42, align 2
  %v44 = fpext half %v43 to float
  %v45 = getelementptr float, ptr %v1, i64 1
  %v46 = load float, ptr %v45, align 4
  %v47 = insertelement <4 x float> poison, float %v46, i64 0
  %v48 = shufflevector <4 x float> %v47, <4 x float> poison, <4 x i32> zeroinitializer
  %v49 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v41, <4 x float> %v48, <4 x float> %v25)
  %v50 = call float @llvm.fma.f32(float %v44, float %v46, float %v26)
  %v51 = getelementptr float, ptr %v1, i64 5
  %v52 = load float, ptr %v51, align 4
  %v53 = insertelement <4 x float> poison, float %v52, i64 0
  %v54 = shufflevector <4 x float> %v53, <4 x float> poison, <4 x i32> zeroinitializer
  %v55 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v41, <4 x float> %v54, <4 x float> %v31)
  %v56 = call float @llvm.fma.f32(float %v44, float %v52, float %v32)
  %v57 = getelementptr float, ptr %v1, i64 9
  %v58 = load float, ptr %v57, align 4
  %v59 = insertelement <4 x float> poison, float %v58, i64 0
  %v60 = shufflevector <4 x float> %v59, <4 x float> poison, <4 x i32> zeroinitializer
  %v61 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v41, <4 x float> %v60, <4 x float> %v37)
  %v62 = call float @llvm.fma.f32(float %v44, float %v58, float %v38)
  %v63 = getelementptr half, ptr %batch3.a, i64 10
  %v64 = load <4 x half>, ptr %v63, align 2
  %v65 = fpext <4 x half> %v64 to <4 x float>
  %v66 = getelementptr half, ptr %batch3.a, i64 14
  %v67 = load half, ptr %v66, align 2
  %v68 = fpext half %v67 to float
  %v69 = getelementptr float, ptr %v1, i64 2
  %v70 = load float, ptr %v69, align 4
  %v71 = insertelement <4 x float> poison, float %v70, i64 0
  %v72 = shufflevector <4 x float> %v71, <4 x float> poison, <4 x i32> zeroinitializer
  %v73 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v65, <4 x float> %v72, <4 x float> %v49)
  %v74 = call float @llvm.fma.f32(float %v68, float %v70, float %v50)
  %v75 = getelementptr float, ptr %v1, i64 6
  %v76 = load float, ptr %v75, align 4
  %v77 = insertelement <4 x float> poison, float %v76, i64 0
  %v78 = shufflevector <4 x float> %v77, <4 x float> poison, <4 x i32> zeroinitializer
  %v79 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v65, <4 x float> %v78, <4 x float> %v55)
  %v80 = call float @llvm.fma.f32(float %v68, float %v76, float %v56)
  %v81 = getelementptr float, ptr %v1, i64 10
  %v82 = load float, ptr %v81, align 4
  %v83 = insertelement <4 x float> poison, float %v82, i64 0
  %v84 = shufflevector <4 x float> %v83, <4 x float> poison, <4 x i32> zeroinitializer
  %v85 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v65, <4 x float> %v84, <4 x float> %v61)
  %v86 = call float @llvm.fma.f32(float %v68, float %v82, float %v62)
  %v87 = getelementptr half, ptr %batch3.a, i64 15
  %v88 = load <4 x half>, ptr %v87, align 2
  %v89 = fpext <4 x half> %v88 to <4 x float>
  %v90 = getelementptr half, ptr %batch3.a, i64 19
  %v91 = load half, ptr %v90, align 2
  %v92 = fpext half %v91 to float
  %v93 = getelementptr float, ptr %v1, i64 3
  %v94 = load float, ptr %v93, align 4
  %v95 = insertelement <4 x float> poison, float %v94, i64 0
  %v96 = shufflevector <4 x float> %v95, <4 x float> poison, <4 x i32> zeroinitializer
  %v97 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v89, <4 x float> %v96, <4 x float> %v73)
  %v98 = call float @llvm.fma.f32(float %v92, float %v94, float %v74)
  %v99 = getelementptr float, ptr %v1, i64 7
  %v100 = load float, ptr %v99, align 4
  %v101 = insertelement <4 x float> poison, float %v100, i64 0
  %v102 = shufflevector <4 x float> %v101, <4 x float> poison, <4 x i32> zeroinitializer
  %v103 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v89, <4 x float> %v102, <4 x float> %v79)
  %v104 = call float @llvm.fma.f32(float %v92, float %v100, float %v80)
  %v105 = getelementptr float, ptr %v1, i64 11
  %v106 = load float, ptr %v105, align 4
  %v107 = insertelement <4 x float> poison, float %v106, i64 0
  %v108 = shufflevector <4 x float> %v107, <4 x float> poison, <4 x i32> zeroinitializer
  %v109 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v89, <4 x float> %v108, <4 x float> %v85)
  %v110 = call float @llvm.fma.f32(float %v92, float %v106, float %v86)
  %v111 = getelementptr half, ptr %batch3.c, i64 4
  %v112 = getelementptr half, ptr %batch3.c, i64 5
  %v113 = getelementptr half, ptr %batch3.c, i64 9
  %v114 = getelementptr half, ptr %batch3.c, i64 10
  %v115 = getelementptr half, ptr %batch3.c, i64 14
  %v116 = load <4 x half>, ptr %batch3.c, align 2
  %v117 = fpext <4 x half> %v116 to <4 x float>
  %v118 = fadd <4 x float> %v97, %v117
  %v119 = load half, ptr %v111, align 2
  %v120 = fpext half %v119 to float
  %v121 = fadd float %v98, %v120
  %v122 = load <4 x half>, ptr %v112, align 2
  %v123 = fpext <4 x half> %v122 to <4 x float>
  %v124 = fadd <4 x float> %v103, %v123
  %v125 = load half, ptr %v113, align 2
  %v126 = fpext half %v125 to float
  %v127 = fadd float %v104, %v126
  %v128 = load <4 x half>, ptr %v114, align 2
  %v129 = fpext <4 x half> %v128 to <4 x float>
  %v130 = fadd <4 x float> %v109, %v129
  %v131 = load half, ptr %v115, align 2
  %v132 = fpext half %v131 to float
  %v133 = fadd float %v110, %v132
  %v134 = fptrunc <4 x float> %v118 to <4 x half>
  store <4 x half> %v134, ptr %batch3.c, align 2
  %v135 = fptrunc float %v121 to half
  store half %v135, ptr %v111, align 2
  %v136 = fptrunc <4 x float> %v124 to <4 x half>
  store <4 x half> %v136, ptr %v112, align 2
  %v137 = fptrunc float %v127 to half
  store half %v137, ptr %v113, align 2
  %v138 = fptrunc <4 x float> %v130 to <4 x half>
  store <4 x half> %v138, ptr %v114, align 2
  %v139 = fptrunc float %v133 to half
  store half %v139, ptr %v115, align 2
  br label %latch4
latch4:
  %v140 = add i64 %batch3.i, 1
  %v141 = getelementptr half, ptr %batch3.a, i64 %sa
  %v142 = getelementptr half, ptr %batch3.b, i64 %sb
  %v143 = getelementptr half, ptr %batch3.c, i64 %sc
  %v144 = icmp slt i64 %v140, %count
  br i1 %v144, label %batch3, label %done5
done5:
  ret void
}

declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare float @llvm.fma.f32(float, float, float)

!0 = !{i32 1}
