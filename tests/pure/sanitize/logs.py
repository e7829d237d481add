"""The stencils that are checked, and logs of the tools that check them."""

from __future__ import annotations

from tilewright.catalog import STENCILS

CUDA = {name: stencil for name, stencil in STENCILS.items() if stencil.target == "cuda"}

NAMES = ["tiny_d_nn_3_0", "tiny_d_nn_3_0_early", "naive_1"]

CLEAN = {
    "memcheck": "========= ERROR SUMMARY: 0 errors\n",
    "racecheck": "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n",
}

OUTSIDE = (
    "========= Invalid __global__ read of size 8 bytes\n"
    "=========     at tiny_d_nn_3_0_early+0x2d0\n"
    "=========     by thread (31,0,0) in block (4,0,0)\n"
    "=========     Access at 0x7f0000000400 is out of bounds\n"
    "=========     Saved host backtrace up to driver entry point at kernel launch time\n"
    "=========         Host Frame: cuLaunchKernel in libcuda.so.1\n"
    "=========\n"
)

RACE = (
    "========= Error: Race reported between Write access at tiny_d_nn_3_0(Gemm)+0x1b0\n"
    "=========     and Read access at tiny_d_nn_3_0(Gemm)+0x2f0 [64 hazards]\n"
    "========= \n"
)

FOUND = {
    "memcheck": (OUTSIDE, "========= ERROR SUMMARY: 1 error\n", NAMES[1]),
    "racecheck": (
        RACE,
        "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n",
        NAMES[0],
    ),
}

TOOLS = list(FOUND)


def log_of(*parts: str, without: str = "", wrong: str = "") -> str:
    """A log: all kernels were launched but ``without``, all are right but ``wrong``; then these parts."""
    said = {name: "right" if name != wrong else "3 of 9 differ" for name in NAMES if name != without}
    launched = "".join(f"launched {name}: {result}\n" for name, result in said.items())
    return "========= COMPUTE-SANITIZER\n" + launched + "".join(parts)
