"""`rung compare`: results of several runs, point by point: the same, faster, slower or undecided, and counts exactly."""
