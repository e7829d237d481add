define void @tilewright_kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars) "aarch64_pstate_sm_body" nounwind vscale_range(4,4) {
entry:
  %v1 = alloca [32 x double], align 64
  %v5 = call i64 @llvm.aarch64.sme.get.tpidr2()
  %v6 = icmp eq i64 %v5, 0
  br i1 %v6, label %own4, label %asked2
asked2:
  %v7 = inttoptr i64 %v5 to ptr
  %v8 = load ptr, ptr %v7, align 8
  %v9 = getelementptr i8, ptr %v7, i64 8
  %v10 = load i16, ptr %v9, align 2
  %v11 = zext i16 %v10 to i64
  %v12 = icmp eq ptr %v8, null
  br i1 %v12, label %own4, label %save3
save3:
  br label %from13
from13:
  %v16 = icmp ult i64 0, %v11
  br i1 %v16, label %each14, label %end15
each14:
  %each14.i = phi i64 [ 0, %from13 ], [ %v20, %each14 ]
  %v17 = trunc i64 %each14.i to i32
  %v18 = mul i64 %each14.i, 64
  %v19 = getelementptr i8, ptr %v8, i64 %v18
  call void @llvm.aarch64.sme.str(i32 %v17, ptr %v19, i32 0)
  %v20 = add i64 %each14.i, 1
  %v21 = icmp ult i64 %v20, %v11
  br i1 %v21, label %each14, label %end15
end15:
  br label %own4
own4:
  call void @llvm.aarch64.sme.set.tpidr2(i64 0)
  call void @llvm.aarch64.sme.za.enable()
  %v22 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 4)
  %v23 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 5)
  %v24 = call <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 8)
  %v25 = call i32 asm "", "=r,0"(i32 0)
  %v26 = call i32 asm "", "=r,0"(i32 2)
  %v27 = call i32 asm "", "=r,0"(i32 4)
  %v28 = call i32 asm "", "=r,0"(i32 6)
  br label %before29
before29:
  %v33 = icmp sgt i64 %count, 0
  br i1 %v33, label %batch30, label %done32
batch30:
  %batch30.i = phi i64 [ 0, %before29 ], [ %v59, %latch31 ]
  %batch30.a = phi ptr [ %A, %before29 ], [ %v60, %latch31 ]
  %batch30.b = phi ptr [ %B, %before29 ], [ %v61, %latch31 ]
  %batch30.c = phi ptr [ %C, %before29 ], [ %v62, %latch31 ]
  call void @llvm.aarch64.sme.ld1d.horiz(<vscale x 2 x i1> %v22, ptr %batch30.b, i32 0, i32 %v25)
  %v34 = getelementptr double, ptr %batch30.b, i64 4
  %v35 = add i32 %v25, 1
  call void @llvm.aarch64.sme.ld1d.horiz(<vscale x 2 x i1> %v22, ptr %v34, i32 0, i32 %v35)
  %v36 = getelementptr double, ptr %batch30.b, i64 8
  call void @llvm.aarch64.sme.ld1d.horiz(<vscale x 2 x i1> %v22, ptr %v36, i32 0, i32 %v26)
  call void @llvm.aarch64.sme.st1d.vert(<vscale x 2 x i1> %v24, ptr %v1, i32 0, i32 %v25)
  %v37 = getelementptr double, ptr %v1, i64 8
  %v38 = add i32 %v25, 1
  call void @llvm.aarch64.sme.st1d.vert(<vscale x 2 x i1> %v24, ptr %v37, i32 0, i32 %v38)
  %v39 = getelementptr double, ptr %v1, i64 16
  call void @llvm.aarch64.sme.st1d.vert(<vscale x 2 x i1> %v24, ptr %v39, i32 0, i32 %v26)
  %v40 = getelementptr double, ptr %v1, i64 24
  %v41 = add i32 %v26, 1
  call void @llvm.aarch64.sme.st1d.vert(<vscale x 2 x i1> %v24, ptr %v40, i32 0, i32 %v41)
  call void @llvm.aarch64.sme.zero(i32 1)
  %v42 = call <vscale x 2 x double> @llvm.masked.load.nxv2f64.p0(ptr %batch30.a, i32 8, <vscale x 2 x i1> %v23, <vscale x 2 x double> zeroinitializer)
  %v43 = call <vscale x 2 x double> @llvm.masked.load.nxv2f64.p0(ptr %v1, i32 8, <vscale x 2 x i1> %v24, <vscale x 2 x double> zeroinitializer)
  call void @llvm.aarch64.sme.mopa.nxv2f64(i32 0, <vscale x 2 x i1> %v24, <vscale x 2 x i1> %v24, <vscale x 2 x double> %v43, <vscale x 2 x double> %v42)
  call void asm sideeffect "", "~{memory}"()
  %v44 = getelementptr double, ptr %batch30.a, i64 5
  %v45 = call <vscale x 2 x double> @llvm.masked.load.nxv2f64.p0(ptr %v44, i32 8, <vscale x 2 x i1> %v23, <vscale x 2 x double> zeroinitializer)
  %v46 = getelementptr double, ptr %v1, i64 8
  %v47 = call <vscale x 2 x double> @llvm.masked.load.nxv2f64.p0(ptr %v46, i32 8, <vscale x 2 x i1> %v24, <vscale x 2 x double> zeroinitializer)
  call void @llvm.aarch64.sme.mopa.nxv2f64(i32 0, <vscale x 2 x i1> %v24, <vscale x 2 x i1> %v24, <vscale x 2 x double> %v47, <vscale x 2 x double> %v45)
  call void asm sideeffect "", "~{memory}"()
  %v48 = getelementptr double, ptr %batch30.a, i64 10
  %v49 = call <vscale x 2 x double> @llvm.masked.load.nxv2f64.p0(ptr %v48, i32 8, <vscale x 2 x i1> %v23, <vscale x 2 x double> zeroinitializer)
  %v50 = getelementptr double, ptr %v1, i64 16
  %v51 = call <vscale x 2 x double> @llvm.masked.load.nxv2f64.p0(ptr %v50, i32 8, <vscale x 2 x i1> %v24, <vscale x 2 x double> zeroinitializer)
  call void @llvm.aarch64.sme.mopa.nxv2f64(i32 0, <vscale x 2 x i1> %v24, <vscale x 2 x i1> %v24, <vscale x 2 x double> %v51, <vscale x 2 x double> %v49)
  call void asm sideeffect "", "~{memory}"()
  %v52 = getelementptr double, ptr %batch30.a, i64 15
  %v53 = call <vscale x 2 x double> @llvm.masked.load.nxv2f64.p0(ptr %v52, i32 8, <vscale x 2 x i1> %v23, <vscale x 2 x double> zeroinitializer)
  %v54 = getelementptr double, ptr %v1, i64 24
  %v55 = call <vscale x 2 x double> @llvm.masked.load.nxv2f64.p0(ptr %v54, i32 8, <vscale x 2 x i1> %v24, <vscale x 2 x double> zeroinitializer)
  call void @llvm.aarch64.sme.mopa.nxv2f64(i32 0, <vscale x 2 x i1> %v24, <vscale x 2 x i1> %v24, <vscale x 2 x double> %v55, <vscale x 2 x double> %v53)
  call void asm sideeffect "", "~{memory}"()
  call void @llvm.aarch64.sme.st1d.horiz(<vscale x 2 x i1> %v23, ptr %batch30.c, i32 0, i32 %v25)
  %v56 = getelementptr double, ptr %batch30.c, i64 5
  %v57 = add i32 %v25, 1
  call void @llvm.aarch64.sme.st1d.horiz(<vscale x 2 x i1> %v23, ptr %v56, i32 0, i32 %v57)
  %v58 = getelementptr double, ptr %batch30.c, i64 10
  call void @llvm.aarch64.sme.st1d.horiz(<vscale x 2 x i1> %v23, ptr %v58, i32 0, i32 %v26)
  call void asm sideeffect "", "~{memory}"()
  br label %latch31
latch31:
  %v59 = add i64 %batch30.i, 1
  %v60 = getelementptr double, ptr %batch30.a, i64 %sa
  %v61 = getelementptr double, ptr %batch30.b, i64 %sb
  %v62 = getelementptr double, ptr %batch30.c, i64 %sc
  %v63 = icmp slt i64 %v59, %count
  br i1 %v63, label %batch30, label %done32
done32:
  call void @llvm.aarch64.sme.za.disable()
  ret void
}

declare <vscale x 2 x double> @llvm.masked.load.nxv2f64.p0(ptr, i32, <vscale x 2 x i1>, <vscale x 2 x double>)
declare <vscale x 2 x i1> @llvm.aarch64.sve.ptrue.nxv2i1(i32 immarg)
declare i64 @llvm.aarch64.sme.get.tpidr2()
declare void @llvm.aarch64.sme.ld1d.horiz(<vscale x 2 x i1>, ptr, i32 immarg, i32)
declare void @llvm.aarch64.sme.mopa.nxv2f64(i32 immarg, <vscale x 2 x i1>, <vscale x 2 x i1>, <vscale x 2 x double>, <vscale x 2 x double>)
declare void @llvm.aarch64.sme.set.tpidr2(i64)
declare void @llvm.aarch64.sme.st1d.horiz(<vscale x 2 x i1>, ptr, i32 immarg, i32)
declare void @llvm.aarch64.sme.st1d.vert(<vscale x 2 x i1>, ptr, i32 immarg, i32)
declare void @llvm.aarch64.sme.str(i32, ptr, i32 immarg)
declare void @llvm.aarch64.sme.za.disable()
declare void @llvm.aarch64.sme.za.enable()
declare void @llvm.aarch64.sme.zero(i32 immarg)

!0 = !{i32 1}
