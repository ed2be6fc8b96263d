"""One line that changes while something runs: in a notebook, on a terminal, or where neither is.

In a notebook it is output of the cell that began it, which an exported notebook keeps as it was last. On a terminal it
is drawn by rich, and without rich written over itself. Elsewhere a line is written now and then.
"""

from __future__ import annotations

import html
import shutil
import sys
import time
from typing import Any, Protocol, TextIO

from mneme._views import shown

EVERY = 10.0
"""Seconds between two lines where there is neither a terminal nor a notebook."""
_REDRAW = 0.1


class _Drawing(Protocol):
    every: float

    def draw(self, done: int, total: int | None, text: str) -> None: ...
    def close(self) -> None: ...


class Live:
    """A line of `title`, how much is done, and a text. One thread at a time.

    `stream`: by default standard error. `transient`: taken away at the end, for what comes then tells the same.
    """

    def __init__(self, title: str, stream: TextIO | None = None, *, transient: bool = False) -> None:
        self._title = shown(title, 60)
        self._stream = sys.stderr if stream is None else stream
        self._transient = transient
        self._drawing = self._best(transient)
        self._last: tuple[int, int | None, str] | None = None
        # A first line at once says that something runs; where each is kept, the first tells something.
        self._next = time.monotonic() + (EVERY if isinstance(self._drawing, _Lines) else 0.0)

    def update(self, done: int, total: int | None, text: str, *, now: bool = False) -> None:
        """Shows it, unless something was shown just before; `now`: in any case, where it is drawn."""
        self._last = (done, total, text)
        forced = now and not isinstance(self._drawing, _Lines)
        if forced or time.monotonic() >= self._next:
            self._next = time.monotonic() + self._drawing.every
            self._drawing.draw(*self._last)

    def close(self) -> None:
        """Shows how it ended, as far as it stays."""
        if self._last is not None and not (self._transient and isinstance(self._drawing, _Lines)):
            self._drawing.draw(*self._last)
        self._drawing.close()

    def _best(self, transient: bool) -> _Drawing:
        if self._stream is sys.stderr and in_notebook():
            return _Notebook(self._title)
        if not self._stream.isatty():
            return _Lines(self._title, self._stream)
        try:
            return _Rich(self._title, self._stream, transient)
        except ImportError:
            return _Overwritten(self._title, self._stream, transient)


def in_notebook() -> bool:
    """Whether what is displayed here goes to a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class _Notebook:
    every = 0.25

    def __init__(self, title: str) -> None:
        from IPython.display import display

        self._title = title
        show: Any = display
        self._handle = show(self._bundle(0, None, ""), raw=True, display_id=True)

    def draw(self, done: int, total: int | None, text: str) -> None:
        self._handle.update(self._bundle(done, total, text), raw=True)

    def close(self) -> None:
        pass

    def _bundle(self, done: int, total: int | None, text: str) -> dict[str, str]:
        title, said = html.escape(self._title), html.escape(text)
        bar = f'<progress value="{done}" max="{total}"></progress> ' if total else ""
        return {"text/plain": f"{self._title}: {text}", "text/html": f"<code>{title}</code> {bar}{said}"}


class _Rich:
    every = _REDRAW

    def __init__(self, title: str, stream: TextIO, transient: bool) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            TextColumn(escape(title)),
            BarColumn(24),
            TextColumn("{task.fields[text]}", markup=False),
            TimeElapsedColumn(),
            console=Console(file=stream),
            transient=transient,
        )
        self._task = self._bar.add_task(escape(title), total=None, text="starting")
        self._bar.start()

    def draw(self, done: int, total: int | None, text: str) -> None:
        self._bar.update(self._task, total=total, completed=done, text=text)

    def close(self) -> None:
        self._bar.stop()


class _Overwritten:
    every = _REDRAW

    def __init__(self, title: str, stream: TextIO, transient: bool) -> None:
        self._title, self._stream, self._transient = title, stream, transient

    def draw(self, done: int, total: int | None, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        line = f"{self._title}: {text}"
        self._write(line if len(line) <= width else line[: max(0, width - 1)] + "…")

    def close(self) -> None:
        self._write("" if self._transient else None)

    def _write(self, line: str | None) -> None:
        # To the begin of the line, which is then empty.
        self._stream.write("\n" if line is None else f"\r\x1b[K{line}")
        self._stream.flush()


class _Lines:
    every = EVERY

    def __init__(self, title: str, stream: TextIO) -> None:
        self._title, self._stream = title, stream

    def draw(self, done: int, total: int | None, text: str) -> None:
        print(f"{self._title}: {text}", file=self._stream, flush=True)

    def close(self) -> None:
        pass
