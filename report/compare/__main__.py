"""Entry of ``python -m report.compare``, which `rung compare` starts."""

import signal
import sys
from pathlib import Path

from report.compare.arguments import parser
from report.faults import print_anything, say
from report.surroundings import settle

PROGRAM = "rung compare"
REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements.txt"


def main() -> int:
    parser().parse_args()  # help and wrong usage end here, whatever is installed
    try:
        from report.compare import command
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name == "report":
            raise
        say(f"the Python package '{name}' is missing: "
            f"{'it needs Python 3.11 or later' if name == 'tomllib' else f'pip install -r {REQUIREMENTS}'}", PROGRAM)
        return 2
    except (ImportError, MemoryError) as error:
        say(f"a Python package cannot be loaded: {error or 'there is not enough memory'}", PROGRAM)
        return 2
    return command.main()


if __name__ == "__main__":
    settle(PROGRAM, 2)
    print_anything()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `rung compare A B | head` ends without a word
    sys.exit(main())
