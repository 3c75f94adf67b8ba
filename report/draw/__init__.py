"""Drawing with matplotlib: style, placement of labels, the kinds of plots that several experiments share."""
