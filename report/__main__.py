"""Entry of ``python -m report``."""

import gc
import sys

from report.faults import print_anything, say
from report.surroundings import settle

if __name__ == "__main__":
    settle()
gc.disable()  # a report is made in seconds from what is loaded first; looking for garbage takes a tenth of them
print_anything()

try:
    from report.cli import main
except MemoryError:
    say("there is not enough memory to start with")
    sys.exit(4)
except ImportError as error:
    if (error.name or "").startswith("report"):
        raise
    if not isinstance(error, ModuleNotFoundError):
        say(f"a Python package cannot be loaded: {str(error)[:300]}")
        sys.exit(4)
    # The results are what counts, and they are on the disk: say how to render them, here or elsewhere.
    print(f"report: the Python package '{error.name}' is missing, so nothing was rendered.")
    print("Later, or on another machine: pip install -r report/requirements.txt, then the same `python -m report …`.")
    sys.exit(0)

if __name__ == "__main__":
    sys.exit(main())
