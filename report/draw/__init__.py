"""Drawing with matplotlib: style, placement of labels, the kinds of plots that several experiments share.

What the user has set for plots of their own changes none of ours: the backend that a notebook names need not be
installed, and that a home folder cannot be written is no trouble of a report's.
"""

import logging
import os

os.environ.pop("MPLBACKEND", None)  # an unknown one fails when matplotlib is imported
logging.getLogger("matplotlib").setLevel(logging.ERROR)
