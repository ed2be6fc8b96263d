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
    """Whole, or not at all. Raises IoError."""
    temporary = path.with_name(path.name + ".tmp")
    with told(path):
        temporary.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
        os.replace(temporary, path)
