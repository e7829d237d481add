"""A small interpreter of PTX: kernels run without a GPU, to be checked, not to be fast.

It takes the PTX that NVRTC writes for a stencil, and runs it warp by warp on the operands in this
process's memory. What hardware leaves open is resolved against the kernel, so that what is not waited
for goes wrong each time and not once in a thousand launches:

    warps    one runs until it cannot go on; which of those that can comes next is part of a ``Schedule``
    copies   to shared memory happen as late as their waits allow, or at once: part of it too
    memory   shared memory and registers begin as NaN; an access outside an operand, or one that is not
             aligned to its size, is a ``Fault``
    order    so is an access to what another lane of the warp wrote or read with no barrier between them, and
             a bulk copy of what no fence has made visible to it

``ptx`` reads the text, ``memory`` holds the bytes, ``races`` knows who touched them last, ``arithmetic``,
``accesses``, ``barriers``, ``asynchronous`` (copies) and ``tensor`` are the instructions, ``compiler`` makes
functions of them, ``machine`` runs warps, ``launch`` all blocks of a grid, and ``products`` runs a stencil on
the operands of a problem.
"""
