"""The reporter: reads result files, draws figures, typesets the document. It measures nothing.

The order of work is load → frozen dataclasses → derive → figure(records) → files → document.
"""
