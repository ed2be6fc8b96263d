"""Files of a run: whole or not at all, and what is said where the system refuses one."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mneme.errors import IoError


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """What the system refuses within it becomes an IoError with the file and the reason."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        raise IoError(f"results of tuning, {error.filename or path}: {reason}") from error


def write_json(path: Path, value: Any) -> None:
    """Whole, or not at all. A link's target is written, and what is no file (a FIFO, /dev/null) as it is.

    Raises IoError.
    """
    text = json.dumps(value, indent=2) + "\n"
    with told(path):
        if path.is_symlink():
            path = Path(os.path.realpath(path))
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_text(text, encoding="utf-8")
            return
        temporary = path.with_name(path.name + ".tmp")
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
