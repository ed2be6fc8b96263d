"""The help of the commands that the package brings: as `mneme NAME --help` of the others, with examples first."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any


class Parser(argparse.ArgumentParser):
    """A parser whose help begins with what the command does and with examples, each a line and what it is for.

    >>> parser = Parser("Draws.", [("mneme draw a", "one file")], prog="mneme draw", usage="mneme draw FILE")
    >>> print(parser.format_help())  # doctest: +ELLIPSIS
    Draws.
    <BLANKLINE>
    Examples:
      # one file
      mneme draw a
    <BLANKLINE>
    usage: mneme draw FILE
    ...
    """

    def __init__(self, summary: str, examples: Sequence[tuple[str, str]], **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **options)
        lines = [f"  # {purpose}\n  {line}\n" for line, purpose in examples]
        self._begin = f"{summary.strip()}\n\nExamples:\n{''.join(lines)}\n"
        self.add_argument("--help-all", action="help", help="the same: every option has an effect here")

    def format_help(self) -> str:
        """What --help prints."""
        return self._begin + super().format_help()
