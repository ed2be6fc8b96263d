"""Ctrl-C: what is measured ends at once, and what is kept of it is written whole."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class OneInterrupt:
    """Within it Ctrl-C, or SIGTERM where a function handles that, does what it did before until it has raised once.

    Then, and after `close`, neither does anything. On another thread than the main one nothing changes.
    """

    def __init__(self) -> None:
        """Nothing changes before it is entered."""
        self._open = True
        self._before: dict[int, Any] = {}

    def __enter__(self) -> OneInterrupt:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                if callable(handler):
                    self._before[number] = handler
                    signal.signal(number, self._hear)
        return self

    def close(self) -> None:
        """From here on nothing is interrupted."""
        self._open = False

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if not self._open:
            return
        try:
            self._before[number](number, frame)
        except BaseException:
            self._open = False
            raise
