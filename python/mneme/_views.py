"""How values show themselves: a table as text, in a notebook and to rich."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table as RichTable


class Table:
    """Rows of text under a title."""

    def __init__(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.title = title
        self.columns = columns
        self.rows = rows

    def text(self) -> str:
        """With columns as wide as they need."""
        lines = [self.columns, *self.rows] if any(self.columns) else self.rows
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        shown = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
        return "\n".join([self.title, *("  " + line for line in shown if self.rows)])

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
    """A number of bytes for people.

    >>> size(160000)
    '156 KiB'
    """
    value, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.3g} {units[0]}" if units[0] != "B" else f"{count} B"


def duration(nanoseconds: float) -> str:
    """A time for people.

    >>> duration(1234.5), duration(2.5e6)
    ('1.23 µs', '2.5 ms')
    """
    value, units = float(nanoseconds), ["ns", "µs", "ms", "s"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.3g} {units[0]}"


def extent(three: tuple[int, int, int]) -> str:
    """A grid or a block.

    >>> extent((313, 1, 1))
    '313x1x1'
    """
    return "x".join(str(one) for one in three)
