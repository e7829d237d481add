"""A CUDA program as text, at the stages on its way: CUDA C++ with its definitions, PTX, SASS.

PTX is NVRTC's, of the very compilation that makes the binary. SASS, the machine's own instructions, takes
a disassembler of the CUDA toolkit; none of the three takes a device.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path

from tilewright.errors import CompileError, DeviceError
from tilewright.model import Binary, Device, Source
from tilewright.targets.cuda import nvrtc

STAGES = ("cuda", "ptx", "sass")
DISASSEMBLERS = (("nvdisasm", "--print-code"), ("cuobjdump", "--dump-sass"))
TOOLKIT = "/usr/local/cuda/bin"
"""Where the toolkit puts its programs, which need not be on the search path."""
PATIENCE = 120.0


def program(source: Source) -> str:
    """The program with its definitions on top; its headers are named, not included."""
    defines = "".join(f"#define {name} {value}\n" for name, value in source.defines)
    return f"{defines}\n{source.text}" if defines else source.text


def ptx(source: Source, device: Device) -> str:
    """The program in PTX. Raises ``CompileError``, and ``DeviceError`` when there is no NVRTC."""
    reason = nvrtc.compiler_missing()
    if reason is not None:
        raise DeviceError(reason)
    from cuda.bindings import nvrtc as library

    made = nvrtc.check_nvrtc(
        library.nvrtcCreateProgram(
            source.text.encode(),
            f"{source.entry}.cu".encode(),
            len(source.headers),
            [text.encode() for _, text in source.headers],
            [name.encode() for name, _ in source.headers],
        )
    )
    try:
        told = [option.encode() for option in nvrtc.options(source, device)]
        if library.nvrtcCompileProgram(made, len(told), told)[0]:
            errors = nvrtc.first_errors(nvrtc.log(source, device))
            raise CompileError(f"NVRTC refused {source.entry} for {device.features}: {errors}")
        text = bytearray(nvrtc.check_nvrtc(library.nvrtcGetPTXSize(made)))
        nvrtc.check_nvrtc(library.nvrtcGetPTX(made, text))
    finally:
        library.nvrtcDestroyProgram(made)
    return text.rstrip(b"\0").decode(errors="replace")


def disassembler() -> tuple[str, str] | None:
    """The path of a disassembler and its option for code; None where there is none.

    Looked for on the search path, in the toolkit, and in NVIDIA's Python packages.
    """
    places = (None, TOOLKIT, *packaged())
    for name, option in DISASSEMBLERS:
        path = next((found for place in places if (found := shutil.which(name, path=place))), None)
        if path is not None:
            return path, option
    return None


def packaged() -> list[str]:
    """Folders of programs that NVIDIA's Python packages bring, newest first: ``nvidia/cu13/bin``."""
    # A namespace that several packages share: it has folders and no file of its own.
    found = importlib.util.find_spec("nvidia")
    roots = found.submodule_search_locations if found else None
    return [str(path) for root in roots or () for path in sorted(Path(root).glob("cu*/bin"), reverse=True)]


def sass(binary: Binary) -> str:
    """A binary's instructions. Raises ``DeviceError`` without a disassembler or when it fails."""
    found = disassembler()
    if found is None:
        names = " nor ".join(name for name, _ in DISASSEMBLERS)
        raise DeviceError(
            f"stage 'sass' needs a disassembler, and neither {names} is here: both come with the "
            "CUDA toolkit, nvdisasm with pip install 'tilewright[cuda]' too; the stages cuda and ptx "
            "need neither"
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{binary.entry}.cubin"
        file.write_bytes(binary.code)
        try:
            done = subprocess.run(
                [found[0], found[1], str(file)], capture_output=True, text=True, timeout=PATIENCE, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DeviceError(f"{found[0]} does not run: {error}") from error
    if done.returncode:
        raise DeviceError(f"{found[0]} failed: {(done.stderr.strip() or 'no reason given').splitlines()[-1]}")
    return done.stdout
