"""The documentation as a web site that needs no network:  sphinx-build -W docs OUTPUT"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "rung"
author = copyright = "The rung authors"
extensions = ["myst_parser", "measured", "listed"]  # the last two are here
html_theme = "furo"
html_show_sphinx = False
html_copy_source = False
exclude_patterns = ["_build"]
myst_heading_anchors = 3
