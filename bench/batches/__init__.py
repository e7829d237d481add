"""Batches of small matrices on a GPU, beside what a user would call instead; what it does says ``commands``.

``problems``, ``points``     what is measured: layouts and batches, the kernels that take part
``seeds``, ``turns``         configs of a file; kernels in turns with the peer
``names``, ``result``        lines of results
``run``                      what commands share: tuner, copy, lines, the end of the time
``squares`` ... ``calls``    one command each, named like it
``summed``, ``figures``      lines in short, and drawn
``commands``, ``plan``       the command line; several commands in one process
"""
