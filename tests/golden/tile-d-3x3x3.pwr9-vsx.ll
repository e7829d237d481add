define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v111, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v112, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v113, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v114, %latch3 ]
  %v6 = load <2 x double>, ptr %batch2.a, align 8
  %v7 = getelementptr double, ptr %batch2.a, i64 2
  %v8 = load double, ptr %v7, align 8
  %v9 = load double, ptr %batch2.b, align 8
  %v10 = insertelement <2 x double> poison, double %v9, i64 0
  %v11 = shufflevector <2 x double> %v10, <2 x double> poison, <2 x i32> zeroinitializer
  %v12 = getelementptr double, ptr %batch2.b, i64 3
  %v13 = load double, ptr %v12, align 8
  %v14 = insertelement <2 x double> poison, double %v13, i64 0
  %v15 = shufflevector <2 x double> %v14, <2 x double> poison, <2 x i32> zeroinitializer
  %v16 = getelementptr double, ptr %batch2.b, i64 6
  %v17 = load double, ptr %v16, align 8
  %v18 = insertelement <2 x double> poison, double %v17, i64 0
  %v19 = shufflevector <2 x double> %v18, <2 x double> poison, <2 x i32> zeroinitializer
  %v20 = getelementptr double, ptr %batch2.a, i64 3
  %v21 = load <2 x double>, ptr %v20, align 8
  %v22 = getelementptr double, ptr %batch2.a, i64 5
  %v23 = load double, ptr %v22, align 8
  %v24 = getelementptr double, ptr %batch2.b, i64 1
  %v25 = load double, ptr %v24, align 8
  %v26 = insertelement <2 x double> poison, double %v25, i64 0
  %v27 = shufflevector <2 x double> %v26, <2 x double> poison, <2 x i32> zeroinitializer
  %v28 = getelementptr double, ptr %batch2.b, i64 4
  %v29 = load double, ptr %v28, align 8
  %v30 = insertelement <2 x double> poison, double %v29, i64 0
  %v31 = shufflevector <2 x double> %v30, <2 x double> poison, <2 x i32> zeroinitializer
  %v32 = getelementptr double, ptr %batch2.b, i64 7
  %v33 = load double, ptr %v32, align 8
  %v34 = insertelement <2 x double> poison, double %v33, i64 0
  %v35 = shufflevector <2 x double> %v34, <2 x double> poison, <2 x i32> zeroinitializer
  %v36 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v11)
  %v37 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v9)
  %v38 = fmul <2 x double> %v6, %v36
  %v39 = fmul double %v8, %v37
  %v40 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v15)
  %v41 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v13)
  %v42 = fmul <2 x double> %v6, %v40
  %v43 = fmul double %v8, %v41
  %v44 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v19)
  %v45 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v17)
  %v46 = fmul <2 x double> %v6, %v44
  %v47 = fmul double %v8, %v45
  %v48 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v38)
  %v49 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v39)
  %v50 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v42)
  %v51 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v43)
  %v52 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v46)
  %v53 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v47)
  %v54 = getelementptr double, ptr %batch2.a, i64 6
  %v55 = load <2 x double>, ptr %v54, align 8
  %v56 = getelementptr double, ptr %batch2.a, i64 8
  %v57 = load double, ptr %v56, align 8
  %v58 = getelementptr double, ptr %batch2.b, i64 2
  %v59 = load double, ptr %v58, align 8
  %v60 = insertelement <2 x double> poison, double %v59, i64 0
  %v61 = shufflevector <2 x double> %v60, <2 x double> poison, <2 x i32> zeroinitializer
  %v62 = getelementptr double, ptr %batch2.b, i64 5
  %v63 = load double, ptr %v62, align 8
  %v64 = insertelement <2 x double> poison, double %v63, i64 0
  %v65 = shufflevector <2 x double> %v64, <2 x double> poison, <2 x i32> zeroinitializer
  %v66 = getelementptr double, ptr %batch2.b, i64 8
  %v67 = load double, ptr %v66, align 8
  %v68 = insertelement <2 x double> poison, double %v67, i64 0
  %v69 = shufflevector <2 x double> %v68, <2 x double> poison, <2 x i32> zeroinitializer
  %v70 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v27)
  %v71 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v25)
  %v72 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v21, <2 x double> %v70, <2 x double> %v48)
  %v73 = call double @llvm.fma.f64(double %v23, double %v71, double %v49)
  %v74 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v31)
  %v75 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v29)
  %v76 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v21, <2 x double> %v74, <2 x double> %v50)
  %v77 = call double @llvm.fma.f64(double %v23, double %v75, double %v51)
  %v78 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v35)
  %v79 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v33)
  %v80 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v21, <2 x double> %v78, <2 x double> %v52)
  %v81 = call double @llvm.fma.f64(double %v23, double %v79, double %v53)
  %v82 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v72)
  %v83 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v73)
  %v84 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v76)
  %v85 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v77)
  %v86 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v80)
  %v87 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v81)
  %v88 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v61)
  %v89 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v59)
  %v90 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v55, <2 x double> %v88, <2 x double> %v82)
  %v91 = call double @llvm.fma.f64(double %v57, double %v89, double %v83)
  %v92 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v65)
  %v93 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v63)
  %v94 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v55, <2 x double> %v92, <2 x double> %v84)
  %v95 = call double @llvm.fma.f64(double %v57, double %v93, double %v85)
  %v96 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v69)
  %v97 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v67)
  %v98 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v55, <2 x double> %v96, <2 x double> %v86)
  %v99 = call double @llvm.fma.f64(double %v57, double %v97, double %v87)
  %v100 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v90)
  %v101 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v91)
  %v102 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v94)
  %v103 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v95)
  %v104 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v98)
  %v105 = call double asm sideeffect "", "=^wa,0,~{memory}"(double %v99)
  call void asm sideeffect "", "~{memory}"()
  %v106 = getelementptr double, ptr %batch2.c, i64 2
  %v107 = getelementptr double, ptr %batch2.c, i64 3
  %v108 = getelementptr double, ptr %batch2.c, i64 5
  %v109 = getelementptr double, ptr %batch2.c, i64 6
  %v110 = getelementptr double, ptr %batch2.c, i64 8
  store <2 x double> %v100, ptr %batch2.c, align 8
  store double %v101, ptr %v106, align 8
  store <2 x double> %v102, ptr %v107, align 8
  store double %v103, ptr %v108, align 8
  store <2 x double> %v104, ptr %v109, align 8
  store double %v105, ptr %v110, align 8
  call void asm sideeffect "", "~{memory}"()
  br label %latch3
latch3:
  %v111 = add i64 %batch2.i, 1
  %v112 = getelementptr double, ptr %batch2.a, i64 %sa
  %v113 = getelementptr double, ptr %batch2.b, i64 %sb
  %v114 = getelementptr double, ptr %batch2.c, i64 %sc
  %v115 = icmp slt i64 %v111, %count
  br i1 %v115, label %batch2, label %done4
done4:
  ret void
}

declare <2 x double> @llvm.fma.v2f64(<2 x double>, <2 x double>, <2 x double>)
declare double @llvm.fma.f64(double, double, double)

!0 = !{i32 1}
