"""NVIDIA GPUs: what they are, CUDA C++ made into code for them, memory, launches and time.

NVRTC and the driver are reached through NVIDIA's Python bindings (the extra ``cuda``), which are imported on
first use: without them, without the libraries, or without a device, ``devices.missing`` says why and nothing
else happens. Compiling needs NVRTC alone, and no device.
"""
