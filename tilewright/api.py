"""The public calls. Each is: look at the arrays, plan, launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.arrays.torch_ import all_behind, listening, tensor_of
from tilewright.arrays.tracing import settled, untraced
from tilewright.calls import chains, product
from tilewright.calls.along import along, along_again
from tilewright.calls.executable import Executable, executable
from tilewright.calls.explain import explain_plan
from tilewright.calls.settings import forget, threads
from tilewright.calls.spec import PLAIN, Options, is_real, math_of, of_pairs, one_of, steadily
from tilewright.catalog import TARGETS
from tilewright.errors import ArgumentError
from tilewright.model import Gemm, GroupedProblem, Problem, parsed
from tilewright.planning import alike, dispatch
from tilewright.runtime import contraction_calls, host_calls, host_chains
from tilewright.runtime.call_cache import DEVICE, FAST, INTO
from tilewright.runtime.chain_calls import again
from tilewright.runtime.gaps import is_gap

if TYPE_CHECKING:
    from tilewright.tuning.results import Progress, Result
    from tilewright.tuning.sets.kernel_set import KernelSet


_STEADY = product.tag_of("ieee", True)
"""What deterministic calls of ``matmul`` are remembered under."""


# dtype and axes may be given by place only because a keyword alone takes every call some nanoseconds.
@untraced
def matmul(
    a: Any,
    b: Any,
    /,
    out: Any = None,
    dtype: str | None = None,
    axes: list[Any] | None = None,
    math: str = "ieee",
    deterministic: bool = False,
) -> Any:
    """The matrix product with the rules of ``numpy.matmul``: stacks, broadcasting, promotion, any strides.

    a: (..., m, k) or (k,). b: (..., k, n) or (k,). Returns (..., m, n), without the axis that a
    one-dimensional argument did not have. The result is of the library of ``a``: a tensor of PyTorch, an
    array of CuPy, or of what hands arrays over by ``__array_namespace__`` and DLPack (JAX) where it takes
    the type over; else an array of NumPy. Types that no stencil accepts go to the product of the arrays'
    own library. Batches of one problem are where this pays.

    ``out`` is returned where it is given. By NumPy's rule the product is repeated along leading axes that
    it lacks, and cast to another type as ``casting="same_kind"`` allows (any byte order, wider, narrower
    of one kind). Complex half, and all arrays on a GPU, take the shape and type of the product alone.

    Beside NumPy's types: bfloat16 (``ml_dtypes.bfloat16``, PyTorch's) and complex half (PyTorch's
    ``complex32``, or records ``[("re", "f2"), ("im", "f2")]``), which goes with itself alone. With
    ``dtype="hc"`` float16 arrays (..., m, k, 2) are complex half, real and imaginary parts side by side,
    and so is the result. Sums of float16, bfloat16 and complex half are kept in float32 and rounded
    once; what is too large for float16 (65520 and above) becomes infinite. Where cuBLAS multiplies without a
    record, parts of a sum of float16 or bfloat16 may be rounded before they are added, if the array library
    allows it: PyTorch does unless ``torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction`` (or
    bf16) was set to False before the call was first made.

    ``axes`` says which axes hold the matrices, as it does for ``numpy.matmul``: ``[(0, 1), (0, 1), (0, 1)]``
    of arrays (m, k, batch), (k, n, batch) and a result (m, n, batch). A new result lies in memory as NumPy's:
    the matrices one after the other, by rows. Batches whose elements lie side by side, by ``axes`` or as
    views (``numpy.moveaxis(a, -1, 0)``), are multiplied where they lie, into such an ``out`` too, up to
    extents of 32 (on a GPU with no more elements than 16x16x16), where no axis of a matrix has unit stride.

    ``math="tf32"`` has float32 numbers multiplied by tensor cores, which see the first 10 bits of their
    fractions: an element of the result is wrong by up to 2^-9 of ``|a| @ |b|`` beside what rounding float32
    sums adds. It is refused where no kernel multiplies so: one does on GPUs with products of warp groups
    (9.0), a single product of which all columns begin at multiples of 16 bytes.

    ``math="bf16x6"`` and ``math="bf16x3"`` let float32 and complex64 numbers be multiplied as sums of
    bfloat16 ones, by six products of three parts each or three of two: an element of the result is wrong by
    up to 2^-23, or 2^-14, of ``|a| @ |b|`` beside what rounding float32 sums adds. That is done on the same
    GPUs, in single products and batches along one axis that were measured to gain by it; elsewhere the
    numbers are multiplied as they are. Two infinities make NaN there, and numbers below some 2^-110 lose
    bits.

    ``deterministic=True`` makes a row of the result the same, bit for bit, however many rows and matrices are
    multiplied with it, and each time: the kernel is chosen by n, k, the types, how ``b`` lies and how well
    addresses are aligned, never by m, by a batch or by records, sums have one order, and no library is asked.
    An ``a`` or ``out`` that does not lie by rows is copied. Such a call may be slower than others. It is
    refused where no kernel promises it: on a GPU complex half, and float16 and bfloat16 where n or k is below
    16 or no multiple of 8; on a processor sums of more than 512 numbers of 16 bits.

    All arguments lie in this process's memory, or all on one NVIDIA GPU (of PyTorch or CuPy, or with
    ``__cuda_array_interface__`` or DLPack). There the work goes to the caller's current stream, nothing
    waits for it, and a call like an earlier one may be recorded into a CUDA graph. Tensors that require a
    gradient get one, unless there is ``out``. The tracer of ``torch.compile`` breaks its graph at a call and
    runs it as it is; ``tilewright.torch.matmul`` is an operator of PyTorch, which it takes into the graph.

    Raises ``ArgumentError`` (a ``ValueError``) for shapes that do not match, another ``dtype``, ``axes``,
    ``math`` or ``deterministic``, an unusable ``out`` or arrays in different memories, ``DTypeError`` (a
    ``TypeError``) for what holds no numbers (None among it, for which NumPy raises a ``ValueError``), is a
    tensor that requires a gradient where ``out`` is given, or has no deterministic product, ``DeviceError``
    when the GPU of the arrays cannot be used.
    """
    if axes is not None:
        tag = None
        if dtype is None and math == "ieee" and (deterministic is False or deterministic is True):
            tag = _STEADY if deterministic else host_calls.MATMUL
            if type(a) is np.ndarray:
                result = along_again(axes, a, b, out, tag)
                if result is not NotImplemented:
                    return result
            elif settled():
                options = dtype, axes, math, deterministic
                result = _of_tensors(lambda x, y, z: matmul(x, y, z, *options), a, b, out)
                if result is not NotImplemented:
                    return result
        return along(
            axes,
            lambda x, y, z: matmul(x, y, z, dtype, None, math, deterministic),
            *(a, b, out),
            pairs=of_pairs(dtype),
            tag=tag,
        )
    if math != "ieee" or deterministic is not False:
        return _matmul_in(math_of(math), steadily(deterministic, math), a, b, out, dtype)
    if dtype is not None:
        return _matmul_of_pairs(a, b, out, dtype)
    # A tensor has no strides to be looked up by, and finding that out takes as long as a launch.
    if type(a) is np.ndarray:
        try:
            if out is None:
                key = (a.shape, a.strides, a.dtype.char, b.shape, b.strides)
                function, shape, dtype, make = FAST[key]
                result = function(a, b, make(shape, dtype))
            else:
                into = (a.shape, a.strides, a.dtype.char, b.shape, b.strides, out.strides)
                result = INTO[into](a, b, out)
            if result is not NotImplemented:
                return result
        except (KeyError, AttributeError, TypeError):
            pass
    calls = DEVICE.get(type(a))
    if calls is not None:
        result = calls(calls.memo, "matmul", a, b, out)
        if result is not NotImplemented:
            return result
    if type(a) is not np.ndarray and settled():
        result = _of_tensors(host_calls.again, a, b, out)
        if result is not NotImplemented:
            return result
    if out is None and listening(a, b):
        return _doors().matmul(a, b)
    return product.matmul(a, b, out)


@untraced
def gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: complex = 1,
    beta: complex = 0,
    trans_a: str = "n",
    trans_b: str = "n",
    out: Any = None,
    dtype: str | None = None,
    math: str = "ieee",
    deterministic: bool = False,
) -> Any:
    """alpha * op(a) @ op(b) + beta * c, for one product or a stack of them.

    op is "n" (as it is), "t" (transposed) or "c" (conjugate transposed) over the last two axes;
    op(a): (..., m, k), op(b): (..., k, n), c: (..., m, n), leading axes broadcast. ``c`` is read only
    when beta is not 0. ``out`` may be ``c``: the product is then in place, as in BLAS; without ``c``
    and with a beta, ``out`` itself is what is updated. ``out`` has the result's shape and type.

    Types are float16, bfloat16, float32, float64, complex64, complex128 and complex half, which with
    ``dtype="hc"`` is float16 arrays (..., m, n, 2) for ``a``, ``b``, ``c`` and ``out``; sums of 16-bit
    types are kept as ``matmul`` says, and rounded once after beta * c is added.

    ``math`` and ``deterministic`` are as ``matmul`` says.

    Raises ``ArgumentError`` for shapes, letters or scalars that do not fit and for another ``dtype``,
    ``math`` or ``deterministic``, ``DTypeError`` for other types, and for tensors as ``matmul`` does. Arrays
    on a GPU are served as ``matmul`` says.
    """
    if math != "ieee" or deterministic is not False:
        how = math_of(math), steadily(deterministic, math)
        return _gemm_in(*how, (alpha, beta, trans_a, trans_b), a, b, c, out, dtype)
    if dtype is not None:
        return _gemm_of_pairs((alpha, beta, trans_a, trans_b), a, b, c, out, dtype)
    if type(a) is np.ndarray:
        result = host_calls.gemm_again((alpha, beta, trans_a, trans_b), a, b, c, out)
        if result is not NotImplemented:
            return result
    calls = DEVICE.get(type(a))
    if calls is not None:
        result = calls.gemm(calls.memo, (alpha, beta, trans_a, trans_b), a, b, c, out, beta)
        if result is not NotImplemented:
            return result
    if type(a) is not np.ndarray and settled():
        scalars = (alpha, beta, trans_a, trans_b)
        result = _of_tensors(lambda *arrays: host_calls.gemm_again(scalars, *arrays), a, b, c, out)
        if result is not NotImplemented:
            return result
    if out is None and listening(a, b, *(() if c is None else (c,))):
        return _doors().gemm(a, b, c, alpha=alpha, beta=beta, trans_a=trans_a, trans_b=trans_b)
    return product.gemm(Options.of(alpha, beta, trans_a, trans_b), a, b, c, out)


@untraced
def chain(a: Any, b: Any, c: Any = None, /, *, add: Any = None, out: Any = None) -> Any:
    """a @ b, or a @ b @ c, and ``add`` added to it, for one chain or a stack of them.

    a: (..., m, k), b: (..., k, l), c: (..., l, n), ``add``: what broadcasts to (..., m, n). Leading axes
    broadcast, so an operand without them is shared by all. Transposed and conjugated views are free: a
    covariance's step is ``chain(f, p, f.mT, add=q)``, a rotation and back ``chain(d, x, d.mH)``, H H^H + S
    ``chain(h, h.mH, add=s)``, and an array that stands in the chain twice is read once. Returns (..., m, n),
    in ``out`` where it is given, which has the result's shape and type; it may be an operand, in place.

    On a GPU, chains of matrices with up to 32 rows and columns are one kernel, which reads every operand once
    and writes the result once; the arrays need a unit stride among their last two axes and batch axes that
    one stride covers. What is larger or lies otherwise is composed of products, and so is every chain in this
    process's memory.

    Of three factors the two are multiplied first that cost fewer operations, a and b where both cost the
    same: the result is rounded as that association rounds. Types are those of ``gemm``; sums of 16-bit types
    are kept in float32, and in one kernel so is the product in between.

    Raises ``ArgumentError`` for shapes that do not fit, an unusable ``out`` and arrays in different memories,
    ``DTypeError`` for other types, and for tensors as ``matmul`` does.
    """
    arguments = a, b, c, add, out
    if type(a) is np.ndarray:
        result = host_chains.again(arguments)
    else:
        result = again(arguments)
        if result is NotImplemented and settled():
            result = _of_tensors(_chain_of_arrays, *arguments)
    return chains.chain(a, b, c, add, out) if result is NotImplemented else result


@untraced
def einsum(*arguments: Any, out: Any = None, optimize: Any = "auto") -> Any:
    """A contraction in the notation of ``numpy.einsum``: ``einsum("xab,xbc->xac", a, b)``.

    ``arguments``: an equation and its operands, or operands and lists of labels in turns; ellipses, a missing
    arrow and axes of one element mean what they mean there, without ``subscripts`` by name. Operands are
    arrays of one library, in one memory, as for ``matmul``; the result is of the library of the first one.
    Which two are multiplied next is found by ``opt_einsum``, and ``optimize`` is what that takes (``auto``,
    ``optimal``, ``greedy``, a path).

    Two operands are one stack of matrix products: labels in both and in the result count it, labels in both
    alone are summed, and of the others as many as one stride covers make an axis of a matrix; the rest counts
    the stack. Nothing is transposed or copied where such a reading exists (Masliah et al., figure 1). A new
    result lies in memory as its labels stand where that costs nothing, else as the products are written, and
    is then a view with its axes in the order that was asked for. What has nothing to sum is multiplied
    element by element, and labels of one operand alone are summed first, by the library of the arrays, as are
    types that no stencil knows. Sums and products of 16 bits are rounded as ``matmul`` rounds, and once more
    after each step.

    On a GPU three tiny matrices in a row are one kernel, ``chain``. A call that comes again is looked up by
    its equation and how its operands lie, and launched.

    ``out``: an array of the result's shape and type, which is returned; it may overlap operands. Works as
    ``opt_einsum.contract(..., backend="tilewright")``, as ``autoray.do("einsum", ..., like="tilewright")``
    and, with ``tensordot``, as an implementation for cotengra.

    Raises ``ArgumentError`` (a ``ValueError``) for equations that are none, operands or an ``out`` that do
    not fit them and arrays in different memories, ``DTypeError`` for what holds no numbers, an ``out`` that
    is no array, lists of labels and paths that are none by their types, steps of complex half that are no
    products, and for tensors as ``matmul`` does.
    """
    result = contraction_calls.again(arguments, out, optimize)
    if result is not NotImplemented:
        return result
    if len(arguments) > 1 and type(arguments[1]) is not np.ndarray and settled():
        # Lists of labels are no tensors.
        equation, *operands = arguments
        result = _of_tensors(
            lambda *arrays: einsum(equation, *arrays[:-1], out=arrays[-1], optimize=optimize), *operands, out
        )
        if result is not NotImplemented:
            return result
    from tilewright.contract.einsum import einsum as contraction
    from tilewright.contract.steps import Calls

    return contraction(Calls(matmul, chain), arguments, out, optimize)


@untraced
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """The contraction of ``numpy.tensordot``: sums over the last ``axes`` axes of a and the first of b, or
    over pairs of axes, ``axes=([of a, ...], [of b, ...])``. See ``einsum``, which it is.

    Raises ``ArgumentError`` for axes that an array does not have, or twice.
    """
    from tilewright.contract.einsum import tensordot as contraction

    return contraction(einsum, a, b, axes)


@untraced
def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """The view of an array with its axes in another order, ``numpy.transpose``, of the library of the array.

    ``axes``: which axis comes where; None: all in the opposite order. For programs that ask it of whoever
    multiplies: opt_einsum does of its backend where a product of two has its axes in another order.

    Raises what the library raises for axes that the array has not.
    """
    permute = getattr(a, "permute", None)
    if permute is None:
        return np.transpose(a, axes)
    return permute(tuple(reversed(range(a.ndim))) if axes is None else tuple(axes))


@untraced
def plan(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: complex = 1,
    beta: complex = 0,
    trans_a: str = "n",
    trans_b: str = "n",
    out: Any = None,
    stencil: str | None = None,
    config: Mapping[str, Any] | None = None,
    dtype: str | None = None,
    effort: str | None = None,
    math: str = "ieee",
    deterministic: bool = False,
) -> Executable:
    """The call ``gemm(a, b, c, ...)`` prepared: what it returns can be called at no planning cost.

    ``stencil`` and ``config`` force what runs, for people who tune. ``effort``, as in FFTW's planner, has a
    problem without a record tuned first, as ``tune`` says, on the first device of its kind and on operands of
    the tuner's own; None and ``records-only`` measure nothing, nor is anything that has a record tuned again.
    Raises as ``gemm`` does, ``ArgumentError`` for an effort that does not exist.
    """
    pairs = of_pairs(dtype)
    forced: dict[str, Any] = {"stencil": stencil, "config": config}
    how: dict[str, Any] = {"pairs": pairs, "math": math, "deterministic": deterministic}
    options = Options.of(alpha, beta, trans_a, trans_b, **forced, **how)
    made = executable(options, a, b, c, out)
    if effort is not None:
        from tilewright.tuning.effort import EFFORTS

        one_of(effort, "effort", EFFORTS)
        found = made.plan
        if is_gap(found):
            tune(found.problem, effort=effort, regimes=(found.regime,), device=found.device.kind)
    return made


def tune(
    problems: Sequence[str | Gemm] | str | Gemm = (),
    *,
    gaps: bool = False,
    effort: str = "quick",
    budget: float | None = None,
    tries: int | None = None,
    search: str | None = None,
    betas: Sequence[str] = ("0", "1"),
    regimes: Sequence[str] = ("memory", "cached"),
    device: str = "cpu",
    gpus: str | Sequence[int] | None = None,
    cluster: str | None = None,
    again: bool = False,
    model: bool = False,
    listen: Callable[[Progress], None] | None = None,
) -> list[Result]:
    """Search, check and time kernels for problems on this machine, and record what was found.

    ``problems``: spellings (``d:2..32``) or ``Problem``s; a spelling means all of the classes ``betas``
    ("0", "1", "any"), a ``Problem`` its own. Lists for ``gemm_grouped`` are spelled
    ``d:8x8x8@100+16x16x16@50``, or with ranges that extents are drawn from, ``s:1..32x1..32x1..32@10000``;
    GPUs have a kernel for them. ``effort``: ``records-only`` (what is known; nothing is measured),
    ``estimate`` (what the cost model likes, what won here, nearby and on similar devices is measured, nothing
    is searched), ``quick`` (seconds a size and regime, which the betas share), ``patient`` or ``exhaustive``.
    A higher one never ends with a slower kernel: what won before is always among the finalists. ``budget``:
    seconds of searching for the whole run instead, the same for each size, beta and regime; ``tries``:
    configs measured at most for each; ``search``: another search than that of the effort, by its name in
    ``tuning.search.table``. ``regimes``: data in ``memory``, or ``cached``. ``device``: ``cpu`` or ``cuda``,
    the first GPU; ``gpus``: ``all`` GPUs, or those of these numbers, at once: like ones share the tries, and
    others are tuned side by side. ``cluster``: the address of a dask scheduler, ``tcp://host:8786``, on whose
    workers all is compiled and measured (``tuning.cluster``); records are written here. With ``gaps`` what is
    tuned, after ``problems``, is what was called without a record (``tw.gaps``), worst expected loss first,
    each with its own beta and regime; a ``budget`` is then spent on as many of them as can have the seconds
    of the effort. Calls made after it use what it found. Stop it at any moment: what was tried is recorded,
    and the same call goes on from there. What it finished is not measured again by the same call but with
    ``again``. Several such calls at once, on one records file, share the work.

    With ``model`` nothing is run: a kernel costs what LLVM's scheduling model of the processor ``device``
    says (``neoverse-v2``, ``pwr9``, ...: ``targets.cpu.named``), which need not be here, with data in cache;
    what is found is recorded as predicted, and used where no record of a measurement says anything
    (docs/predictions.md).

    Raises ``ArgumentError`` for an effort, search, beta, regime, device, GPU or spelling that does not exist,
    a negative budget or no tries, ``DeviceError`` where the device cannot be used, and ``ClusterError`` where
    no scheduler or worker answers, or one is of another version.
    """
    # The one door to the tuner, opened by who tunes: a program that multiplies does not load it.
    from tilewright.calls.gaps import gaps as found_gaps
    from tilewright.targets.cpu.named import device as processor_named
    from tilewright.tuning.cluster import Cluster
    from tilewright.tuning.effort import EFFORTS
    from tilewright.tuning.fleet import Team, chosen, members, teams, tuned
    from tilewright.tuning.gemm.jobs import gap_jobs, tuning_jobs
    from tilewright.tuning.modelled import modelled
    from tilewright.tuning.search.table import SEARCHES

    if not (isinstance(device, str) and (model or device in TARGETS)):
        raise ArgumentError(
            f"device={device!r}; accepted: {', '.join(TARGETS)}, and with model processors by name"
        )
    one_of(effort, "effort", EFFORTS)
    _seconds(budget)
    if tries is not None and not (is_real(tries) and tries > 0):
        raise ArgumentError(f"tries={tries!r}; accepted: configs from 1, or None")
    if search is not None:
        one_of(search, "search", SEARCHES)
    jobs = tuning_jobs(problems, betas, regimes)
    if model:
        if gaps or gpus is not None or cluster is not None:
            raise ArgumentError("model=True goes with no gaps, gpus or cluster; accepted: one device")
        there = dispatch.device() if device == "cpu" else processor_named(device)
        options: dict[str, Any] = {"effort": effort, "search": search, "budget": budget, "tries": tries}
        results = modelled(jobs, there, dispatch.records(), again=again, listen=listen, **options)
        forget()
        return results
    if gaps:
        kind = device if gpus is None else "cuda"
        jobs += gap_jobs(found_gaps(kind), regimes, EFFORTS[effort].seconds, budget)
    asked: dict[str, Any] = {"effort": effort, "search": search, "budget": budget, "tries": tries}
    asked |= {"again": again, "listen": listen}
    if cluster is not None:
        if gpus is not None:
            raise ArgumentError(f"gpus={gpus!r} goes with no cluster; accepted: the devices of its workers")
        joined = Cluster(cluster)
        try:
            results = tuned(jobs, members(joined, dispatch.known), dispatch.records(), **asked)
        finally:
            joined.close()
    else:
        if gpus is None:
            found = [Team(dispatch.device(device))]
        else:
            found = teams([dispatch.device("cuda", number) for number in chosen(gpus)])
        results = tuned(jobs, found, dispatch.records(), **asked)
    forget()
    return results


def kernel_set(
    problems: Sequence[str | Gemm] | str | Gemm,
    *,
    within: float = 0.05,
    effort: str = "quick",
    budget: float | None = None,
    betas: Sequence[str] = ("0", "1"),
    regimes: Sequence[str] = ("memory", "cached"),
    device: str = "cpu",
    vendor: bool = True,
    listen: Callable[[str], None] = lambda text: None,
) -> KernelSet:
    """The smallest set of kernels that keeps each of some problems within a share of its best.

    ``problems``, ``betas``, ``regimes`` and ``device`` as for ``tune``. ``within``: the share, 0.05 for 5 %.
    What the records do not know is measured: problems that were never tuned are, as ``effort`` says; then the
    winners, and who is nearly as good, are tried on all other problems, which takes as long again at most
    (``budget``: seconds for both together); then each kernel that serves a problem that it did not win is
    timed in turns with that problem's best. ``records-only`` measures nothing. ``vendor``: what the vendor's
    product does faster than any kernel is left to it. ``listen`` is told what is being done.

    A kernel is a stencil with a config. It was verified on all problems that it serves. Where stencils
    compile sizes in it is several programs, which ``KernelSet.binaries`` counts. ``save`` writes the set to a
    file, and ``use_kernels`` has calls go by it.

    Raises ``ArgumentError`` for no problems, a ``within`` that is no share from 0, what ``tune`` refuses, and
    a problem without a kernel that is right, ``DeviceError`` where the device cannot be used.
    """
    from tilewright.tuning.effort import EFFORTS
    from tilewright.tuning.gemm.jobs import tuning_jobs
    from tilewright.tuning.sets.kernel_set import kernel_set as smallest
    from tilewright.tuning.tuner import Tuner

    one_of(device, "device", TARGETS)
    one_of(effort, "effort", EFFORTS)
    _seconds(budget)
    jobs = [(job.problem, job.regime) for job in tuning_jobs(problems, betas, regimes)]
    granted, search = EFFORTS[effort]
    seconds = granted if budget is None else budget / (2 * max(1, len(jobs)))
    with Tuner(dispatch.device(device), dispatch.records()) as tuner:
        found = smallest(
            *(tuner, jobs),
            within=within,
            search=search,
            seconds=seconds,
            rival=lambda problem: vendor and alike.has_rival(problem),
            listen=listen,
        )
    forget()
    return found


@untraced
def explain(problem: Any, /, *operands: Any, **options: Any) -> str:
    """What would run and why: the rung, the kernel, the bound and, from records, the percentage reached.

    Either a problem (or its spelling), or the arrays and options of ``gemm``, or an equation and the operands
    of ``einsum`` (and ``optimize``): then the path, each stack of products and what is copied for it.
    """
    if isinstance(problem, str) and operands:
        from tilewright.contract.explain import explain_contraction

        return explain_contraction(problem, operands, **options)
    if operands:
        return plan(problem, *operands, **options).explain()
    if options:
        raise ArgumentError(f"{next(iter(options))} goes with arrays; a problem says it all itself")
    if not isinstance(problem, str | Problem | GroupedProblem):
        raise ArgumentError(f"problem={problem!r}; accepted: a spelling, a Problem, or two arrays")
    found = parsed(problem) if isinstance(problem, str) else [problem]
    return "\n".join(explain_plan(dispatch.plan(p, dispatch.device(), cores=threads())) for p in found)


def _seconds(budget: Any) -> None:
    """Raises ``ArgumentError`` for what is no number of seconds."""
    if budget is not None and not (is_real(budget) and budget >= 0):
        raise ArgumentError(f"budget={budget!r}; accepted: seconds from 0, or None")


def _doors() -> Any:
    """The calls that PyTorch knows of, loaded by the first tensor that needs one."""
    import tilewright.torch.doors as doors

    return doors


def _matmul_of_pairs(a: Any, b: Any, out: Any, dtype: str) -> Any:
    """``matmul`` with a ``dtype``. No builtin of the processor's serves it, so none is asked."""
    of_pairs(dtype)
    calls = DEVICE.get(type(a))
    if calls is not None:
        result = calls(calls.memo, product.TAGS[True], a, b, out)
        if result is not NotImplemented:
            return result
    return product.matmul(a, b, out, PLAIN[True])


def _gemm_of_pairs(
    scalars: tuple[complex, complex, str, str], a: Any, b: Any, c: Any, out: Any, dtype: str
) -> Any:
    """``gemm`` with a ``dtype``."""
    of_pairs(dtype)
    calls = DEVICE.get(type(a))
    if calls is not None:
        result = calls.gemm(calls.memo, (*scalars, dtype), a, b, c, out, scalars[1])
        if result is not NotImplemented:
            return result
    return product.gemm(Options.of(*scalars, pairs=True), a, b, c, out)


def _chain_of_arrays(a: Any, b: Any, c: Any, add: Any, out: Any) -> Any:
    """``chain`` by place."""
    return chain(a, b, c, add=add, out=out)


def _of_tensors(call: Callable[..., Any], *values: Any) -> Any:
    """What a call gives of the arrays behind PyTorch's tensors in this process's memory, the last of which is
    ``out``; ``NotImplemented`` where it does, and for all else."""
    arrays = all_behind(values)
    made = NotImplemented if arrays is None else call(*arrays)
    if made is NotImplemented or values[-1] is not None:
        return made if made is NotImplemented else values[-1]
    return tensor_of(np.asarray(made))


def _matmul_in(math: str, deterministic: bool, a: Any, b: Any, out: Any, dtype: str | None) -> Any:
    """``matmul`` that multiplies in another way than ieee, or is deterministic."""
    calls, tag = DEVICE.get(type(a)), product.tag_of(math, deterministic)
    if type(a) is np.ndarray and dtype is None:
        try:
            look = (a.shape, a.strides, a.dtype.char, b.shape, b.strides)
            if out is None:
                function, shape, kind, make = FAST[(*look, tag)]
                result = function(a, b, make(shape, kind))
            else:
                result = INTO[(*look, out.strides, tag)](a, b, out)
            if result is not NotImplemented:
                return result
        except (KeyError, AttributeError, TypeError):
            pass
    if calls is not None and dtype is None:
        result = calls(calls.memo, tag, a, b, out)
        if result is not NotImplemented:
            return result
    options = Options(pairs=of_pairs(dtype), math=math, deterministic=deterministic)
    return product.matmul(a, b, out, options)


def _gemm_in(
    math: str,
    deterministic: bool,
    scalars: tuple[complex, complex, str, str],
    a: Any,
    b: Any,
    c: Any,
    out: Any,
    dtype: str | None,
) -> Any:
    """``gemm`` that multiplies in another way than ieee, or is deterministic."""
    calls = DEVICE.get(type(a))
    if dtype is None and (calls is not None or type(a) is np.ndarray):
        tag = (*scalars, *((math,) if math != "ieee" else ()))
        tag = (*tag, product.DETERMINISTIC) if deterministic else tag
        if calls is None:
            result = host_calls.gemm_again(tag, a, b, c, out)
        else:
            result = calls.gemm(calls.memo, tag, a, b, c, out, scalars[1])
        if result is not NotImplemented:
            return result
    options = Options.of(*scalars, pairs=of_pairs(dtype), math=math, deterministic=deterministic)
    return product.gemm(options, a, b, c, out)
