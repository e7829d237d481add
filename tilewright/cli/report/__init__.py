"""Pages of what the records hold: ``pages`` writes one, ``solved`` says what won, ``gather`` what a page
shows, ``packing`` how tries are spelled in it, ``markup`` how it becomes text, ``sources``, ``peers`` and
``differences`` what is read beside this user's store, and two sets of records beside each other. ``assets``
are the pages' own files."""
