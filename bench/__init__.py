"""Batched small products side by side: ``bench.compare`` measures, ``bench.summary`` reads."""
