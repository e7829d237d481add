"""Kernels as a library in C, for programs without Python: see ``library.export_kernels``."""
