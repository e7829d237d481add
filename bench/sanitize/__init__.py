"""Every CUDA kernel under NVIDIA's compute-sanitizer; what it does says ``__main__``.

``job``                a kernel under its own name, and the product that it is launched on
``forms``, ``small``   jobs of large and of small products
``jobs``               all of them, in order
``child``, ``lists``   the process that launches them, and checks; what it launches ``grouped`` on
``tool``               compute-sanitizer over that process, and its log
"""
