"""Files of other tuners, checked against their schemas before anything is made of them.

``T1`` describes what is tuned and ``T4`` what came out, both of the community's TuningSchema (1.0.0);
``CACHE`` is the cache of Kernel Tuner (1.0.0 to 1.1.0). What is here is what those schemas ask for and what
this package reads; keys beyond it are accepted, as theirs do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tilewright.errors import DeviceError, RecordsError
from tilewright.store.jsonl import read_text

Schema = Mapping[str, Any]

TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
NUMBER: Schema = {"type": "number"}
EXPRESSION: Schema = {"type": ["string", "integer"]}


def _object(properties: Mapping[str, Any], required: tuple[str, ...] = ()) -> Schema:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


def _list(items: Any) -> Schema:
    return {"type": "array", "items": items}


_WIDTHS = ("", "2", "4", "8", "16")
FILLS = ("Constant", "Random", "Generator", "Script", "BinaryRaw", "BinaryHDF")
T1: Schema = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    **_object(
        {
            "ConfigurationSpace": _object(
                {
                    "TuningParameters": _list(
                        _object(
                            {
                                "Name": TEXT,
                                "Type": {"enum": ["int", "uint", "float", "bool", "string"]},
                                "Values": TEXT,
                            },
                            ("Name", "Type", "Values"),
                        )
                    ),
                    "Conditions": _list(
                        _object({"Parameters": TEXTS, "Expression": TEXT}, ("Parameters", "Expression"))
                    ),
                },
                ("TuningParameters",),
            ),
            "Search": _object({"Name": TEXT}, ("Name",)),
            "Budget": _list(
                _object(
                    {
                        "Type": {"enum": ["TuningDuration", "ConfigurationCount", "ConfigurationFraction"]},
                        "BudgetValue": NUMBER,
                    },
                    ("Type", "BudgetValue"),
                )
            ),
            "General": _object(
                {"TimeUnit": {"enum": ["Nanoseconds", "Microseconds", "Milliseconds", "Seconds"]}}
            ),
            "KernelSpecification": _object(
                {
                    # C is this package's own addition: a kernel of the processor.
                    "Language": {"enum": ["OpenCL", "CUDA", "Vulkan", "C"]},
                    "CompilerOptions": TEXTS,
                    "KernelName": TEXT,
                    "KernelFile": TEXT,
                    "GlobalSizeType": {"enum": ["OpenCL", "CUDA", "Vulkan"]},
                    "SharedMemory": {"type": "integer"},
                    "GlobalSize": _object(dict.fromkeys("XYZ", TEXT), ("X",)),
                    "LocalSize": _object(dict.fromkeys("XYZ", TEXT), ("X",)),
                    "Arguments": _list(
                        _object(
                            {
                                "Name": TEXT,
                                "Type": {
                                    "enum": [
                                        *("bool", "custom"),
                                        *(f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)),
                                        *(
                                            f"{kind}{w}"
                                            for kind in ("half", "float", "double")
                                            for w in _WIDTHS
                                        ),
                                    ]
                                },
                                "Size": EXPRESSION,
                                "FillType": {"enum": list(FILLS)},
                                "FillValue": NUMBER,
                                "DataSource": TEXT,
                                "RandomSeed": {"type": "integer"},
                                "AccessType": {"enum": ["ReadOnly", "WriteOnly", "ReadWrite"]},
                                "MemoryType": {"enum": ["Scalar", "Vector", "Local", "Symbol"]},
                            },
                            ("Type", "MemoryType"),
                        )
                    ),
                    "ReferenceArguments": _list(
                        _object(
                            {
                                "Name": TEXT,
                                "TargetName": TEXT,
                                "FillType": {"enum": list(FILLS)},
                                "FillValue": NUMBER,
                                "DataSource": TEXT,
                                "ValidationMethod": {
                                    "enum": [
                                        "AbsoluteDifference",
                                        "SideBySideComparison",
                                        "SideBySideRelativeComparison",
                                    ]
                                },
                                "ValidationThreshold": NUMBER,
                            },
                            ("Name", "TargetName", "FillType"),
                        )
                    ),
                },
                ("Language", "KernelName", "KernelFile", "GlobalSize", "LocalSize"),
            ),
        },
        ("ConfigurationSpace", "KernelSpecification"),
    ),
}
INVALIDITIES = ("timeout", "compile", "runtime", "correctness", "constraints", "correct")
T4: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_object(
        {
            "schema_version": {"type": "string", "pattern": "^[0-9]+[.][0-9]+[.][0-9]+$"},
            "results": _list(
                _object(
                    {
                        "timestamp": TEXT,
                        "configuration": {"type": "object"},
                        "objectives": {"type": "array"},
                        "times": _object({"compilation_time": NUMBER, "runtimes": {"type": "array"}}),
                        "invalidity": {"enum": list(INVALIDITIES)},
                        "correctness": NUMBER,
                        "measurements": _list(
                            _object(
                                {"name": TEXT, "value": {"type": ["number", "string", "array"]}, "unit": TEXT}
                            )
                        ),
                    },
                    ("configuration", "times", "invalidity", "correctness"),
                )
            ),
        },
        ("schema_version", "results"),
    ),
}
FAILURES = {
    "InvalidConfig": "rejected",
    "CompilationFailedConfig": "compile_failed",
    "RuntimeFailedConfig": "crashed",
}
"""What Kernel Tuner has in place of a time, and what it is called here."""
CACHE: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_object(
        {
            "device_name": TEXT,
            "kernel_name": TEXT,
            "tune_params_keys": TEXTS,
            "tune_params": {"type": "object", "additionalProperties": {"type": "array"}},
            "cache": {
                "type": "object",
                "additionalProperties": _object(
                    {
                        "time": {"anyOf": [{"type": "number"}, {"enum": list(FAILURES)}]},
                        "times": _list(NUMBER),
                        "timestamp": TEXT,
                    },
                    ("time",),
                ),
            },
        },
        ("device_name", "kernel_name", "tune_params_keys", "tune_params", "cache"),
    ),
}


def _library() -> ModuleType:
    try:
        import jsonschema
    except ImportError as error:
        raise DeviceError(
            f"files of other tuners are checked by jsonschema, which is not installed ({error}); "
            "pip install 'tilewright[kernels]' brings it"
        ) from None
    found: ModuleType = jsonschema
    return found


def check(document: Any, schema: Schema, what: str) -> None:
    """Raises ``RecordsError`` naming the first thing in a document that its schema does not accept, and
    ``DeviceError`` where the library that checks is missing."""
    library = _library()
    kind = library.validators.validator_for(schema)
    error = library.exceptions.best_match(kind(schema).iter_errors(document))
    if error is not None:
        where = "".join(f"[{part!r}]" for part in error.absolute_path)
        raise RecordsError(f"{what}{': ' + where if where else ''}: {error.message[:300]}")


def read(path: Path, schema: Schema, *, open_ended: bool = False) -> Any:
    """The document in a file, checked. ``open_ended``: its last braces may be missing, as in a file that is
    still being written. Raises ``RecordsError`` for one that cannot be read, is no JSON or is not what the
    schema asks."""
    text = read_text(path)
    try:
        document = _parsed(text, open_ended)
    except (ValueError, RecursionError) as error:
        raise RecordsError(f"{str(path)!r} is no JSON: {error}") from error
    check(document, schema, repr(str(path)))
    return document


def _parsed(text: str, open_ended: bool) -> Any:
    if open_ended:
        whole = text.rstrip().rstrip(",")
        for ending in ("", "}", "}}", "}}}"):
            try:
                return json.loads(whole + ending)
            except ValueError:
                continue
    return json.loads(text)
