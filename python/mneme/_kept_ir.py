"""IR in place of the recorded one, kept in files that their content names."""

from __future__ import annotations

import contextlib
import os
import tempfile

from mneme import _native
from mneme.errors import InvalidArgumentError, IoError


def folder() -> str:
    """Where it is kept: no cache, since logs and best configurations name what is in it."""
    if explicit := os.environ.get("MNEME_IR_DIR"):
        return os.path.abspath(explicit)
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(os.path.abspath(data), "mneme", "ir")


def keep(bitcode: bytes) -> tuple[str, str]:
    """The file's path, and the digest of its content. Any number of processes may keep the same at once."""
    if not isinstance(bitcode, bytes):
        raise InvalidArgumentError(f"configuration: the module's bitcode() gave no bytes, but {type(bitcode).__name__}")
    digest = _native.digest_of(bitcode)
    where = folder()
    path = os.path.join(where, f"{digest}.bc")
    try:
        if os.path.exists(path) and os.path.getsize(path) == len(bitcode):
            return path, digest
        os.makedirs(where, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=where, suffix=".new")
        try:
            with open(descriptor, "wb") as file:
                file.write(bitcode)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as failure:
        raise IoError(
            f"keeping the IR of a configuration in {where} (MNEME_IR_DIR names another folder): {failure}"
        ) from failure
    return path, digest
