"""What of a library is written for its problems: declarations, tables and typed functions in C.

All else is the same in every library and lies beside, in ``c/``, as files that compile as they stand. There
the library is called ``tilewright_kernels`` and its symbols begin with ``tw_``; ``named`` gives them other
names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tilewright.export.gpus import Built, Image
from tilewright.export.problems import Exported
from tilewright.export.processors import CLASSES, LAYOUTS, REGIMES, Written

FOLDER = Path(__file__).parent / "c"
LIBRARY, PREFIX = "tilewright_kernels", "tw"


def fixed(name: str) -> str:
    """A file of ``c/``."""
    return (FOLDER / name).read_text(encoding="utf-8")


def named(text: str, library: str, prefix: str) -> str:
    """A file with the names of another library and other symbols in place of ``LIBRARY`` and ``PREFIX``."""
    text = text.replace(LIBRARY, library).replace(LIBRARY.upper(), library.upper())
    text = re.sub(rf"\b{PREFIX}_", f"{prefix}_", text)
    return re.sub(rf"\b{PREFIX.upper()}_", f"{prefix.upper()}_", text)


def header(problems: Sequence[Exported], cuda: bool) -> str:
    """The public header."""
    text = fixed("tilewright_kernels.h").replace("/*@CUDA@*/\n", fixed("cuda_calls.h") if cuda else "")
    return text.replace("/*@PROBLEMS@*/\n", _declared(problems, cuda)).replace("\n\n\n", "\n\n")


def _declared(problems: Sequence[Exported], cuda: bool) -> str:
    rows = [f"    {x.symbol}_index = {at}," for at, x in enumerate(problems)]
    lines = ["/* Where each problem is in tw_problems. */", "enum {", *rows]
    lines[-1] = lines[-1].rstrip(",")
    lines += ["};", ""]
    lines += ["/* All of them, for macros: X(symbol, real type, complex, m, n, k, op of A, op of B). */"]
    lines += ["#define TW_PROBLEMS(X) \\"]
    lines += [_row(x) + " \\" for x in problems]
    lines[-1] = lines[-1].removesuffix(" \\")
    lines += ["", "/* The calls above for one problem each, with scalars by value. */"]
    for each in problems:
        lines += [f"{signature};" for signature, _ in _functions(each, cuda)]
    return "\n".join(lines) + "\n"


def _row(x: Exported) -> str:
    p = x.problem
    sizes = f"{p.m}, {p.n}, {p.k}, '{p.trans_a}', '{p.trans_b}'"
    return f"    X({x.symbol}, {x.real}, {int(p.dtype.is_complex)}, {sizes})"


def _functions(x: Exported, cuda: bool) -> Iterable[tuple[str, str]]:
    """The typed functions of a problem: the signature of each and the call that it makes."""
    e, s, problem = x.element, x.scalar, f"&tw_problems[{x.symbol}_index]"
    for on, stream, last in (("", "", ""), ("_cuda", ", void *stream", ", stream")):
        if on and not cuda:
            continue
        yield (
            f"int {x.symbol}{on}(size_t count, {s} alpha, const {e} *a, ptrdiff_t stride_a, const {e} *b,\n"
            f"    ptrdiff_t stride_b, {s} beta, {e} *c, ptrdiff_t stride_c{stream})",
            f"tw_gemm{on}({problem}, count, &alpha, a, stride_a, b, stride_b, &beta, c, stride_c{last})",
        )
        pointers = "(const void *const *)a, (const void *const *)b, &beta, (void *const *)c"
        yield (
            f"int {x.symbol}{on}_pointers(size_t count, {s} alpha, const {e} *const *a,\n"
            f"    const {e} *const *b, {s} beta, {e} *const *c{stream})",
            f"tw_gemm{on}_pointers({problem}, count, &alpha, {pointers}{last})",
        )


def problems_c(problems: Sequence[Exported], cuda: bool) -> str:
    """The table of problems, and the functions that are each of one problem."""
    lines = ["/* The problems of this library. */", '#include "tilewright_kernels.h"', ""]
    lines += ["const tw_problem tw_problems[] = {"]
    for at, x in enumerate(problems):
        p = x.problem
        name = f"{p.dtype.letter}:{p.trans}:{p.m}x{p.n}x{p.k}"
        letters = f"'{x.letter}', '{p.trans_a}', '{p.trans_b}'"
        lines.append(f'    {{"{name}", {letters}, {p.m}, {p.n}, {p.k}, {at}}},')
    lines += ["};", f"const int tw_problem_count = {len(problems)};"]
    for x in problems:
        for signature, call in _functions(x, cuda):
            lines += ["", signature, "{", f"    return {call};", "}"]
    return "\n".join(lines) + "\n"


_ASKED = {"f16c": "has_f16c()"}
"""What some compilers do not know to ask for (GCC before 11, Clang before 18), by the call that does. Whether
the system keeps the registers is asked with the vectors."""
_CPUID = (
    "#include <cpuid.h>",
    "static int has_f16c(void)",
    "{",
    "    unsigned a, b, c, d;",
    "    return __get_cpuid(1, &a, &b, &c, &d) && (c >> 29 & 1);",
    "}",
)


def _question(name: str) -> str:
    """Whether the processor has what is so named, in C."""
    return _ASKED.get(name, f'__builtin_cpu_supports("{name}")')


def processors_c(written: Sequence[Written]) -> str:
    """The tables of kernels by instruction set, of each architecture those that it has."""
    lines = [
        "/* Which kernels serve which problem, by instruction set. */",
        '#include "runtime.h"',
        "",
        f"/* By layout ({', '.join(LAYOUTS)}), by regime ({', '.join(REGIMES)}), by classes of",
        f" * alpha and beta ({', '.join(f'{alpha} {beta}' for alpha, beta in CLASSES)}). */",
    ]
    if any(name in _ASKED for each in written for name in each.asked):
        lines += ["", "#if defined(__x86_64__)", *_CPUID, "#endif"]
    rows: dict[str, list[str]] = {}
    for each in written:
        isa = each.isa
        tests = [*map(_question, each.asked), *([isa.found] if isa.found else [])]
        test = " && ".join(tests) or "1"
        # A constructor of another library may ask before the compiler's own tables are filled.
        ask = ["    __builtin_cpu_init();"] if each.asked else []
        functions = [x for order in each.functions.values() for x in dict.fromkeys(order)]
        lines += ["", f"#if defined(__{isa.arch.replace('ppc64le', 'powerpc64')}__)"]
        lines += [f"TW_HIDDEN tw_cpu_kernel {name};" for name in functions]
        lines += [f"static const tw_cpu_rules rules_{isa.name}[] = {{"]
        for order in each.functions.values():
            lines += [f"    {{{_nested(order)}}},"]
        lines += ["};", f"static int here_{isa.name}(void)", "{", *ask, f"    return {test};", "}", "#endif"]
        row = f'    {{"{isa.name}", here_{isa.name}, {each.knee}.0, rules_{isa.name}}},'
        rows.setdefault(isa.arch, []).append(row)
    lines += ["", "const tw_cpu_isa tw_cpu_isas[] = {"]
    for arch, its in rows.items():
        lines += [f"#if defined(__{arch.replace('ppc64le', 'powerpc64')}__)", *its, "#endif"]
    lines += ['    {"", 0, 0, 0},', "};"]
    return "\n".join(lines) + "\n"


def _nested(order: Sequence[str]) -> str:
    """The initialiser of ``tw_cpu_rules.kernel``."""
    classes = len(CLASSES)
    fours = ["{" + ", ".join(order[at : at + classes]) + "}" for at in range(0, len(order), classes)]
    twos = ["{" + ", ".join(fours[at : at + len(REGIMES)]) + "}" for at in range(0, len(fours), len(REGIMES))]
    return "{" + ",\n      ".join(twos) + "}"


def gpus_c(built: Sequence[Built]) -> str:
    """The images of all architectures, their launch rules, and the tables that say which serves what."""
    lines = ["/* Images of kernels for GPUs, how they are launched, and which serve which problem. */"]
    lines += ['#include "cuda.h"']
    archs = ["", "const tw_cuda_arch tw_cuda_archs[] = {"]
    for each in built:
        name = each.arch.name
        kernels = ["", f"static const tw_cuda_kernel kernels_{name}[] = {{"]
        for number, image in enumerate(each.images):
            lines += ["", f"static const uint64_t image_{name}_{number}[] = {{", *_words(image.code), "};"]
            kernels.append(f"    {{image_{name}_{number}, {_launch(image)}}},")
        rules = ["};", f"static const tw_cuda_rules rules_{name}[] = {{"]
        for rows in each.rules.values():
            inner = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in rows)
            rules.append(f"    {{{{{inner}}}}},")
        lines += [*kernels, *rules, "};"]
        served = f"{each.arch.first}, {each.arch.last}, {len(each.images)}"
        archs.append(f'    {{"{name}", {served}, kernels_{name}, rules_{name}}},')
    most = max(len(each.images) for each in built)
    archs += ['    {"", 0, 0, 0, 0, 0},', "};"]
    room = f"tw_loaded tw_cuda_room[TW_CONTEXTS * {most}];"
    return "\n".join([*lines, *archs, room, f"const int tw_cuda_most = {most};"]) + "\n"


def _words(code: bytes) -> Iterable[str]:
    """Bytes as words of 64 bits, the lowest byte first, as every host of these GPUs has them."""
    padded = code + bytes(-len(code) % 8)
    words = [f"0x{int.from_bytes(padded[at : at + 8], 'little'):x}u" for at in range(0, len(padded), 8)]
    return ("    " + ", ".join(words[at : at + 8]) + "," for at in range(0, len(words), 8))


def _launch(image: Image) -> str:
    """What follows the image in the initialiser of ``tw_cuda_kernel``."""
    rule = image.rule
    axes = ", ".join(f"{{{x.most}, {x.least}, {x.times}, {x.each}}}" for x in rule.grid)
    return f'"{image.entry}", {rule.block}, {rule.shared}, {image.sms}, {{{axes}}}'
