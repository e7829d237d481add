"""Measurements for the record, each a command that writes JSON lines.

``compare`` sets batched small products beside other libraries, each in its own process, and ``summary``
reads what it wrote. ``bounds`` asks how near the limits of the machine they come, ``pruning`` and
``quality`` what the rules and the search lose, ``latency`` and ``threads`` what a call costs on one core and
on several. ``search`` replays searches on recorded spaces. ``shipped`` tunes what the package carries in
``tilewright/store/data``.
"""
