define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [32 x float], align 64
  %v2 = alloca [96 x bfloat], align 64
  br label %before3
before3:
  %v7 = icmp sgt i64 %count, 0
  br i1 %v7, label %batch4, label %done6
batch4:
  %batch4.i = phi i64 [ 0, %before3 ], [ %v77, %latch5 ]
  %batch4.a = phi ptr [ %A, %before3 ], [ %v78, %latch5 ]
  %batch4.b = phi ptr [ %B, %before3 ], [ %v79, %latch5 ]
  %batch4.c = phi ptr [ %C, %before3 ], [ %v80, %latch5 ]
  %v8 = getelementptr bfloat, ptr %batch4.a, i64 3
  %v9 = call <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr %batch4.a, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x bfloat> zeroinitializer)
  %v10 = bitcast <16 x bfloat> %v9 to <16 x i16>
  %v11 = shufflevector <16 x i16> %v10, <16 x i16> zeroinitializer, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v12 = getelementptr bfloat, ptr %v8, i64 -16
  %v13 = call <32 x i16> @llvm.masked.load.v32i16.p0(ptr %v12, i32 2, <32 x i1> <i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <32 x i16> %v11)
  %v14 = shufflevector <32 x i16> %v13, <32 x i16> poison, <32 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 19, i32 4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23, i32 8, i32 24, i32 9, i32 25, i32 10, i32 26, i32 11, i32 27, i32 12, i32 28, i32 13, i32 29, i32 14, i32 30, i32 15, i32 31>
  %v15 = bitcast <32 x i16> %v14 to <16 x float>
  store <16 x float> %v15, ptr %v1, align 4
  %v16 = getelementptr bfloat, ptr %batch4.a, i64 6
  %v17 = getelementptr float, ptr %v1, i64 16
  %v18 = call <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr %v16, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x bfloat> zeroinitializer)
  %v19 = bitcast <16 x bfloat> %v18 to <16 x i16>
  %v20 = zext <16 x i16> %v19 to <16 x i32>
  %v21 = bitcast <16 x i32> %v20 to <16 x float>
  store <16 x float> %v21, ptr %v17, align 4
  br label %from22
from22:
  %v25 = icmp ult i64 0, 3
  br i1 %v25, label %each23, label %end24
each23:
  %each23.i = phi i64 [ 0, %from22 ], [ %v32, %each23 ]
  %v26 = mul i64 %each23.i, 3
  %v27 = getelementptr bfloat, ptr %batch4.b, i64 %v26
  %v28 = mul i64 %each23.i, 32
  %v29 = getelementptr bfloat, ptr %v2, i64 %v28
  %v30 = call <32 x bfloat> @llvm.masked.load.v32bf16.p0(ptr %v27, i32 2, <32 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <32 x bfloat> zeroinitializer)
  %v31 = bitcast <32 x bfloat> %v30 to <16 x float>
  store <16 x float> %v31, ptr %v29, align 4
  %v32 = add i64 %each23.i, 1
  %v33 = icmp ult i64 %v32, 3
  br i1 %v33, label %each23, label %end24
end24:
  %v34 = load <32 x bfloat>, ptr %v1, align 64
  %v35 = load i32, ptr %v2, align 2
  %v36 = insertelement <16 x i32> poison, i32 %v35, i64 0
  %v37 = shufflevector <16 x i32> %v36, <16 x i32> poison, <16 x i32> zeroinitializer
  %v38 = bitcast <16 x i32> %v37 to <32 x bfloat>
  %v39 = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> zeroinitializer, <32 x bfloat> %v34, <32 x bfloat> %v38)
  %v40 = getelementptr bfloat, ptr %v2, i64 32
  %v41 = load i32, ptr %v40, align 2
  %v42 = insertelement <16 x i32> poison, i32 %v41, i64 0
  %v43 = shufflevector <16 x i32> %v42, <16 x i32> poison, <16 x i32> zeroinitializer
  %v44 = bitcast <16 x i32> %v43 to <32 x bfloat>
  %v45 = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> zeroinitializer, <32 x bfloat> %v34, <32 x bfloat> %v44)
  %v46 = getelementptr bfloat, ptr %v2, i64 64
  %v47 = load i32, ptr %v46, align 2
  %v48 = insertelement <16 x i32> poison, i32 %v47, i64 0
  %v49 = shufflevector <16 x i32> %v48, <16 x i32> poison, <16 x i32> zeroinitializer
  %v50 = bitcast <16 x i32> %v49 to <32 x bfloat>
  %v51 = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> zeroinitializer, <32 x bfloat> %v34, <32 x bfloat> %v50)
  %v52 = getelementptr float, ptr %v1, i64 16
  %v53 = load <32 x bfloat>, ptr %v52, align 64
  %v54 = getelementptr bfloat, ptr %v2, i64 2
  %v55 = load i32, ptr %v54, align 2
  %v56 = insertelement <16 x i32> poison, i32 %v55, i64 0
  %v57 = shufflevector <16 x i32> %v56, <16 x i32> poison, <16 x i32> zeroinitializer
  %v58 = bitcast <16 x i32> %v57 to <32 x bfloat>
  %v59 = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %v39, <32 x bfloat> %v53, <32 x bfloat> %v58)
  %v60 = getelementptr bfloat, ptr %v2, i64 34
  %v61 = load i32, ptr %v60, align 2
  %v62 = insertelement <16 x i32> poison, i32 %v61, i64 0
  %v63 = shufflevector <16 x i32> %v62, <16 x i32> poison, <16 x i32> zeroinitializer
  %v64 = bitcast <16 x i32> %v63 to <32 x bfloat>
  %v65 = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %v45, <32 x bfloat> %v53, <32 x bfloat> %v64)
  %v66 = getelementptr bfloat, ptr %v2, i64 66
  %v67 = load i32, ptr %v66, align 2
  %v68 = insertelement <16 x i32> poison, i32 %v67, i64 0
  %v69 = shufflevector <16 x i32> %v68, <16 x i32> poison, <16 x i32> zeroinitializer
  %v70 = bitcast <16 x i32> %v69 to <32 x bfloat>
  %v71 = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %v51, <32 x bfloat> %v53, <32 x bfloat> %v70)
  %v72 = fptrunc <16 x float> %v59 to <16 x bfloat>
  call void @llvm.masked.store.v16bf16.p0(<16 x bfloat> %v72, ptr %batch4.c, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %v73 = getelementptr bfloat, ptr %batch4.c, i64 3
  %v74 = fptrunc <16 x float> %v65 to <16 x bfloat>
  call void @llvm.masked.store.v16bf16.p0(<16 x bfloat> %v74, ptr %v73, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %v75 = getelementptr bfloat, ptr %batch4.c, i64 6
  %v76 = fptrunc <16 x float> %v71 to <16 x bfloat>
  call void @llvm.masked.store.v16bf16.p0(<16 x bfloat> %v76, ptr %v75, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  br label %latch5
latch5:
  %v77 = add i64 %batch4.i, 1
  %v78 = getelementptr bfloat, ptr %batch4.a, i64 %sa
  %v79 = getelementptr bfloat, ptr %batch4.b, i64 %sb
  %v80 = getelementptr bfloat, ptr %batch4.c, i64 %sc
  %v81 = icmp slt i64 %v77, %count
  br i1 %v81, label %batch4, label %done6
done6:
  ret void
}

declare <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr, i32, <16 x i1>, <16 x bfloat>)
declare <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float>, <32 x bfloat>, <32 x bfloat>)
declare <32 x bfloat> @llvm.masked.load.v32bf16.p0(ptr, i32, <32 x i1>, <32 x bfloat>)
declare <32 x i16> @llvm.masked.load.v32i16.p0(ptr, i32, <32 x i1>, <32 x i16>)
declare void @llvm.masked.store.v16bf16.p0(<16 x bfloat>, ptr, i32, <16 x i1>)

!0 = !{i32 1}
