define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [64 x i8], align 64
  store <64 x i8> <i8 1, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 64, i8 0, i8 64, i8 0, i8 8, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 3, i8 2, i8 3, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0>, ptr %v1, align 64
  call void @llvm.x86.ldtilecfg(ptr %v1)
  %v2 = alloca [512 x i8], align 64
  %v3 = alloca [768 x i8], align 64
  %v4 = alloca [384 x i8], align 64
  br label %before5
before5:
  %v8 = add i64 %count, 4
  %v9 = icmp sgt i64 %count, 0
  br i1 %v9, label %batch6, label %done7
batch6:
  %batch6.i = phi i64 [ 0, %before5 ], [ %v83, %on64 ]
  %v12 = sub i64 %batch6.i, 3
  %v13 = icmp ult i64 %v12, %count
  br i1 %v13, label %do10, label %on11
do10:
  %v14 = and i64 %v12, 3
  %v15 = mul i64 %v14, 192
  %v16 = getelementptr i8, ptr %v3, i64 %v15
  %v17 = and i64 %v12, 1
  %v18 = mul i64 %v17, 192
  %v19 = getelementptr i8, ptr %v4, i64 %v18
  %v20 = and i64 %v12, 3
  %v21 = mul i64 %v20, 128
  %v22 = getelementptr i8, ptr %v2, i64 %v21
  call void @llvm.x86.tilezero(i8 0)
  call void @llvm.x86.tileloadd64(i8 2, ptr %v16, i64 64)
  call void @llvm.x86.tileloadd64(i8 1, ptr %v22, i64 64)
  call void @llvm.x86.tdpbf16ps(i8 0, i8 2, i8 1)
  call void @llvm.x86.tilestored64(i8 0, ptr %v19, i64 64)
  br label %on11
on11:
  %v25 = sub i64 %batch6.i, 0
  %v26 = icmp ult i64 %v25, %count
  br i1 %v26, label %do23, label %on24
do23:
  %v27 = mul i64 %v25, %sa
  %v28 = getelementptr bfloat, ptr %A, i64 %v27
  %v29 = and i64 %v25, 3
  %v30 = mul i64 %v29, 128
  %v31 = getelementptr i8, ptr %v2, i64 %v30
  %v32 = getelementptr bfloat, ptr %v28, i64 3
  %v33 = call <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr %v28, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x bfloat> zeroinitializer)
  %v34 = bitcast <16 x bfloat> %v33 to <16 x i16>
  %v35 = shufflevector <16 x i16> %v34, <16 x i16> zeroinitializer, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v36 = getelementptr bfloat, ptr %v32, i64 -16
  %v37 = call <32 x i16> @llvm.masked.load.v32i16.p0(ptr %v36, i32 2, <32 x i1> <i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <32 x i16> %v35)
  %v38 = shufflevector <32 x i16> %v37, <32 x i16> poison, <32 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 19, i32 4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23, i32 8, i32 24, i32 9, i32 25, i32 10, i32 26, i32 11, i32 27, i32 12, i32 28, i32 13, i32 29, i32 14, i32 30, i32 15, i32 31>
  %v39 = bitcast <32 x i16> %v38 to <16 x float>
  store <16 x float> %v39, ptr %v31, align 4
  %v40 = getelementptr float, ptr %v31, i64 16
  %v41 = getelementptr bfloat, ptr %v28, i64 6
  %v42 = call <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr %v41, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x bfloat> zeroinitializer)
  %v43 = bitcast <16 x bfloat> %v42 to <16 x i16>
  %v44 = zext <16 x i16> %v43 to <16 x i32>
  %v45 = bitcast <16 x i32> %v44 to <16 x float>
  store <16 x float> %v45, ptr %v40, align 4
  %v46 = mul i64 %v25, %sb
  %v47 = getelementptr bfloat, ptr %B, i64 %v46
  %v48 = and i64 %v25, 3
  %v49 = mul i64 %v48, 192
  %v50 = getelementptr i8, ptr %v3, i64 %v49
  br label %from51
from51:
  %v54 = icmp ult i64 0, 3
  br i1 %v54, label %each52, label %end53
each52:
  %each52.i = phi i64 [ 0, %from51 ], [ %v61, %each52 ]
  %v55 = mul i64 %each52.i, 3
  %v56 = getelementptr bfloat, ptr %v47, i64 %v55
  %v57 = mul i64 %each52.i, 32
  %v58 = getelementptr bfloat, ptr %v50, i64 %v57
  %v59 = call <32 x bfloat> @llvm.masked.load.v32bf16.p0(ptr %v56, i32 2, <32 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <32 x bfloat> zeroinitializer)
  %v60 = bitcast <32 x bfloat> %v59 to <16 x float>
  store <16 x float> %v60, ptr %v58, align 4
  %v61 = add i64 %each52.i, 1
  %v62 = icmp ult i64 %v61, 3
  br i1 %v62, label %each52, label %end53
end53:
  br label %on24
on24:
  %v65 = sub i64 %batch6.i, 4
  %v66 = icmp ult i64 %v65, %count
  br i1 %v66, label %do63, label %on64
do63:
  %v67 = and i64 %v65, 1
  %v68 = mul i64 %v67, 192
  %v69 = getelementptr i8, ptr %v4, i64 %v68
  %v70 = mul i64 %v65, %sc
  %v71 = getelementptr bfloat, ptr %C, i64 %v70
  %v72 = load <16 x float>, ptr %v69, align 4
  %v73 = getelementptr float, ptr %v69, i64 16
  %v74 = load <16 x float>, ptr %v73, align 4
  %v75 = getelementptr bfloat, ptr %v71, i64 3
  %v76 = getelementptr float, ptr %v69, i64 32
  %v77 = load <16 x float>, ptr %v76, align 4
  %v78 = getelementptr bfloat, ptr %v71, i64 6
  %v79 = call <32 x bfloat> @llvm.x86.avx512bf16.cvtne2ps2bf16.512(<16 x float> %v74, <16 x float> %v72)
  %v80 = shufflevector <32 x bfloat> %v79, <32 x bfloat> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  call void @llvm.masked.store.v16bf16.p0(<16 x bfloat> %v80, ptr %v71, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %v81 = shufflevector <32 x bfloat> %v79, <32 x bfloat> poison, <16 x i32> <i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  call void @llvm.masked.store.v16bf16.p0(<16 x bfloat> %v81, ptr %v75, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %v82 = fptrunc <16 x float> %v77 to <16 x bfloat>
  call void @llvm.masked.store.v16bf16.p0(<16 x bfloat> %v82, ptr %v78, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  br label %on64
on64:
  %v83 = add i64 %batch6.i, 1
  %v84 = icmp slt i64 %v83, %v8
  br i1 %v84, label %batch6, label %done7
done7:
  call void @llvm.x86.tilerelease()
  ret void
}

declare <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr, i32, <16 x i1>, <16 x bfloat>)
declare <32 x bfloat> @llvm.masked.load.v32bf16.p0(ptr, i32, <32 x i1>, <32 x bfloat>)
declare <32 x bfloat> @llvm.x86.avx512bf16.cvtne2ps2bf16.512(<16 x float>, <16 x float>)
declare <32 x i16> @llvm.masked.load.v32i16.p0(ptr, i32, <32 x i1>, <32 x i16>)
declare void @llvm.masked.store.v16bf16.p0(<16 x bfloat>, ptr, i32, <16 x i1>)
declare void @llvm.x86.ldtilecfg(ptr)
declare void @llvm.x86.tdpbf16ps(i8, i8, i8)
declare void @llvm.x86.tileloadd64(i8, ptr, i64)
declare void @llvm.x86.tilerelease()
declare void @llvm.x86.tilestored64(i8, ptr, i64)
declare void @llvm.x86.tilezero(i8)

!0 = !{i32 1}
