"""`rung roofline`: kernels of other programs, as profilers and other harnesses measured them, under measured roofs."""
