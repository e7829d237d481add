define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [64 x i8], align 64
  store <64 x i8> <i8 1, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 64, i8 0, i8 64, i8 0, i8 8, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 3, i8 2, i8 3, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0>, ptr %v1, align 64
  call void @llvm.x86.ldtilecfg(ptr %v1)
  %v2 = alloca [512 x i8], align 64
  %v3 = alloca [768 x i8], align 64
  %v4 = alloca [768 x i8], align 64
  br label %before5
before5:
  %v8 = add i64 %count, 6
  %v9 = icmp sgt i64 %count, 0
  br i1 %v9, label %batch6, label %done7
batch6:
  %batch6.i = phi i64 [ 0, %before5 ], [ %v87, %on68 ]
  %v12 = sub i64 %batch6.i, 4
  %v13 = icmp ult i64 %v12, %count
  br i1 %v13, label %do10, label %on11
do10:
  %v14 = and i64 %v12, 3
  %v15 = mul i64 %v14, 192
  %v16 = getelementptr i8, ptr %v4, i64 %v15
  call void @llvm.x86.tilestored64(i8 0, ptr %v16, i64 64)
  br label %on11
on11:
  %v19 = sub i64 %batch6.i, 3
  %v20 = icmp ult i64 %v19, %count
  br i1 %v20, label %do17, label %on18
do17:
  %v21 = and i64 %v19, 3
  %v22 = mul i64 %v21, 192
  %v23 = getelementptr i8, ptr %v3, i64 %v22
  %v24 = and i64 %v19, 3
  %v25 = mul i64 %v24, 128
  %v26 = getelementptr i8, ptr %v2, i64 %v25
  call void @llvm.x86.tileloadd64(i8 2, ptr %v23, i64 64)
  call void @llvm.x86.tileloadd64(i8 1, ptr %v26, i64 64)
  call void @llvm.x86.tilezero(i8 0)
  call void @llvm.x86.tdpbf16ps(i8 0, i8 2, i8 1)
  br label %on18
on18:
  %v29 = sub i64 %batch6.i, 0
  %v30 = icmp ult i64 %v29, %count
  br i1 %v30, label %do27, label %on28
do27:
  %v31 = mul i64 %v29, %sa
  %v32 = getelementptr bfloat, ptr %A, i64 %v31
  %v33 = and i64 %v29, 3
  %v34 = mul i64 %v33, 128
  %v35 = getelementptr i8, ptr %v2, i64 %v34
  %v36 = getelementptr bfloat, ptr %v32, i64 3
  %v37 = call <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr %v32, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x bfloat> zeroinitializer)
  %v38 = bitcast <16 x bfloat> %v37 to <16 x i16>
  %v39 = shufflevector <16 x i16> %v38, <16 x i16> zeroinitializer, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v40 = getelementptr bfloat, ptr %v36, i64 -16
  %v41 = call <32 x i16> @llvm.masked.load.v32i16.p0(ptr %v40, i32 2, <32 x i1> <i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <32 x i16> %v39)
  %v42 = shufflevector <32 x i16> %v41, <32 x i16> poison, <32 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 19, i32 4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23, i32 8, i32 24, i32 9, i32 25, i32 10, i32 26, i32 11, i32 27, i32 12, i32 28, i32 13, i32 29, i32 14, i32 30, i32 15, i32 31>
  %v43 = bitcast <32 x i16> %v42 to <16 x float>
  store <16 x float> %v43, ptr %v35, align 4
  %v44 = getelementptr bfloat, ptr %v32, i64 6
  %v45 = getelementptr float, ptr %v35, i64 16
  %v46 = call <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr %v44, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x bfloat> zeroinitializer)
  %v47 = bitcast <16 x bfloat> %v46 to <16 x i16>
  %v48 = zext <16 x i16> %v47 to <16 x i32>
  %v49 = bitcast <16 x i32> %v48 to <16 x float>
  store <16 x float> %v49, ptr %v45, align 4
  %v50 = mul i64 %v29, %sb
  %v51 = getelementptr bfloat, ptr %B, i64 %v50
  %v52 = and i64 %v29, 3
  %v53 = mul i64 %v52, 192
  %v54 = getelementptr i8, ptr %v3, i64 %v53
  br label %from55
from55:
  %v58 = icmp ult i64 0, 3
  br i1 %v58, label %each56, label %end57
each56:
  %each56.i = phi i64 [ 0, %from55 ], [ %v65, %each56 ]
  %v59 = mul i64 %each56.i, 3
  %v60 = getelementptr bfloat, ptr %v51, i64 %v59
  %v61 = mul i64 %each56.i, 32
  %v62 = getelementptr bfloat, ptr %v54, i64 %v61
  %v63 = call <32 x bfloat> @llvm.masked.load.v32bf16.p0(ptr %v60, i32 2, <32 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <32 x bfloat> zeroinitializer)
  %v64 = bitcast <32 x bfloat> %v63 to <16 x float>
  store <16 x float> %v64, ptr %v62, align 4
  %v65 = add i64 %each56.i, 1
  %v66 = icmp ult i64 %v65, 3
  br i1 %v66, label %each56, label %end57
end57:
  br label %on28
on28:
  %v69 = sub i64 %batch6.i, 6
  %v70 = icmp ult i64 %v69, %count
  br i1 %v70, label %do67, label %on68
do67:
  %v71 = and i64 %v69, 3
  %v72 = mul i64 %v71, 192
  %v73 = getelementptr i8, ptr %v4, i64 %v72
  %v74 = mul i64 %v69, %sc
  %v75 = getelementptr bfloat, ptr %C, i64 %v74
  %v76 = load <16 x float>, ptr %v73, align 4
  %v77 = getelementptr float, ptr %v73, i64 16
  %v78 = load <16 x float>, ptr %v77, align 4
  %v79 = getelementptr bfloat, ptr %v75, i64 3
  %v80 = getelementptr float, ptr %v73, i64 32
  %v81 = load <16 x float>, ptr %v80, align 4
  %v82 = getelementptr bfloat, ptr %v75, i64 6
  %v83 = call <32 x bfloat> @llvm.x86.avx512bf16.cvtne2ps2bf16.512(<16 x float> %v78, <16 x float> %v76)
  %v84 = shufflevector <32 x bfloat> %v83, <32 x bfloat> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  call void @llvm.masked.store.v16bf16.p0(<16 x bfloat> %v84, ptr %v75, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %v85 = shufflevector <32 x bfloat> %v83, <32 x bfloat> poison, <16 x i32> <i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  call void @llvm.masked.store.v16bf16.p0(<16 x bfloat> %v85, ptr %v79, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %v86 = fptrunc <16 x float> %v81 to <16 x bfloat>
  call void @llvm.masked.store.v16bf16.p0(<16 x bfloat> %v86, ptr %v82, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  br label %on68
on68:
  %v87 = add i64 %batch6.i, 1
  %v88 = icmp slt i64 %v87, %v8
  br i1 %v88, label %batch6, label %done7
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
