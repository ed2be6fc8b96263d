"""How values show themselves: a table as text, in a notebook and to rich."""

from __future__ import annotations

import dataclasses
import html
import re
import textwrap
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from mneme import _native

if TYPE_CHECKING:
    from rich.table import Table as RichTable

MOST = 2000
"""Characters of a text from outside that are shown, where its place does not say fewer."""

_PLAIN = re.compile("[ -~]*")


def shown(text: str, most: int = 0) -> str:
    """Text that comes from a file, a program or a command line, as people may see it: what controls a terminal, turns
    the reading direction or is no text is escaped. It is cut after `most` characters; 0: not at all.

    >>> shown("a\\x1b[2Jb\\n"), shown("abcdefgh", 6)
    ('a\\\\x1b[2Jb\\\\n', 'abc...')
    """
    if _PLAIN.fullmatch(text) and not 0 < most < len(text):
        return text
    return _native.shown(text.encode("utf-8", "surrogatepass"), most)


def shown_lines(text: str) -> str:
    """The same of a text of several lines, whose line feeds and tabulators stay."""
    return _native.shown_lines(text.encode("utf-8", "surrogatepass"))


def shown_message(text: str) -> str:
    """The same of a message of Mneme's: further lines begin with blanks, and none is longer than is sensible."""
    return _native.shown_message(text.encode("utf-8", "surrogatepass"))


class Table:
    """Rows of text under a title."""

    def __init__(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.title = shown(title, MOST)
        self.columns = columns
        self.rows = [[shown(cell, MOST) for cell in row] for row in rows]

    def text(self, width: int | None = None) -> str:
        """With columns as wide as they need. Where lines would be longer than `width`, the last column stands below the
        others, broken between words: nothing is cut.

        >>> print(Table("Best", ["RANK", "CONFIGURATION"], [["1", "block.x=32 passes=default<O1>"]]).text(width=30))
        Best
          RANK
              CONFIGURATION
          1
              block.x=32
              passes=default<O1>
        """
        if not self.rows:
            return self.title
        lines = [self.columns, *self.rows] if any(self.columns) else self.rows
        shown = _aligned(lines)
        if width is not None and max(map(len, shown)) > width:
            shown = [
                part
                for first, line in zip(_aligned([line[:-1] for line in lines]), lines)
                for part in (first, *_broken(line[-1], "      ", width))
            ]
        return "\n".join([self.title, *shown])

    def html(self) -> str:
        """For a notebook."""

        def row(cells: Sequence[str], tag: str) -> str:
            style = ' style="text-align:left"'
            return "<tr>" + "".join(f"<{tag}{style}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row(cells, "td") for cells in self.rows)
        return (
            f"<div><p>{html.escape(self.title)}</p>"
            f"<table><thead>{row(self.columns, 'th')}</thead><tbody>{body}</tbody></table></div>"
        )

    def rich(self) -> RichTable:
        """For rich, which asks for it only where it is there."""
        from rich.markup import escape
        from rich.table import Table as RichTable

        table = RichTable(title=escape(self.title), title_justify="left")
        for column in self.columns:
            table.add_column(escape(column))
        for cells in self.rows:
            table.add_row(*(escape(cell) for cell in cells))
        return table


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*lines)]
    return ["  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]


def _broken(text: str, indent: str, width: int) -> list[str]:
    """A word that is longer than a line stays whole, so that it can be copied."""
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


class Shown:
    """A value that shows itself as the table that `_table` gives: `repr`, `_repr_html_` and `__rich__`."""

    _table: Callable[[], Table]

    def __repr__(self) -> str:
        """As text."""
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()

    def __rich__(self) -> RichTable:
        """As rich shows it."""
        return self._table().rich()


def size(count: int) -> str:
    """A number of bytes for people, as the commands have it.

    >>> size(160000)
    '156 KiB'
    """
    return _native.format_bytes(count)


def duration(nanoseconds: float) -> str:
    """A time for people, as the commands have it.

    >>> duration(1234.5), duration(2.5e6)
    ('1.23 us', '2.50 ms')
    """
    return _native.format_time(nanoseconds)


def with_units(value: Any, times: Collection[str]) -> str:
    """The `repr` of a dataclass whose members of these names are nanoseconds, which are shown with their unit.

    >>> with_units(mneme.Progress(done=1, submitted=2, passed=2.5e9), {"passed"})[:33]
    'Progress(submitted=2, done=1, mea'
    """
    parts = []
    for field in dataclasses.fields(value):
        if field.repr:
            member = getattr(value, field.name)
            text = duration(member) if field.name in times and member is not None else repr(member)
            parts.append(f"{field.name}={text}")
    return f"{type(value).__name__}({', '.join(parts)})"


def extent(three: tuple[int, int, int]) -> str:
    """A grid or a block.

    >>> extent((313, 1, 1))
    '313x1x1'
    """
    return "x".join(str(one) for one in three)
