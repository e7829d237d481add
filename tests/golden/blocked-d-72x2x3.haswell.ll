; d:nn:72x2x3|packed|alpha=1|beta=1|ieee haswell
; vector_bits=256 tail=mask cmul=none blk_m=2 blk_n=2 slice=3 blk_k=3 order=nm pack_a=1 pack_b=0
define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [220 x double], align 64
  br label %before2
before2:
  %v6 = icmp sgt i64 %count, 0
  br i1 %v6, label %batch3, label %done5
batch3:
  %batch3.i = phi i64 [ 0, %before2 ], [ %v103, %latch4 ]
  %batch3.a = phi ptr [ %A, %before2 ], [ %v104, %latch4 ]
  %batch3.b = phi ptr [ %B, %before2 ], [ %v105, %latch4 ]
  %batch3.c = phi ptr [ %C, %before2 ], [ %v106, %latch4 ]
  br label %before7
before7:
  %v11 = icmp sgt i64 3, 0
  br i1 %v11, label %batch8, label %done10
batch8:
  %batch8.i = phi i64 [ 0, %before7 ], [ %v25, %latch9 ]
  %batch8.a = phi ptr [ %batch3.a, %before7 ], [ %v26, %latch9 ]
  %batch8.b = phi ptr [ %v1, %before7 ], [ %v27, %latch9 ]
  %batch8.c = phi ptr [ %v1, %before7 ], [ %batch8.c, %latch9 ]
  br label %before12
before12:
  %v16 = icmp sgt i64 9, 0
  br i1 %v16, label %batch13, label %done15
batch13:
  %batch13.i = phi i64 [ 0, %before12 ], [ %v21, %latch14 ]
  %batch13.a = phi ptr [ %batch8.a, %before12 ], [ %v22, %latch14 ]
  %batch13.b = phi ptr [ %batch8.b, %before12 ], [ %v23, %latch14 ]
  %batch13.c = phi ptr [ %batch8.b, %before12 ], [ %batch13.c, %latch14 ]
  %v17 = load <4 x double>, ptr %batch13.a, align 8
  store <4 x double> %v17, ptr %batch13.b, align 8
  %v18 = getelementptr double, ptr %batch13.a, i64 4
  %v19 = load <4 x double>, ptr %v18, align 8
  %v20 = getelementptr double, ptr %batch13.b, i64 4
  store <4 x double> %v19, ptr %v20, align 8
  br label %latch14
latch14:
  %v21 = add i64 %batch13.i, 1
  %v22 = getelementptr double, ptr %batch13.a, i64 8
  %v23 = getelementptr double, ptr %batch13.b, i64 24
  %v24 = icmp slt i64 %v21, 9
  br i1 %v24, label %batch13, label %done15
done15:
  br label %latch9
latch9:
  %v25 = add i64 %batch8.i, 1
  %v26 = getelementptr double, ptr %batch8.a, i64 72
  %v27 = getelementptr double, ptr %batch8.b, i64 8
  %v28 = icmp slt i64 %v25, 3
  br i1 %v28, label %batch8, label %done10
done10:
  %v29 = getelementptr double, ptr %batch3.a, i64 72
  %v30 = getelementptr double, ptr %v1, i64 216
  br label %before31
before31:
  %v35 = icmp sgt i64 9, 0
  br i1 %v35, label %batch32, label %done34
batch32:
  %batch32.i = phi i64 [ 0, %before31 ], [ %v93, %latch33 ]
  %batch32.a = phi ptr [ %v1, %before31 ], [ %v94, %latch33 ]
  %batch32.b = phi ptr [ %batch3.b, %before31 ], [ %batch32.b, %latch33 ]
  %batch32.c = phi ptr [ %batch3.c, %before31 ], [ %v95, %latch33 ]
  %v36 = load <4 x double>, ptr %batch32.a, align 8
  %v37 = getelementptr double, ptr %batch32.a, i64 4
  %v38 = load <4 x double>, ptr %v37, align 8
  %v39 = load double, ptr %batch32.b, align 8
  %v40 = insertelement <4 x double> poison, double %v39, i64 0
  %v41 = shufflevector <4 x double> %v40, <4 x double> poison, <4 x i32> zeroinitializer
  %v42 = fmul <4 x double> %v36, %v41
  %v43 = fmul <4 x double> %v38, %v41
  %v44 = getelementptr double, ptr %batch32.b, i64 3
  %v45 = load double, ptr %v44, align 8
  %v46 = insertelement <4 x double> poison, double %v45, i64 0
  %v47 = shufflevector <4 x double> %v46, <4 x double> poison, <4 x i32> zeroinitializer
  %v48 = fmul <4 x double> %v36, %v47
  %v49 = fmul <4 x double> %v38, %v47
  %v50 = getelementptr double, ptr %batch32.a, i64 8
  %v51 = load <4 x double>, ptr %v50, align 8
  %v52 = getelementptr double, ptr %batch32.a, i64 12
  %v53 = load <4 x double>, ptr %v52, align 8
  %v54 = getelementptr double, ptr %batch32.b, i64 1
  %v55 = load double, ptr %v54, align 8
  %v56 = insertelement <4 x double> poison, double %v55, i64 0
  %v57 = shufflevector <4 x double> %v56, <4 x double> poison, <4 x i32> zeroinitializer
  %v58 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v51, <4 x double> %v57, <4 x double> %v42)
  %v59 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v53, <4 x double> %v57, <4 x double> %v43)
  %v60 = getelementptr double, ptr %batch32.b, i64 4
  %v61 = load double, ptr %v60, align 8
  %v62 = insertelement <4 x double> poison, double %v61, i64 0
  %v63 = shufflevector <4 x double> %v62, <4 x double> poison, <4 x i32> zeroinitializer
  %v64 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v51, <4 x double> %v63, <4 x double> %v48)
  %v65 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v53, <4 x double> %v63, <4 x double> %v49)
  %v66 = getelementptr double, ptr %batch32.a, i64 16
  %v67 = load <4 x double>, ptr %v66, align 8
  %v68 = getelementptr double, ptr %batch32.a, i64 20
  %v69 = load <4 x double>, ptr %v68, align 8
  %v70 = getelementptr double, ptr %batch32.b, i64 2
  %v71 = load double, ptr %v70, align 8
  %v72 = insertelement <4 x double> poison, double %v71, i64 0
  %v73 = shufflevector <4 x double> %v72, <4 x double> poison, <4 x i32> zeroinitializer
  %v74 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v67, <4 x double> %v73, <4 x double> %v58)
  %v75 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v69, <4 x double> %v73, <4 x double> %v59)
  %v76 = getelementptr double, ptr %batch32.b, i64 5
  %v77 = load double, ptr %v76, align 8
  %v78 = insertelement <4 x double> poison, double %v77, i64 0
  %v79 = shufflevector <4 x double> %v78, <4 x double> poison, <4 x i32> zeroinitializer
  %v80 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v67, <4 x double> %v79, <4 x double> %v64)
  %v81 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v69, <4 x double> %v79, <4 x double> %v65)
  %v82 = getelementptr double, ptr %batch32.c, i64 4
  %v83 = getelementptr double, ptr %batch32.c, i64 72
  %v84 = getelementptr double, ptr %batch32.c, i64 76
  %v85 = load <4 x double>, ptr %batch32.c, align 8
  %v86 = fadd <4 x double> %v74, %v85
  %v87 = load <4 x double>, ptr %v82, align 8
  %v88 = fadd <4 x double> %v75, %v87
  %v89 = load <4 x double>, ptr %v83, align 8
  %v90 = fadd <4 x double> %v80, %v89
  %v91 = load <4 x double>, ptr %v84, align 8
  %v92 = fadd <4 x double> %v81, %v91
  store <4 x double> %v86, ptr %batch32.c, align 8
  store <4 x double> %v88, ptr %v82, align 8
  store <4 x double> %v90, ptr %v83, align 8
  store <4 x double> %v92, ptr %v84, align 8
  br label %latch33
latch33:
  %v93 = add i64 %batch32.i, 1
  %v94 = getelementptr double, ptr %batch32.a, i64 24
  %v95 = getelementptr double, ptr %batch32.c, i64 8
  %v96 = icmp slt i64 %v93, 9
  br i1 %v96, label %batch32, label %done34
done34:
  %v97 = getelementptr double, ptr %v1, i64 216
  %v98 = getelementptr double, ptr %batch3.c, i64 72
  %v99 = getelementptr double, ptr %batch3.b, i64 6
  %v100 = getelementptr double, ptr %batch3.c, i64 144
  %v101 = getelementptr double, ptr %batch3.a, i64 216
  %v102 = getelementptr double, ptr %batch3.b, i64 3
  br label %latch4
latch4:
  %v103 = add i64 %batch3.i, 1
  %v104 = getelementptr double, ptr %batch3.a, i64 %sa
  %v105 = getelementptr double, ptr %batch3.b, i64 %sb
  %v106 = getelementptr double, ptr %batch3.c, i64 %sc
  %v107 = icmp slt i64 %v103, %count
  br i1 %v107, label %batch3, label %done5
done5:
  ret void
}

declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)

!0 = !{i32 1}
