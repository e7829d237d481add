"""What a kernel is made of and what bounds it; what the command does says ``options``.

``rooflines``      operations and bytes of a product, and the speed that a device allows
``instructions``   machine code by classes of instructions, and the loop that does the work
``occupancy``      how many blocks and warps an SM holds
``kernel``         the kernel that dispatch chooses, compiled, and all of that of it
``profiler``       what Nsight Compute measures of it
``child``          the process that it watches: launches the kernel
``options``        the command line: the device, the problems
``report``         a kernel on the screen
"""
