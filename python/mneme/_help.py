"""The help of the commands that the package brings: as `mneme NAME --help` of the others, with examples first."""

from __future__ import annotations

import argparse
import re
import shutil
import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn


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
        super().__init__(formatter_class=_Format, allow_abbrev=False, **options)
        self.summary, self.examples = summary.strip(), list(examples)
        self.add_argument("--help-all", action="help", help="the same: every option has an effect here")
        self.add_argument("--list-options", action=_Print, of=option_lines, help=argparse.SUPPRESS)
        self.add_argument("--manual-page", action=_Print, of=manual_page, help=argparse.SUPPRESS)

    def format_help(self) -> str:
        """What --help prints."""
        lines = [f"  # {purpose}\n  {line}\n" for line, purpose in self.examples]
        return f"{_filled(self.summary, _width())}\n\nExamples:\n{''.join(lines)}\n{super().format_help()}"

    def shown_actions(self) -> list[argparse.Action]:
        """What the help has."""
        return [action for action in self._actions if action.help != argparse.SUPPRESS]


def _width() -> int:
    """Columns that help has: $COLUMNS, else the terminal's, else 100."""
    return shutil.get_terminal_size((100, 0)).columns


def _filled(text: str, width: int) -> str:
    """Its paragraphs with lines as long as they may be. One with lines that begin with blanks keeps them, as a list."""
    paragraphs = text.strip().split("\n\n")
    return "\n\n".join(
        part if "\n  " in part else textwrap.fill(part, width, break_on_hyphens=False) for part in paragraphs
    )


class _Format(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_width())

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return _filled(text, width)


class _Print(argparse.Action):
    """Prints something of the parser, and exits."""

    def __init__(self, of: Any, **options: Any) -> None:
        super().__init__(nargs=0, default=argparse.SUPPRESS, **options)
        self._of = of

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(self._of(parser), end="")
        parser.exit()


def _about(action: argparse.Action, parser: Parser) -> str:
    return " ".join((action.help or "").replace("%%", "%").replace("%(prog)s", parser.prog).split())


def _choices(action: argparse.Action) -> list[str]:
    return [str(choice) for choice in action.choices or ()]


def _value(action: argparse.Action) -> str:
    return "" if action.nargs == 0 else str(action.metavar or "|".join(_choices(action)) or action.dest.upper())


def option_lines(parser: Parser) -> str:
    """For completion: of each option and argument its name, its value's, its choices and what it is for, with tabs.

    >>> print(option_lines(Parser("Draws.", [], prog="draw")).splitlines()[0].split("\\t"))
    ['--help', '', '', 'show this help message and exit']
    """
    lines = []
    for action in parser.shown_actions():
        names = [name for name in action.option_strings if name.startswith("--")]
        for name in names or re.findall(r"[A-Z]{2,}", str(action.metavar)):
            fields = name, _value(action), ",".join(_choices(action)), _about(action, parser)
            lines.append("\t".join(fields) + "\n")
    return "".join(lines)


# No character of a text is a request of troff's or changes its font.
_TROFF = str.maketrans({"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"})


def manual_page(parser: Parser) -> str:
    """The page of the manual, in troff as man(7) has it.

    >>> page = manual_page(Parser("Draws lines.", [("draw a", "one file")], prog="mneme draw"))
    >>> page.splitlines()[1:4]
    ['.SH NAME', 'mneme\\\\-draw \\\\- draws lines', '.SH SYNOPSIS']
    """
    from mneme._native import version

    def text(words: str) -> str:
        words = words.translate(_TROFF)
        return "\n".join("\\&" + line if line.startswith(".") else line for line in words.splitlines())

    name = text(parser.prog.replace(" ", "-"))
    first = " ".join(parser.summary.split()).split(". ")[0].rstrip(".")
    page = [f'.TH {name} 1 "" "Mneme {version}" "User Commands"', ".SH NAME"]
    page += [f"{name} \\- {text(first[0].lower() + first[1:])}"]
    page += [".SH SYNOPSIS", ".PP", text(" ".join(parser.format_usage().removeprefix("usage: ").split()))]
    page += [".SH DESCRIPTION", ".PP", text(parser.summary), ".SH EXAMPLES"]
    for line, purpose in parser.examples:
        page += [".PP", text(purpose[0].upper() + purpose[1:]) + ":", ".PP", ".RS 4", ".nf", text(line), ".fi", ".RE"]
    page.append(".SH OPTIONS")
    for action in parser.shown_actions():
        names, value = text(", ".join(action.option_strings)), text(_value(action))
        page += [".TP", f"\\fB{names}\\fR {value}" if names else value, text(_about(action, parser))]
    if parser.epilog:
        page += [".SH NOTES"]
        for paragraph in textwrap.dedent(parser.epilog).strip().split("\n\n"):
            page += [".PP", ".nf", text(paragraph), ".fi"] if "\n  " in paragraph else [".PP", text(paragraph)]
    return "\n".join([*page, ".SH SEE ALSO", ".PP", ".BR mneme (1)", ""])
