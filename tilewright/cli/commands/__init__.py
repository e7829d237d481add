"""The commands, a file for what they are about: ``looking`` problems and their plans, ``tuning`` searches,
``comparing`` other libraries beside, ``stores`` what is kept and handed on, ``pages`` of records, ``demo``
the main job. ``arguments`` is what several of them are asked, ``ceilings`` what some of them measure first.

Each command gathers plain data (``queries``) and then prints it: by ``render``, or with ``--json`` as it is.
"""
