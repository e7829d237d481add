"""Descriptions of tuning problems in the community's T1 format, as the parts of a ``Definition``.

Kernel Tuner and KTT read the same files. Two of Kernel Tuner's additions are read, too: a parameter's
``Default``, and ``ProblemSize`` with ``GridDivX`` and so on, which then give the grid in place of
``GlobalSize``. ``Language`` may also be "C", for a kernel of the processor.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.custom.definition import Array, Definition, Scalar
from tilewright.custom.expressions import Expression, evaluated
from tilewright.custom.spaces import idle_rules
from tilewright.errors import ArgumentError, UnsupportedError
from tilewright.kernels import schemas
from tilewright.space import Param, Rule, Space
from tilewright.store.jsonl import read_text

LANGUAGES = {"CUDA": "cuda", "C": "c"}
TYPES = {"half": "float16", "float": "float32", "double": "float64"}


class Fill:
    """What draws the inputs that a file describes: ``inputs`` of a definition."""

    reads = ("random",)

    def __init__(
        self, arguments: Sequence[Mapping[str, Any]], shapes: Mapping[str, tuple[int, ...]], folder: Path
    ):
        self.arguments, self.shapes, self.folder = list(arguments), dict(shapes), folder

    def __call__(self, random: np.random.Generator) -> dict[str, Any]:
        return {
            each["Name"]: self._made(each, random) for each in self.arguments if each["Name"] in self.shapes
        }

    def _made(self, each: Mapping[str, Any], random: np.random.Generator) -> Any:
        return filled(each, self.shapes[each["Name"]], self.folder, random)


class Stored:
    """What a file says is right, whatever is asked: ``reference`` of a definition."""

    reads: tuple[str, ...] = ()

    def __init__(self, values: Sequence[Any]):
        self.values = tuple(values)

    def __call__(self) -> tuple[Any, ...]:
        return self.values


def filled(
    each: Mapping[str, Any], shape: tuple[int, ...], folder: Path, random: np.random.Generator | None
) -> Any:
    """An array as a T1 argument describes it. Raises ``UnsupportedError`` for ways that are not read."""
    kind, dtype = each.get("FillType", "Constant"), np.dtype(_type(each)[0])
    if kind == "Constant":
        return np.full(shape, each.get("FillValue", 0), dtype)
    if kind == "Random" and random is not None:
        draw = np.random.default_rng(each["RandomSeed"]) if "RandomSeed" in each else random
        if dtype.kind in "iub":
            return draw.integers(0, max(1, int(each.get("FillValue", 100))), shape).astype(dtype)
        return (draw.random(shape) * each.get("FillValue", 1.0)).astype(dtype)
    if kind == "BinaryRaw" and "DataSource" in each:
        path = folder / each["DataSource"]
        try:
            found = np.fromfile(path, dtype)
        except OSError as error:
            raise ArgumentError(
                f"{each['Name']!r}: DataSource {str(path)!r} cannot be read: {error}"
            ) from error
        if found.size != math.prod(shape):
            raise ArgumentError(
                f"{each['Name']!r}: {str(path)!r} has {found.size} numbers; accepted: {shape}"
            )
        return found.reshape(shape)
    raise UnsupportedError(f"{each['Name']!r} has FillType {kind!r}; accepted: Constant, Random, BinaryRaw")


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parts of a ``Definition``, and what a file says of the search: ``budget`` in seconds, ``search``,
    and ``said``, a list of what was left out.

    Raises ``RecordsError`` for a file that is not in the format, ``UnsupportedError`` for what it may say and
    nothing here does, ``ArgumentError`` for expressions and values that are not understood.
    """
    document = schemas.read(path, schemas.T1)
    kernel, space = document["KernelSpecification"], document["ConfigurationSpace"]
    language = LANGUAGES.get(kernel["Language"])
    if language is None:
        raise UnsupportedError(
            f"{str(path)!r}: Language {kernel['Language']!r}; accepted: {', '.join(LANGUAGES)}"
        )
    params = tuple(Param(each["Name"], _values(each)) for each in space["TuningParameters"])
    said: list[str] = []
    rules = _rules(space.get("Conditions", ()), params, said)
    arguments = [
        {**each, "Name": each.get("Name", f"argument{number}")}
        for number, each in enumerate(kernel.get("Arguments", ()))
    ]
    lists = {param.name: param.values for param in params}
    described = tuple(_argument(each, kernel, lists) for each in arguments)
    shapes = {x.name: tuple(int(n) for n in x.shape) for x in described if isinstance(x, Array) and x.reads}
    source = path.parent / kernel["KernelFile"]
    defaults = {each["Name"]: each["Default"] for each in space["TuningParameters"] if "Default" in each}
    reference, tolerance = _reference(kernel, described, path.parent)
    parts = {
        "name": kernel["KernelName"],
        "language": language,
        "text": _exported(read_text(source)) if language == "cuda" else read_text(source),
        "entry": kernel["KernelName"],
        "params": params,
        "rules": rules,
        "arguments": described,
        "launch": _launch(kernel) if language == "cuda" else None,
        "reference": reference,
        "inputs": Fill(arguments, shapes, path.parent.resolve()),
        "options": tuple(
            x for x in kernel.get("CompilerOptions", ()) if not x.lstrip("-").startswith("std=")
        ),
        "tolerance": tolerance,
        "default": defaults if len(defaults) == len(params) else None,
    }
    return parts, {**_search(document, said), "said": said}


def _values(each: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values of a parameter: a list, or a range."""
    text, kind = each["Values"], each["Type"]
    try:
        found = _listed(ast.parse(text.strip(), mode="eval").body)
        cast = {"int": int, "uint": int, "float": float, "bool": bool, "string": str}[kind]
        values = tuple(cast(value) for value in found)
    except (SyntaxError, ValueError, TypeError) as error:
        raise ArgumentError(
            f"parameter {each['Name']!r} has Values {text[:200]!r} ({error}); accepted: a list of "
            "numbers or texts, "
            "range(...), list(...) of these, or [... for i in ...]"
        ) from None
    if not values:
        raise ArgumentError(f"parameter {each['Name']!r} has no values; accepted: at least one")
    return values


def _listed(tree: ast.expr) -> Sequence[Any]:
    """The values of a list, a range, or a list made of such by an expression. Raises ``ValueError``, or
    ``ArgumentError`` for the expression."""
    match tree:
        case ast.Call(func=ast.Name(id="list"), args=[inner], keywords=[]):
            return _listed(inner)
        case ast.Call(func=ast.Name(id="range"), args=ends, keywords=[]):
            return range(*(ast.literal_eval(end) for end in ends))
        case ast.ListComp(
            elt=made, generators=[ast.comprehension(target=ast.Name(id=name), iter=of, ifs=ifs)]
        ):
            each, tests = Expression(ast.unparse(made)), [Expression(ast.unparse(test)) for test in ifs]
            return [
                _of(each, name, value)
                for value in _listed(of)
                if all(_of(test, name, value) for test in tests)
            ]
        case _:
            found: Sequence[Any] = ast.literal_eval(tree)
            return found


def _of(expression: Expression, name: str, value: Any) -> Any:
    """An expression of one name, or of none."""
    return evaluated(expression, {name: value}, f"value {expression!r}")


def _rules(
    conditions: Sequence[Mapping[str, Any]], params: Sequence[Param], said: list[str]
) -> tuple[Rule, ...]:
    """The conditions as rules. Those that remove nothing are left out, and told of: the file is somebody
    else's."""
    rules: list[Rule] = []
    for number, each in enumerate(conditions, 1):
        text = each["Expression"]
        name = text if len(text) <= 60 else f"condition {number}"
        if name not in {rule.name for rule in rules}:
            rules.append(Rule(name, "soft", text, Expression(text)))
    idle = {rule.name for rule in idle_rules(Space(params, rules))} if rules else set()
    said += [f"condition {name!r} removes nothing, and was left out" for name in sorted(idle)]
    return tuple(rule for rule in rules if rule.name not in idle)


def _type(each: Mapping[str, Any]) -> tuple[str, int]:
    """NumPy's type of an argument, and how many of it an element has."""
    text = each["Type"]
    for kind, name in TYPES.items():
        if text.startswith(kind):
            return name, int(text.removeprefix(kind) or 1)
    if text == "custom":
        raise UnsupportedError(
            f"{each['Name']!r} is of type 'custom'; accepted: numbers, and vectors of them"
        )
    return text, 1


def _argument(each: Mapping[str, Any], kernel: Mapping[str, Any], lists: Mapping[str, Any]) -> Array | Scalar:
    """An argument; a parameter in the size of an array stands for all its values: ``max(block_size_x)``."""
    dtype, width = _type(each)
    if each["MemoryType"] == "Scalar":
        return Scalar(each["Name"], dtype, each.get("FillValue", 0))
    if each["MemoryType"] != "Vector" or each.get("MemType") == "Constant":
        raise UnsupportedError(
            f"{each['Name']!r} lies in {each.get('MemType', each['MemoryType'])} memory; accepted: "
            "Vector and Scalar "
            "(constant memory: hand the array to the kernel as a pointer)"
        )
    size = Expression(_sized(each.get("Size", 1), kernel))
    count = int(evaluated(size, lists, f"Size of {each['Name']!r}")) * width
    access = each.get("AccessType", "ReadWrite")
    return Array(each["Name"], dtype, (count,), access != "WriteOnly", access != "ReadOnly")


def _sized(text: Any, kernel: Mapping[str, Any]) -> str:
    """An expression with the numbers of ``ProblemSize`` put in."""
    sizes = kernel.get("ProblemSize", ())

    def number(found: re.Match[str]) -> str:
        return str(sizes[int(found[1])] if int(found[1]) < len(sizes) else 1)

    return re.sub(r"\bProblemSize\[(\d)\]", number, str(text))


def _launch(kernel: Mapping[str, Any]) -> dict[str, Any]:
    block = tuple(kernel["LocalSize"].get(axis, "1") for axis in "XYZ")
    if "ProblemSize" in kernel and any(f"GridDiv{axis}" in kernel for axis in "XYZ"):
        sizes = kernel["ProblemSize"] if isinstance(kernel["ProblemSize"], list) else [kernel["ProblemSize"]]
        grid = []
        for axis, size in zip("XYZ", [*sizes, 1, 1], strict=False):
            # Without a divisor Kernel Tuner divides by the block.
            by = kernel.get(f"GridDiv{axis}") or [f"({kernel['LocalSize'].get(axis, '1')})"]
            grid.append(f"ceil_div({size}, {' * '.join(f'({each})' for each in by)})")
    else:
        grid = [_sized(kernel["GlobalSize"].get(axis, "1"), kernel) for axis in "XYZ"]
        if kernel.get("GlobalSizeType", "CUDA") != "CUDA":
            grid = [f"ceil_div({size}, {threads})" for size, threads in zip(grid, block, strict=True)]
    return {"grid": tuple(grid), "block": block, "shared": kernel.get("SharedMemory", 0)}


def _exported(text: str) -> str:
    """The text with its kernels under their plain names, whatever a file of C++ calls them."""
    return text if 'extern "C"' in text else f'extern "C" {{\n#line 1\n{text}\n}}\n'


def _reference(
    kernel: Mapping[str, Any], described: Sequence[Array | Scalar], folder: Path
) -> tuple[Stored | None, float | None]:
    """What is right, where the file has it for every array that is written, and how near is near enough."""
    by_target = {each["TargetName"]: each for each in kernel.get("ReferenceArguments", ())}
    written = [x for x in described if isinstance(x, Array) and x.writes]
    if not written or any(array.name not in by_target for array in written):
        return None, None
    types = {each.get("Name"): each["Type"] for each in kernel.get("Arguments", ())}
    values, tolerances = [], []
    for array in written:
        each = by_target[array.name]
        value = filled(
            {**each, "Type": types.get(array.name, "float")}, tuple(int(n) for n in array.shape), folder, None
        )
        values.append(value)
        if "ValidationThreshold" in each:
            most = float(np.max(np.abs(value), initial=0.0)) or 1.0
            relative = "Relative" in each.get("ValidationMethod", "")
            tolerances.append(each["ValidationThreshold"] / (1.0 if relative else most))
    return Stored(values), max(tolerances, default=None)


def _search(document: Mapping[str, Any], said: list[str]) -> dict[str, Any]:
    """The budget and the search that a file asks for, as far as there is such a thing."""
    found: dict[str, Any] = {}
    for each in document.get("Budget", ()):
        if each["Type"] == "TuningDuration":
            found["budget"] = float(each["BudgetValue"])
        else:
            said.append(f"budget {each['Type']} is not kept: budgets are seconds")
    if "Search" in document:
        found["search"] = document["Search"]["Name"]
    return found


def definition(path: Path, **changes: Any) -> tuple[Definition, dict[str, Any]]:
    """The kernel that a file describes, with some parts changed, and what it says of the search."""
    parts, search = read(path)
    made = Definition(**{**parts, **changes})
    if made.reference is None:
        search["said"].append("there is no reference: results are not verified")
    return made, search
