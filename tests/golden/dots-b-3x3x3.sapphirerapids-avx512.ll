define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [32 x float], align 64
  %v2 = alloca [96 x bfloat], align 64
  br label %before3
before3:
  %v7 = icmp sgt i64 %count, 0
  br i1 %v7, label %batch4, label %done6
batch4:
  %batch4.i = phi i64 [ 0, %before3 ], [ %v78, %latch5 ]
  %batch4.a = phi ptr [ %A, %before3 ], [ %v79, %latch5 ]
  %batch4.b = phi ptr [ %B, %before3 ], [ %v80, %latch5 ]
  %batch4.c = phi ptr [ %C, %before3 ], [ %v81, %latch5 ]
  %v8 = getelementptr bfloat, ptr %batch4.a, i64 3
  %v9 = call <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr %batch4.a, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x bfloat> zeroinitializer)
  %v10 = bitcast <16 x bfloat> %v9 to <16 x i16>
  %v11 = zext <16 x i16> %v10 to <16 x i32>
  %v12 = call <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr %v8, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x bfloat> zeroinitializer)
  %v13 = bitcast <16 x bfloat> %v12 to <16 x i16>
  %v14 = zext <16 x i16> %v13 to <16 x i32>
  %v15 = shl <16 x i32> %v14, <i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16>
  %v16 = or <16 x i32> %v11, %v15
  %v17 = bitcast <16 x i32> %v16 to <16 x float>
  store <16 x float> %v17, ptr %v1, align 4
  %v18 = getelementptr float, ptr %v1, i64 16
  %v19 = getelementptr bfloat, ptr %batch4.a, i64 6
  %v20 = call <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr %v19, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x bfloat> zeroinitializer)
  %v21 = bitcast <16 x bfloat> %v20 to <16 x i16>
  %v22 = zext <16 x i16> %v21 to <16 x i32>
  %v23 = bitcast <16 x i32> %v22 to <16 x float>
  store <16 x float> %v23, ptr %v18, align 4
  br label %from24
from24:
  %v27 = icmp ult i64 0, 3
  br i1 %v27, label %each25, label %end26
each25:
  %each25.i = phi i64 [ 0, %from24 ], [ %v33, %each25 ]
  %v28 = mul i64 %each25.i, 3
  %v29 = getelementptr bfloat, ptr %batch4.b, i64 %v28
  %v30 = mul i64 %each25.i, 32
  %v31 = getelementptr bfloat, ptr %v2, i64 %v30
  %v32 = call <32 x bfloat> @llvm.masked.load.v32bf16.p0(ptr %v29, i32 2, <32 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <32 x bfloat> zeroinitializer)
  store <32 x bfloat> %v32, ptr %v31, align 2
  %v33 = add i64 %each25.i, 1
  %v34 = icmp ult i64 %v33, 3
  br i1 %v34, label %each25, label %end26
end26:
  %v35 = load <32 x bfloat>, ptr %v1, align 64
  %v36 = load i32, ptr %v2, align 2
  %v37 = insertelement <16 x i32> poison, i32 %v36, i64 0
  %v38 = shufflevector <16 x i32> %v37, <16 x i32> poison, <16 x i32> zeroinitializer
  %v39 = bitcast <16 x i32> %v38 to <32 x bfloat>
  %v40 = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> zeroinitializer, <32 x bfloat> %v35, <32 x bfloat> %v39)
  %v41 = getelementptr bfloat, ptr %v2, i64 32
  %v42 = load i32, ptr %v41, align 2
  %v43 = insertelement <16 x i32> poison, i32 %v42, i64 0
  %v44 = shufflevector <16 x i32> %v43, <16 x i32> poison, <16 x i32> zeroinitializer
  %v45 = bitcast <16 x i32> %v44 to <32 x bfloat>
  %v46 = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> zeroinitializer, <32 x bfloat> %v35, <32 x bfloat> %v45)
  %v47 = getelementptr bfloat, ptr %v2, i64 64
  %v48 = load i32, ptr %v47, align 2
  %v49 = insertelement <16 x i32> poison, i32 %v48, i64 0
  %v50 = shufflevector <16 x i32> %v49, <16 x i32> poison, <16 x i32> zeroinitializer
  %v51 = bitcast <16 x i32> %v50 to <32 x bfloat>
  %v52 = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> zeroinitializer, <32 x bfloat> %v35, <32 x bfloat> %v51)
  %v53 = getelementptr float, ptr %v1, i64 16
  %v54 = load <32 x bfloat>, ptr %v53, align 64
  %v55 = getelementptr bfloat, ptr %v2, i64 2
  %v56 = load i32, ptr %v55, align 2
  %v57 = insertelement <16 x i32> poison, i32 %v56, i64 0
  %v58 = shufflevector <16 x i32> %v57, <16 x i32> poison, <16 x i32> zeroinitializer
  %v59 = bitcast <16 x i32> %v58 to <32 x bfloat>
  %v60 = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %v40, <32 x bfloat> %v54, <32 x bfloat> %v59)
  %v61 = getelementptr bfloat, ptr %v2, i64 34
  %v62 = load i32, ptr %v61, align 2
  %v63 = insertelement <16 x i32> poison, i32 %v62, i64 0
  %v64 = shufflevector <16 x i32> %v63, <16 x i32> poison, <16 x i32> zeroinitializer
  %v65 = bitcast <16 x i32> %v64 to <32 x bfloat>
  %v66 = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %v46, <32 x bfloat> %v54, <32 x bfloat> %v65)
  %v67 = getelementptr bfloat, ptr %v2, i64 66
  %v68 = load i32, ptr %v67, align 2
  %v69 = insertelement <16 x i32> poison, i32 %v68, i64 0
  %v70 = shufflevector <16 x i32> %v69, <16 x i32> poison, <16 x i32> zeroinitializer
  %v71 = bitcast <16 x i32> %v70 to <32 x bfloat>
  %v72 = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %v52, <32 x bfloat> %v54, <32 x bfloat> %v71)
  %v73 = fptrunc <16 x float> %v60 to <16 x bfloat>
  call void @llvm.masked.store.v16bf16.p0(<16 x bfloat> %v73, ptr %batch4.c, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %v74 = getelementptr bfloat, ptr %batch4.c, i64 3
  %v75 = fptrunc <16 x float> %v66 to <16 x bfloat>
  call void @llvm.masked.store.v16bf16.p0(<16 x bfloat> %v75, ptr %v74, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %v76 = getelementptr bfloat, ptr %batch4.c, i64 6
  %v77 = fptrunc <16 x float> %v72 to <16 x bfloat>
  call void @llvm.masked.store.v16bf16.p0(<16 x bfloat> %v77, ptr %v76, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  br label %latch5
latch5:
  %v78 = add i64 %batch4.i, 1
  %v79 = getelementptr bfloat, ptr %batch4.a, i64 %sa
  %v80 = getelementptr bfloat, ptr %batch4.b, i64 %sb
  %v81 = getelementptr bfloat, ptr %batch4.c, i64 %sc
  %v82 = icmp slt i64 %v78, %count
  br i1 %v82, label %batch4, label %done6
done6:
  ret void
}

declare <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr, i32, <16 x i1>, <16 x bfloat>)
declare <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float>, <32 x bfloat>, <32 x bfloat>)
declare <32 x bfloat> @llvm.masked.load.v32bf16.p0(ptr, i32, <32 x i1>, <32 x bfloat>)
declare void @llvm.masked.store.v16bf16.p0(<16 x bfloat>, ptr, i32, <16 x i1>)

!0 = !{i32 1}
