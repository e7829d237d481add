"""The nouns. Everything that crosses from one room to another is one of these frozen values.

letters     element types and transpositions, by their letters
problem     one product, or a batch of products of one size
grouped     a list of products, each of its own size; ``gemm`` either
chain       several products in one pass
segmented   groups whose borders lie on the device
device      what a kernel runs on, as data
config      one point of a space
kernel      source, binary, what is loaded, how it is started
record      what came of a try
plan        what a call will run, and why
"""

from __future__ import annotations

from tilewright.model.chain import ChainProblem, Factor, Stored
from tilewright.model.config import Config
from tilewright.model.device import SHARED_MOST, Device
from tilewright.model.gemm import Gemm, parsed
from tilewright.model.grouped import MANY, STEPS, Extent, GroupedProblem, Integers, Term
from tilewright.model.kernel import Binary, Kernel, Launch, Source
from tilewright.model.letters import DTYPES, EMULATED, MATH_TYPES, MATHS, TF32_ROUNDOFF, DType, of_transposes
from tilewright.model.plan import Plan
from tilewright.model.problem import LARGEST, MOST, OUTER_AXES, RANGE, Axis, Interleaved, Problem, Three
from tilewright.model.record import PREDICTED, STATUSES, VENDOR, Record, Timing, Verdict
from tilewright.model.segmented import AXES, SegmentedProblem

__all__ = [
    "AXES",
    "DTYPES",
    "EMULATED",
    "LARGEST",
    "MANY",
    "MATHS",
    "MATH_TYPES",
    "MOST",
    "OUTER_AXES",
    "PREDICTED",
    "RANGE",
    "SHARED_MOST",
    "STATUSES",
    "STEPS",
    "TF32_ROUNDOFF",
    "VENDOR",
    "Axis",
    "Binary",
    "ChainProblem",
    "Config",
    "DType",
    "Device",
    "Extent",
    "Factor",
    "Gemm",
    "GroupedProblem",
    "Integers",
    "Interleaved",
    "Kernel",
    "Launch",
    "Plan",
    "Problem",
    "Record",
    "SegmentedProblem",
    "Source",
    "Stored",
    "Term",
    "Three",
    "Timing",
    "Verdict",
    "of_transposes",
    "parsed",
]
