"""Few kernels for many problems: what each costs on each (``cells``), and which of them do (``cover``)."""
