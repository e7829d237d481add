"""The same calls under two checkouts of this project, in turns: what a change made of their speed.

``python -m bench.versions --other FOLDER`` starts one process that imports ``tilewright`` from this checkout
and one that imports it from FOLDER, and lets both time the same statements, sample by sample in turns. Only
the public interface is used, so that an older checkout can be compared.
"""
