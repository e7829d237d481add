"""One-line slips, and whether the tests see them: ``python -m bench.mutants``."""
