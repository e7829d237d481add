define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) {
entry:
  %v1 = alloca [64 x i8], align 64
  store <64 x i8> <i8 1, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 64, i8 0, i8 64, i8 0, i8 8, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 3, i8 2, i8 3, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0>, ptr %v1, align 64
  call void @llvm.x86.ldtilecfg(ptr %v1)
  %v2 = alloca [32 x float], align 64
  %v3 = alloca [96 x bfloat], align 64
  %v4 = alloca [48 x float], align 64
  br label %before5
before5:
  %v9 = icmp sgt i64 %count, 0
  br i1 %v9, label %batch6, label %done8
batch6:
  %batch6.i = phi i64 [ 0, %before5 ], [ %v50, %latch7 ]
  %batch6.a = phi ptr [ %A, %before5 ], [ %v51, %latch7 ]
  %batch6.b = phi ptr [ %B, %before5 ], [ %v52, %latch7 ]
  %batch6.c = phi ptr [ %C, %before5 ], [ %v53, %latch7 ]
  %v10 = getelementptr bfloat, ptr %batch6.a, i64 3
  %v11 = call <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr %batch6.a, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x bfloat> zeroinitializer)
  %v12 = bitcast <16 x bfloat> %v11 to <16 x i16>
  %v13 = zext <16 x i16> %v12 to <16 x i32>
  %v14 = call <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr %v10, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x bfloat> zeroinitializer)
  %v15 = bitcast <16 x bfloat> %v14 to <16 x i16>
  %v16 = zext <16 x i16> %v15 to <16 x i32>
  %v17 = shl <16 x i32> %v16, <i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16, i32 16>
  %v18 = or <16 x i32> %v13, %v17
  %v19 = bitcast <16 x i32> %v18 to <16 x float>
  store <16 x float> %v19, ptr %v2, align 4
  %v20 = getelementptr float, ptr %v2, i64 16
  %v21 = getelementptr bfloat, ptr %batch6.a, i64 6
  %v22 = call <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr %v21, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x bfloat> zeroinitializer)
  %v23 = bitcast <16 x bfloat> %v22 to <16 x i16>
  %v24 = zext <16 x i16> %v23 to <16 x i32>
  %v25 = bitcast <16 x i32> %v24 to <16 x float>
  store <16 x float> %v25, ptr %v20, align 4
  br label %from26
from26:
  %v29 = icmp ult i64 0, 3
  br i1 %v29, label %each27, label %end28
each27:
  %each27.i = phi i64 [ 0, %from26 ], [ %v35, %each27 ]
  %v30 = mul i64 %each27.i, 3
  %v31 = getelementptr bfloat, ptr %batch6.b, i64 %v30
  %v32 = mul i64 %each27.i, 32
  %v33 = getelementptr bfloat, ptr %v3, i64 %v32
  %v34 = call <32 x bfloat> @llvm.masked.load.v32bf16.p0(ptr %v31, i32 2, <32 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <32 x bfloat> zeroinitializer)
  store <32 x bfloat> %v34, ptr %v33, align 2
  %v35 = add i64 %each27.i, 1
  %v36 = icmp ult i64 %v35, 3
  br i1 %v36, label %each27, label %end28
end28:
  call void @llvm.x86.tilezero(i8 0)
  call void @llvm.x86.tileloadd64(i8 2, ptr %v3, i64 64)
  call void @llvm.x86.tileloadd64(i8 1, ptr %v2, i64 64)
  call void @llvm.x86.tdpbf16ps(i8 0, i8 2, i8 1)
  call void @llvm.x86.tilestored64(i8 0, ptr %v4, i64 64)
  br label %from37
from37:
  %v40 = icmp ult i64 0, 3
  br i1 %v40, label %each38, label %end39
each38:
  %each38.i = phi i64 [ 0, %from37 ], [ %v48, %each38 ]
  %v41 = sub i64 %each38.i, 0
  %v42 = mul i64 %v41, 16
  %v43 = getelementptr float, ptr %v4, i64 %v42
  %v44 = mul i64 %each38.i, 3
  %v45 = getelementptr bfloat, ptr %batch6.c, i64 %v44
  %v46 = load <16 x float>, ptr %v43, align 4
  %v47 = fptrunc <16 x float> %v46 to <16 x bfloat>
  call void @llvm.masked.store.v16bf16.p0(<16 x bfloat> %v47, ptr %v45, i32 2, <16 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %v48 = add i64 %each38.i, 1
  %v49 = icmp ult i64 %v48, 3
  br i1 %v49, label %each38, label %end39
end39:
  br label %latch7
latch7:
  %v50 = add i64 %batch6.i, 1
  %v51 = getelementptr bfloat, ptr %batch6.a, i64 %sa
  %v52 = getelementptr bfloat, ptr %batch6.b, i64 %sb
  %v53 = getelementptr bfloat, ptr %batch6.c, i64 %sc
  %v54 = icmp slt i64 %v50, %count
  br i1 %v54, label %batch6, label %done8
done8:
  call void @llvm.x86.tilerelease()
  ret void
}

declare <16 x bfloat> @llvm.masked.load.v16bf16.p0(ptr, i32, <16 x i1>, <16 x bfloat>)
declare <32 x bfloat> @llvm.masked.load.v32bf16.p0(ptr, i32, <32 x i1>, <32 x bfloat>)
declare void @llvm.masked.store.v16bf16.p0(<16 x bfloat>, ptr, i32, <16 x i1>)
declare void @llvm.x86.ldtilecfg(ptr)
declare void @llvm.x86.tdpbf16ps(i8, i8, i8)
declare void @llvm.x86.tileloadd64(i8, ptr, i64)
declare void @llvm.x86.tilerelease()
declare void @llvm.x86.tilestored64(i8, ptr, i64)
declare void @llvm.x86.tilezero(i8)

!0 = !{i32 1}
