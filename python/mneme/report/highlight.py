"""Code as HTML, line by line, coloured by Pygments."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from mneme._views import MOST, shown

LEXERS = {"llvm": "llvm", "ptx": "ptx", "asm": "gas", "sass": "text"}


def lines(language: str, text: Sequence[str]) -> list[Markup]:
    """Each line escaped, with its words in spans of a class for each kind of word.

    >>> str(lines("sass", ["a<b"])[0])
    'a&lt;b'
    """
    lexer = get_lexer_by_name(LEXERS.get(language, "text"), stripnl=False, ensurenl=True)
    coloured = highlight(
        "\n".join(shown(line.expandtabs(4), MOST) for line in text), lexer, HtmlFormatter(nowrap=True)
    ).split("\n")
    return [Markup(line) for line in coloured[: len(text)]]
