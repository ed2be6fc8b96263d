"""Ctrl-C: what is measured ends at once, and what is kept of it is written whole."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class OneInterrupt:
    """Within it Ctrl-C, or SIGTERM where a function handles that, waits; between `open` and `close` it is heard.

    Heard, it does what it did before, until it has raised once: then others wait again, as after `close`. What has
    waited is heard by the next `open`, or by nobody where there is none. On another thread than the main one nothing
    changes.
    """

    def __init__(self) -> None:
        """Nothing changes before it is entered."""
        self._open = False
        self._waiting: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> OneInterrupt:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                if callable(handler):
                    self._before[number] = handler
                    signal.signal(number, self._hear)
        return self

    def open(self) -> None:
        """Raises what one that has waited raises."""
        self._open = True
        number, self._waiting = self._waiting, None
        if number is not None:
            self._hear(number, None)

    def close(self) -> None:
        """From here on nothing is interrupted."""
        self._open = False

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if not self._open:
            self._waiting = number
            return
        try:
            self._before[number](number, frame)
        except BaseException:
            self._open = False
            raise
