"""The documentation as a web site that needs no network:  sphinx-build -W docs OUTPUT"""

project = "rung"
author = copyright = "The rung authors"
extensions = ["myst_parser"]
html_theme = "furo"
html_show_sphinx = False
html_copy_source = False
exclude_patterns = ["_build"]
myst_heading_anchors = 3
