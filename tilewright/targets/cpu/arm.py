"""What an ARM processor says of itself where Linux runs: extensions, and how long vectors are.

LLVM reads extensions there itself, but not those of ``EXTENSIONS``. Lengths are a process's own, as it may
choose among those that a processor has.
"""

from __future__ import annotations

import ctypes
import re
import sys

EXTENSIONS = {"fcma": "complxnum", "sme": "sme", "smef64f64": "sme-f64f64"}
"""What Linux calls an extension, and what LLVM does."""
SVE_GET_VL = 51
SME_GET_VL = 64
"""Numbers of questions to Linux (``prctl``): the length of vectors, and that in streaming mode."""
LENGTH = 0xFFFF
"""The part of an answer that is a number of bytes."""


def extensions(cpuinfo: str) -> set[str]:
    """LLVM's names of ``EXTENSIONS`` in what Linux says of the first core."""
    found = re.search(r"^Features\s*:\s*(.+)$", cpuinfo, re.M)
    words = found[1].split() if found else []
    return {name for word, name in EXTENSIONS.items() if word in words}


def vector_bits() -> int:
    """Bits of this process's SVE vectors; 0 where there are none."""
    return _length(SVE_GET_VL)


def streaming_bits() -> int:
    """Bits of this process's vectors in streaming mode; 0 where there is none."""
    return _length(SME_GET_VL)


def _length(question: int) -> int:
    if not sys.platform.startswith("linux"):
        return 0
    # The answer is negative where the processor, or a Linux that is too old, does not know the question.
    said = int(ctypes.CDLL(None).prctl(question, 0, 0, 0, 0))
    return 8 * (said & LENGTH) if said > 0 else 0
