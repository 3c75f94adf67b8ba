"""Entry of ``python -m report.claims``, which `rung claims` starts."""

import sys

try:
    from report.claims.command import main
except ModuleNotFoundError as error:
    if (error.name or "").startswith("report"):
        raise
    print(f"rung claims: the Python package '{error.name}' is missing: pip install -r report/requirements.txt", file=sys.stderr)
    sys.exit(2)

if __name__ == "__main__":
    sys.exit(main())
