; d:tn:3x2x5|packed|alpha=1|beta=1|ieee haswell
; vector_bits=256 blk_m=2 blk_n=2 tail=mask store=plain prefetch=0
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v80, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v81, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v82, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v83, %latch3 ]
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
  %v17 = getelementptr double, ptr %batch2.b, i64 4
  %v18 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v17, i32 8, <4 x i1> <i1 1, i1 0, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v19 = getelementptr double, ptr %batch2.b, i64 9
  %v20 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v19, i32 8, <4 x i1> <i1 1, i1 0, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v21 = getelementptr double, ptr %batch2.a, i64 4
  %v22 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v21, i32 8, <4 x i1> <i1 1, i1 0, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v23 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v22, <4 x double> %v18, <4 x double> %v11)
  %v24 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v22, <4 x double> %v20, <4 x double> %v12)
  %v25 = getelementptr double, ptr %batch2.a, i64 9
  %v26 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v25, i32 8, <4 x i1> <i1 1, i1 0, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v27 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v26, <4 x double> %v18, <4 x double> %v15)
  %v28 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v26, <4 x double> %v20, <4 x double> %v16)
  %v29 = getelementptr double, ptr %batch2.c, i64 3
  %v30 = load <2 x double>, ptr %batch2.c, align 8
  %v31 = load <2 x double>, ptr %v29, align 8
  %v32 = shufflevector <4 x double> %v23, <4 x double> %v27, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v33 = shufflevector <4 x double> %v23, <4 x double> %v27, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v34 = fadd <4 x double> %v32, %v33
  %v35 = shufflevector <4 x double> %v34, <4 x double> poison, <2 x i32> <i32 0, i32 1>
  %v36 = shufflevector <4 x double> %v34, <4 x double> poison, <2 x i32> <i32 2, i32 3>
  %v37 = fadd <2 x double> %v35, %v36
  %v38 = fadd <2 x double> %v37, %v30
  store <2 x double> %v38, ptr %batch2.c, align 8
  %v39 = shufflevector <4 x double> %v24, <4 x double> %v28, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v40 = shufflevector <4 x double> %v24, <4 x double> %v28, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v41 = fadd <4 x double> %v39, %v40
  %v42 = shufflevector <4 x double> %v41, <4 x double> poison, <2 x i32> <i32 0, i32 1>
  %v43 = shufflevector <4 x double> %v41, <4 x double> poison, <2 x i32> <i32 2, i32 3>
  %v44 = fadd <2 x double> %v42, %v43
  %v45 = fadd <2 x double> %v44, %v31
  store <2 x double> %v45, ptr %v29, align 8
  br label %tile46
tile46:
  %v47 = getelementptr double, ptr %batch2.a, i64 10
  %v48 = load <4 x double>, ptr %batch2.b, align 8
  %v49 = getelementptr double, ptr %batch2.b, i64 5
  %v50 = load <4 x double>, ptr %v49, align 8
  %v51 = load <4 x double>, ptr %v47, align 8
  %v52 = fmul <4 x double> %v51, %v48
  %v53 = fmul <4 x double> %v51, %v50
  %v54 = getelementptr double, ptr %batch2.b, i64 4
  %v55 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v54, i32 8, <4 x i1> <i1 1, i1 0, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v56 = getelementptr double, ptr %batch2.b, i64 9
  %v57 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v56, i32 8, <4 x i1> <i1 1, i1 0, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v58 = getelementptr double, ptr %v47, i64 4
  %v59 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %v58, i32 8, <4 x i1> <i1 1, i1 0, i1 0, i1 0>, <4 x double> zeroinitializer)
  %v60 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v59, <4 x double> %v55, <4 x double> %v52)
  %v61 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v59, <4 x double> %v57, <4 x double> %v53)
  %v62 = getelementptr double, ptr %batch2.c, i64 2
  %v63 = getelementptr double, ptr %v62, i64 3
  %v64 = load double, ptr %v62, align 8
  %v65 = load double, ptr %v63, align 8
  %v66 = shufflevector <4 x double> %v60, <4 x double> poison, <2 x i32> <i32 0, i32 1>
  %v67 = shufflevector <4 x double> %v60, <4 x double> poison, <2 x i32> <i32 2, i32 3>
  %v68 = fadd <2 x double> %v66, %v67
  %v69 = extractelement <2 x double> %v68, i64 0
  %v70 = extractelement <2 x double> %v68, i64 1
  %v71 = fadd double %v69, %v70
  %v72 = fadd double %v71, %v64
  store double %v72, ptr %v62, align 8
  %v73 = shufflevector <4 x double> %v61, <4 x double> poison, <2 x i32> <i32 0, i32 1>
  %v74 = shufflevector <4 x double> %v61, <4 x double> poison, <2 x i32> <i32 2, i32 3>
  %v75 = fadd <2 x double> %v73, %v74
  %v76 = extractelement <2 x double> %v75, i64 0
  %v77 = extractelement <2 x double> %v75, i64 1
  %v78 = fadd double %v76, %v77
  %v79 = fadd double %v78, %v65
  store double %v79, ptr %v63, align 8
  br label %latch3
latch3:
  %v80 = add i64 %batch2.i, 1
  %v81 = getelementptr double, ptr %batch2.a, i64 %sa
  %v82 = getelementptr double, ptr %batch2.b, i64 %sb
  %v83 = getelementptr double, ptr %batch2.c, i64 %sc
  %v84 = icmp slt i64 %v80, %count
  br i1 %v84, label %batch2, label %done4
done4:
  ret void
}

declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)
declare <4 x double> @llvm.masked.load.v4f64.p0(ptr, i32, <4 x i1>, <4 x double>)

!0 = !{i32 1}
