"""Entry of ``python -m report.claims``, which `rung claims` starts."""

import signal
import sys
from pathlib import Path

from report.claims.arguments import parser
from report.faults import print_anything, say
from report.surroundings import settle

REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements.txt"


def main() -> int:
    parser().parse_args()  # help and wrong usage end here, whatever is installed
    try:
        from report.claims import command
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name == "report":
            raise
        remedy = "it needs Python 3.11 or later" if name == "tomllib" else f"pip install -r {REQUIREMENTS}"
        print(f"rung claims: the Python package '{name}' is missing: {remedy}", file=sys.stderr)
        return 2
    except (ImportError, MemoryError) as error:
        say(f"a Python package cannot be loaded: {error or 'there is not enough memory'}", "rung claims")
        return 2
    return command.main()


if __name__ == "__main__":
    settle("rung claims", 2)
    print_anything()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `rung claims | head` ends without a word
    sys.exit(main())
