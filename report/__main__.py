"""Entry of ``python -m report``."""

import gc
import sys

gc.disable()  # a report is made in seconds from what is loaded first; looking for garbage takes a tenth of them

from report.faults import print_anything

print_anything()

try:
    from report.cli import main
except ModuleNotFoundError as error:
    if (error.name or "").startswith("report"):
        raise
    # The results are what counts, and they are on the disk: say how to render them, here or elsewhere.
    print(f"report: the Python package '{error.name}' is missing, so nothing was rendered.")
    print("Later, or on another machine: pip install -r report/requirements.txt, then the same `python -m report …`.")
    sys.exit(0)

if __name__ == "__main__":
    sys.exit(main())
