"""Entry of ``python -m report.compare``, which `rung compare` starts."""

from report import entry
from report.compare.arguments import parser


def main() -> int:
    return entry.run("rung compare", parser, "report.compare.command")


if __name__ == "__main__":
    entry.start("rung compare", main)
