"""Entry of ``python -m report``."""

import sys

from report.cli import main

if __name__ == "__main__":
    sys.exit(main())
