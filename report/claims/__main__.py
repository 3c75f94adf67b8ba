"""Entry of ``python -m report.claims``, which `rung claims` starts."""

from report import entry
from report.claims.arguments import parser


def main() -> int:
    return entry.run("rung claims", parser, "report.claims.command")


if __name__ == "__main__":
    entry.start("rung claims", main)
