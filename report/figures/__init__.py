"""The figures. Each module has NAME, rows(study), caption(study, rows) and draw(study, rows).

rows() is what the figure shows and what its CSV holds; no rows, no figure. Only draw() needs matplotlib.
"""
