"""Settings of the docs: `make docs` builds these pages and the reference from the docstrings."""

project = "Tilewright"
author = "The Tilewright developers"
copyright = "2026, the Tilewright developers"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
root_doc = "index"
html_theme = "furo"
html_title = "Tilewright"

# The pages are the same where there is no PyTorch.
autodoc_mock_imports = ["jax", "torch"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": False}

# Headings are link targets, so that pages may point into each other.
myst_heading_anchors = 3
# Pages link to files of the repository beside them, which are no part of the site.
suppress_warnings = ["myst.xref_missing"]
# Docstrings write names and code between double backticks and are no reStructuredText otherwise.
default_role = "code"
