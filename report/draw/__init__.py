"""Drawing with matplotlib: style, placement of labels, the kinds of plots that several experiments share.

What the user has set for plots of their own changes none of ours, and that a home folder cannot be written is no trouble
of a report's.
"""

import logging

from report.surroundings import without_settings_of_plots

logging.getLogger("matplotlib").setLevel(logging.ERROR)
with without_settings_of_plots():
    import matplotlib  # noqa: F401
