"""Entry of ``python -m report.roofline``, which `rung roofline` starts."""

from report import entry
from report.roofline.arguments import parser


def main() -> int:
    return entry.run("rung roofline", parser, "report.roofline.command")


if __name__ == "__main__":
    entry.start("rung roofline", main)
