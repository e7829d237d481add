"""What compiled entries ask PyTorch of tensors, as LLVM IR: see ``program``.

Tensors come as *handles*, pointers to PyTorch's own objects, and are asked by functions of PyTorch's whose
addresses are words of the entry's context.
"""

from __future__ import annotations

from tilewright.torch.rows import AXES, ROW, known

LAZY = (8, 9, 10)
"""PyTorch's numbers of the complex types, whose conjugation may have been put off."""
STREAM = f"""\
  store i64 0, ptr %stream.to
{known("stream")}\
  %streamed = icmp ne ptr %stream, null
  br i1 %streamed, label %current.stream, label %start
current.stream:
  %stream.code = call i32 %stream(i32 %index, ptr %stream.to)
  br label %start
start:
  %stream.value = load i64, ptr %stream.to
"""
"""IR that asks for the current stream of the device ``index``, 0 of a processor."""


def type_of(info: str) -> str:
    """IR of PyTorch's number of the type of a tensor, by what ``read`` says of that."""
    return f"""\
  %type.wide = and i64 {info}, 255
  %type = trunc i64 %type.wide to i32
"""


def index_of(info: str) -> str:
    """IR of the number of a tensor's device, by what ``read`` says of that."""
    return f"""\
  %index.up = lshr i64 {info}, 8
  %index.wide = and i64 %index.up, 127
  %index = trunc i64 %index.wide to i32
"""


def made(data: str, to: str, failed: str) -> str:
    """IR that makes the result that a row says, by the type of a, and puts its address to ``to`` by the
    function ``data``; it goes on at ``failed`` without memory."""
    return f"""\
  %sizes.at = getelementptr i64, ptr %row, i64 {ROW.index("size0")}
  %steps.at = getelementptr i64, ptr %row, i64 {ROW.index("step0")}
{type_of("%a.info")}\
  %device.short = trunc i64 %device to i32
  %empty.code = call i32 %empty(i64 %axes, ptr %sizes.at, ptr %steps.at, i32 %type, i32 %device.short, \
i32 %index, ptr %hold)
  %empty.made = icmp eq i32 %empty.code, 0
  br i1 %empty.made, label %address, label %{failed}
address:
  %made = load ptr, ptr %hold
  %made.code = call i32 %{data}(ptr %made, ptr %{to})
"""


def read() -> str:
    """``read``: sizes, strides and address of a tensor; its type and device as one number, -1 for another."""
    asked = ("sizes", "strides", "dtype", "index", "kind", "data")
    calls = "".join(
        f"{known(name)}  %{name}.code = call i32 %{name}(ptr %tensor, ptr %{name}.to)\n" for name in asked
    )
    codes = "".join(
        f"  %codes.{at} = or i32 %codes.{at - 1}, %{name}.code\n" for at, name in enumerate(asked, 1)
    )
    lazy = "".join(f"  %lazy.{at} = icmp eq i32 %dtype.value, {number}\n" for at, number in enumerate(LAZY))
    return f"""
define internal i64 @read(ptr %context, ptr %tensor, ptr %to, ptr %data.to) uwtable {{
entry:
  %dim.to = alloca i64
  %sizes.to = alloca ptr
  %strides.to = alloca ptr
  %dtype.to = alloca i32
  %index.to = alloca i32
  %kind.to = alloca i32
{known("dim")}{known("axes", "i64")}{known("device", "i64")}\
  %codes.0 = call i32 %dim(ptr %tensor, ptr %dim.to)
  %dim.value = load i64, ptr %dim.to
  %dim.fits = icmp eq i64 %dim.value, %axes
  br i1 %dim.fits, label %ask, label %other
ask:
{calls}{codes}\
  %known = icmp eq i32 %codes.{len(asked)}, 0
  br i1 %known, label %copy, label %other
copy:
  %from.sizes = load ptr, ptr %sizes.to
  %from.strides = load ptr, ptr %strides.to
  br label %axis
axis:
  %i = phi i64 [ 0, %copy ], [ %i.next, %axis ]
  %size.at = getelementptr i64, ptr %from.sizes, i64 %i
  %size = load i64, ptr %size.at
  %stride.at = getelementptr i64, ptr %from.strides, i64 %i
  %stride = load i64, ptr %stride.at
  %size.to = getelementptr i64, ptr %to, i64 %i
  store i64 %size, ptr %size.to
  %stride.to = getelementptr i64, ptr %size.to, i64 {AXES}
  store i64 %stride, ptr %stride.to
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %axes
  br i1 %more, label %axis, label %kinds
kinds:
  %dtype.value = load i32, ptr %dtype.to
  %index.value = load i32, ptr %index.to
  %kind.value = load i32, ptr %kind.to
  %data.value = load i64, ptr %data.to
  %kind.wide = sext i32 %kind.value to i64
  %kind.fits = icmp eq i64 %kind.wide, %device
  %data.fits = icmp ne i64 %data.value, 0
  %fits = and i1 %kind.fits, %data.fits
  br i1 %fits, label %type, label %other
type:
{lazy}\
  %lazy.01 = or i1 %lazy.0, %lazy.1
  %complex = or i1 %lazy.01, %lazy.2
  br i1 %complex, label %look, label %done
look:
{known("lazy")}\
  %conjugate.byte = call i8 %lazy(ptr %tensor)
  %conjugate.bit = and i8 %conjugate.byte, 1
  %conjugate.wide = zext i8 %conjugate.bit to i64
  br label %done
done:
  %conjugate = phi i64 [ 0, %type ], [ %conjugate.wide, %look ]
  %dtype.wide = zext i32 %dtype.value to i64
  %index.byte = and i32 %index.value, 127
  %index.wide = zext i32 %index.byte to i64
  %index.up = shl i64 %index.wide, 8
  %conjugate.up = shl i64 %conjugate, 15
  %info.1 = or i64 %dtype.wide, %index.up
  %info = or i64 %info.1, %conjugate.up
  ret i64 %info
other:
  ret i64 -1
}}
"""


def packed() -> str:
    """``packed``: a copy of a tensor by rows, and its address, 0 without memory; ``release`` deletes it."""
    return f"""
define internal i64 @packed(ptr %context, ptr %tensor, ptr %sizes, i64 %info, i64 %wanted, i64 %address, \
ptr %hold) uwtable {{
entry:
  %steps = alloca [{AXES} x i64]
  %at = alloca i64
  store ptr null, ptr %hold
  %copies = icmp ne i64 %wanted, 0
  br i1 %copies, label %begin, label %same
same:
  ret i64 %address
begin:
{known("axes", "i64")}{known("empty")}{known("device", "i64")}{known("data")}{known("copy")}\
  br label %step
step:
  %left = phi i64 [ %axes, %begin ], [ %axis, %step ]
  %size = phi i64 [ 1, %begin ], [ %size.next, %step ]
  %axis = sub i64 %left, 1
  %step.to = getelementptr i64, ptr %steps, i64 %axis
  store i64 %size, ptr %step.to
  %extent.at = getelementptr i64, ptr %sizes, i64 %axis
  %extent = load i64, ptr %extent.at
  %size.next = mul i64 %size, %extent
  %more = icmp ugt i64 %axis, 0
  br i1 %more, label %step, label %make
make:
{type_of("%info")}\
{index_of("%info")}\
  %device.short = trunc i64 %device to i32
  %empty.code = call i32 %empty(i64 %axes, ptr %sizes, ptr %steps, i32 %type, i32 %device.short, \
i32 %index, ptr %hold)
  %made = icmp eq i32 %empty.code, 0
  br i1 %made, label %fill, label %failed
fill:
  %room = load ptr, ptr %hold
  %copy.code = call i32 %copy(ptr %room, ptr %tensor, i32 0)
  %data.code = call i32 %data(ptr %room, ptr %at)
  %codes = or i32 %copy.code, %data.code
  %filled = icmp eq i32 %codes, 0
  br i1 %filled, label %done, label %failed
done:
  %found = load i64, ptr %at
  ret i64 %found
failed:
  ret i64 0
}}

define internal void @release(ptr %context, ptr %hold) uwtable {{
entry:
  %made = load ptr, ptr %hold
  %some = icmp ne ptr %made, null
  br i1 %some, label %delete.it, label %done
delete.it:
{known("delete")}\
  %code = call i32 %delete(ptr %made)
  br label %done
done:
  ret void
}}
"""
