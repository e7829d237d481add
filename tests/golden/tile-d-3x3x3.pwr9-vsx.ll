define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  br label %before1
before1:
  %v5 = icmp sgt i64 %count, 0
  br i1 %v5, label %batch2, label %done4
batch2:
  %batch2.i = phi i64 [ 0, %before1 ], [ %v105, %latch3 ]
  %batch2.a = phi ptr [ %A, %before1 ], [ %v106, %latch3 ]
  %batch2.b = phi ptr [ %B, %before1 ], [ %v107, %latch3 ]
  %batch2.c = phi ptr [ %C, %before1 ], [ %v108, %latch3 ]
  %v6 = call ptr asm "", "=b,0"(ptr %batch2.b)
  %v7 = load <2 x double>, ptr %batch2.a, align 8
  %v8 = getelementptr double, ptr %batch2.a, i64 1
  %v9 = load <2 x double>, ptr %v8, align 8
  %v10 = load double, ptr %v6, align 8
  %v11 = insertelement <2 x double> poison, double %v10, i64 0
  %v12 = shufflevector <2 x double> %v11, <2 x double> poison, <2 x i32> zeroinitializer
  %v13 = getelementptr double, ptr %v6, i64 3
  %v14 = load double, ptr %v13, align 8
  %v15 = insertelement <2 x double> poison, double %v14, i64 0
  %v16 = shufflevector <2 x double> %v15, <2 x double> poison, <2 x i32> zeroinitializer
  %v17 = getelementptr double, ptr %v6, i64 6
  %v18 = load double, ptr %v17, align 8
  %v19 = insertelement <2 x double> poison, double %v18, i64 0
  %v20 = shufflevector <2 x double> %v19, <2 x double> poison, <2 x i32> zeroinitializer
  %v21 = getelementptr double, ptr %batch2.b, i64 1
  %v22 = call ptr asm "", "=b,0"(ptr %v21)
  %v23 = getelementptr double, ptr %batch2.a, i64 3
  %v24 = load <2 x double>, ptr %v23, align 8
  %v25 = getelementptr double, ptr %batch2.a, i64 4
  %v26 = load <2 x double>, ptr %v25, align 8
  %v27 = load double, ptr %v22, align 8
  %v28 = insertelement <2 x double> poison, double %v27, i64 0
  %v29 = shufflevector <2 x double> %v28, <2 x double> poison, <2 x i32> zeroinitializer
  %v30 = getelementptr double, ptr %v22, i64 3
  %v31 = load double, ptr %v30, align 8
  %v32 = insertelement <2 x double> poison, double %v31, i64 0
  %v33 = shufflevector <2 x double> %v32, <2 x double> poison, <2 x i32> zeroinitializer
  %v34 = getelementptr double, ptr %v22, i64 6
  %v35 = load double, ptr %v34, align 8
  %v36 = insertelement <2 x double> poison, double %v35, i64 0
  %v37 = shufflevector <2 x double> %v36, <2 x double> poison, <2 x i32> zeroinitializer
  %v38 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v12)
  %v39 = fmul <2 x double> %v7, %v38
  %v40 = fmul <2 x double> %v9, %v38
  %v41 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v16)
  %v42 = fmul <2 x double> %v7, %v41
  %v43 = fmul <2 x double> %v9, %v41
  %v44 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v20)
  %v45 = fmul <2 x double> %v7, %v44
  %v46 = fmul <2 x double> %v9, %v44
  %v47 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v39)
  %v48 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v40)
  %v49 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v42)
  %v50 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v43)
  %v51 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v45)
  %v52 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v46)
  %v53 = getelementptr double, ptr %batch2.b, i64 2
  %v54 = call ptr asm "", "=b,0"(ptr %v53)
  %v55 = getelementptr double, ptr %batch2.a, i64 6
  %v56 = load <2 x double>, ptr %v55, align 8
  %v57 = getelementptr double, ptr %batch2.a, i64 7
  %v58 = load <2 x double>, ptr %v57, align 8
  %v59 = load double, ptr %v54, align 8
  %v60 = insertelement <2 x double> poison, double %v59, i64 0
  %v61 = shufflevector <2 x double> %v60, <2 x double> poison, <2 x i32> zeroinitializer
  %v62 = getelementptr double, ptr %v54, i64 3
  %v63 = load double, ptr %v62, align 8
  %v64 = insertelement <2 x double> poison, double %v63, i64 0
  %v65 = shufflevector <2 x double> %v64, <2 x double> poison, <2 x i32> zeroinitializer
  %v66 = getelementptr double, ptr %v54, i64 6
  %v67 = load double, ptr %v66, align 8
  %v68 = insertelement <2 x double> poison, double %v67, i64 0
  %v69 = shufflevector <2 x double> %v68, <2 x double> poison, <2 x i32> zeroinitializer
  %v70 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v29)
  %v71 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v24, <2 x double> %v70, <2 x double> %v47)
  %v72 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v26, <2 x double> %v70, <2 x double> %v48)
  %v73 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v33)
  %v74 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v24, <2 x double> %v73, <2 x double> %v49)
  %v75 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v26, <2 x double> %v73, <2 x double> %v50)
  %v76 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v37)
  %v77 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v24, <2 x double> %v76, <2 x double> %v51)
  %v78 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v26, <2 x double> %v76, <2 x double> %v52)
  %v79 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v71)
  %v80 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v72)
  %v81 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v74)
  %v82 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v75)
  %v83 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v77)
  %v84 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v78)
  %v85 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v61)
  %v86 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v56, <2 x double> %v85, <2 x double> %v79)
  %v87 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v58, <2 x double> %v85, <2 x double> %v80)
  %v88 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v65)
  %v89 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v56, <2 x double> %v88, <2 x double> %v81)
  %v90 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v58, <2 x double> %v88, <2 x double> %v82)
  %v91 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v69)
  %v92 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v56, <2 x double> %v91, <2 x double> %v83)
  %v93 = call <2 x double> @llvm.fma.v2f64(<2 x double> %v58, <2 x double> %v91, <2 x double> %v84)
  %v94 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v86)
  %v95 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v87)
  %v96 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v89)
  %v97 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v90)
  %v98 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v92)
  %v99 = call <2 x double> asm sideeffect "", "=^wa,0,~{memory}"(<2 x double> %v93)
  call void asm sideeffect "", "~{memory}"()
  %v100 = getelementptr double, ptr %batch2.c, i64 1
  %v101 = getelementptr double, ptr %batch2.c, i64 3
  %v102 = getelementptr double, ptr %batch2.c, i64 4
  %v103 = getelementptr double, ptr %batch2.c, i64 6
  %v104 = getelementptr double, ptr %batch2.c, i64 7
  store <2 x double> %v94, ptr %batch2.c, align 8
  store <2 x double> %v95, ptr %v100, align 8
  store <2 x double> %v96, ptr %v101, align 8
  store <2 x double> %v97, ptr %v102, align 8
  store <2 x double> %v98, ptr %v103, align 8
  store <2 x double> %v99, ptr %v104, align 8
  call void asm sideeffect "", "~{memory}"()
  br label %latch3
latch3:
  %v105 = add i64 %batch2.i, 1
  %v106 = getelementptr double, ptr %batch2.a, i64 %sa
  %v107 = getelementptr double, ptr %batch2.b, i64 %sb
  %v108 = getelementptr double, ptr %batch2.c, i64 %sc
  %v109 = icmp slt i64 %v105, %count
  br i1 %v109, label %batch2, label %done4
done4:
  ret void
}

declare <2 x double> @llvm.fma.v2f64(<2 x double>, <2 x double>, <2 x double>)

!0 = !{i32 1}
