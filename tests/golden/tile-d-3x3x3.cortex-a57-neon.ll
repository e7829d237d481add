define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v93, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v94, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v95, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v96, %latch3 ]
  %v6 = load <2 x double>, ptr %batch2.a, align 8
  %v7 = getelementptr double, ptr %batch2.a, i64 2
  %v8 = load double, ptr %v7, align 8
  %v9 = load double, ptr %batch2.b, align 8
  %v10 = insertelement <2 x double> poison, double %v9, i64 0
  %v11 = shufflevector <2 x double> %v10, <2 x double> poison, <2 x i32> zeroinitializer
  %v12 = fmul <2 x double> %v6, %v11
  %v13 = fmul double %v8, %v9
  %v14 = getelementptr double, ptr %batch2.b, i64 3
  %v15 = load double, ptr %v14, align 8
  %v16 = insertelement <2 x double> poison, double %v15, i64 0
  %v17 = shufflevector <2 x double> %v16, <2 x double> poison, <2 x i32> zeroinitializer
  %v18 = fmul <2 x double> %v6, %v17
  %v19 = fmul double %v8, %v15
  %v20 = getelementptr double, ptr %batch2.b, i64 6
  %v21 = load double, ptr %v20, align 8
  %v22 = insertelement <2 x double> poison, double %v21, i64 0
  %v23 = shufflevector <2 x double> %v22, <2 x double> poison, <2 x i32> zeroinitializer
  %v24 = fmul <2 x double> %v6, %v23
  %v25 = fmul double %v8, %v21
  %v26 = call <2 x double> asm sideeffect "", "=w,0,~{memory}"(<2 x double> %v12)
  %v27 = call double asm sideeffect "", "=w,0,~{memory}"(double %v13)
  %v28 = call <2 x double> asm sideeffect "", "=w,0,~{memory}"(<2 x double> %v18)
  %v29 = call double asm sideeffect "", "=w,0,~{memory}"(double %v19)
  %v30 = call <2 x double> asm sideeffect "", "=w,0,~{memory}"(<2 x double> %v24)
  %v31 = call double asm sideeffect "", "=w,0,~{memory}"(double %v25)
  %v32 = getelementptr double, ptr %batch2.a, i64 3
  %v33 = load <2 x double>, ptr %v32, align 8
  %v34 = getelementptr double, ptr %batch2.a, i64 5
  %v35 = load double, ptr %v34, align 8
  %v36 = getelementptr double, ptr %batch2.b, i64 1
  %v37 = load double, ptr %v36, align 8
  %v38 = insertelement <2 x double> poison, double %v37, i64 0
  %v39 = shufflevector <2 x double> %v38, <2 x double> poison, <2 x i32> zeroinitializer
  %v40 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v33, <2 x double> %v39, <2 x double> %v26)
  %v41 = call double @llvm.fma.f64(double %v35, double %v37, double %v27)
  %v42 = getelementptr double, ptr %batch2.b, i64 4
  %v43 = load double, ptr %v42, align 8
  %v44 = insertelement <2 x double> poison, double %v43, i64 0
  %v45 = shufflevector <2 x double> %v44, <2 x double> poison, <2 x i32> zeroinitializer
  %v46 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v33, <2 x double> %v45, <2 x double> %v28)
  %v47 = call double @llvm.fma.f64(double %v35, double %v43, double %v29)
  %v48 = getelementptr double, ptr %batch2.b, i64 7
  %v49 = load double, ptr %v48, align 8
  %v50 = insertelement <2 x double> poison, double %v49, i64 0
  %v51 = shufflevector <2 x double> %v50, <2 x double> poison, <2 x i32> zeroinitializer
  %v52 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v33, <2 x double> %v51, <2 x double> %v30)
  %v53 = call double @llvm.fma.f64(double %v35, double %v49, double %v31)
  %v54 = call <2 x double> asm sideeffect "", "=w,0,~{memory}"(<2 x double> %v40)
  %v55 = call double asm sideeffect "", "=w,0,~{memory}"(double %v41)
  %v56 = call <2 x double> asm sideeffect "", "=w,0,~{memory}"(<2 x double> %v46)
  %v57 = call double asm sideeffect "", "=w,0,~{memory}"(double %v47)
  %v58 = call <2 x double> asm sideeffect "", "=w,0,~{memory}"(<2 x double> %v52)
  %v59 = call double asm sideeffect "", "=w,0,~{memory}"(double %v53)
  %v60 = getelementptr double, ptr %batch2.a, i64 6
  %v61 = load <2 x double>, ptr %v60, align 8
  %v62 = getelementptr double, ptr %batch2.a, i64 8
  %v63 = load double, ptr %v62, align 8
  %v64 = getelementptr double, ptr %batch2.b, i64 2
  %v65 = load double, ptr %v64, align 8
  %v66 = insertelement <2 x double> poison, double %v65, i64 0
  %v67 = shufflevector <2 x double> %v66, <2 x double> poison, <2 x i32> zeroinitializer
  %v68 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v61, <2 x double> %v67, <2 x double> %v54)
  %v69 = call double @llvm.fma.f64(double %v63, double %v65, double %v55)
  %v70 = getelementptr double, ptr %batch2.b, i64 5
  %v71 = load double, ptr %v70, align 8
  %v72 = insertelement <2 x double> poison, double %v71, i64 0
  %v73 = shufflevector <2 x double> %v72, <2 x double> poison, <2 x i32> zeroinitializer
  %v74 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v61, <2 x double> %v73, <2 x double> %v56)
  %v75 = call double @llvm.fma.f64(double %v63, double %v71, double %v57)
  %v76 = getelementptr double, ptr %batch2.b, i64 8
  %v77 = load double, ptr %v76, align 8
  %v78 = insertelement <2 x double> poison, double %v77, i64 0
  %v79 = shufflevector <2 x double> %v78, <2 x double> poison, <2 x i32> zeroinitializer
  %v80 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v61, <2 x double> %v79, <2 x double> %v58)
  %v81 = call double @llvm.fma.f64(double %v63, double %v77, double %v59)
  %v82 = call <2 x double> asm sideeffect "", "=w,0,~{memory}"(<2 x double> %v68)
  %v83 = call double asm sideeffect "", "=w,0,~{memory}"(double %v69)
  %v84 = call <2 x double> asm sideeffect "", "=w,0,~{memory}"(<2 x double> %v74)
  %v85 = call double asm sideeffect "", "=w,0,~{memory}"(double %v75)
  %v86 = call <2 x double> asm sideeffect "", "=w,0,~{memory}"(<2 x double> %v80)
  %v87 = call double asm sideeffect "", "=w,0,~{memory}"(double %v81)
  call void asm sideeffect "", "~{memory}"()
  %v88 = getelementptr double, ptr %batch2.c, i64 2
  %v89 = getelementptr double, ptr %batch2.c, i64 3
  %v90 = getelementptr double, ptr %batch2.c, i64 5
  %v91 = getelementptr double, ptr %batch2.c, i64 6
  %v92 = getelementptr double, ptr %batch2.c, i64 8
  store <2 x double> %v82, ptr %batch2.c, align 8
  store double %v83, ptr %v88, align 8
  store <2 x double> %v84, ptr %v89, align 8
  store double %v85, ptr %v90, align 8
  store <2 x double> %v86, ptr %v91, align 8
  store double %v87, ptr %v92, align 8
  call void asm sideeffect "", "~{memory}"()
  br label %latch3
latch3:
  %v93 = add i64 %batch2.i, 1
  %v94 = getelementptr double, ptr %batch2.a, i64 %sa
  %v95 = getelementptr double, ptr %batch2.b, i64 %sb
  %v96 = getelementptr double, ptr %batch2.c, i64 %sc
  %v97 = icmp slt i64 %v93, %count
  br i1 %v97, label %batch2, label %done4
done4:
  ret void
}

declare <2 x double> @llvm.fma.v2f64(<2 x double>, <2 x double>, <2 x double>)
declare double @llvm.fma.f64(double, double, double)

!0 = !{i32 1}
