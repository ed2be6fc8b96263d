"""Deploying: what searches have found becomes a file of code that programs run (`mneme run --tuned`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mneme import _native
from mneme.database import _path
from mneme.errors import InvalidArgumentError

__all__ = ["Deployed", "deploy"]


@dataclass(frozen=True)
class Deployed:
    """What became of one recorded launch of a folder of results."""

    folder: Path
    kernel: str
    """The kernel's name, demangled."""
    left_out: str | None
    """Why its code is not in the file; None: it is."""


def deploy(
    results: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    unconfirmed: bool = False,
    l2: str | None = None,
) -> list[Deployed]:
    """Writes what was found as code for the device it was found on, with its conditions and its evidence.

    Each winner is compiled as in its search and replayed on the recorded launches in this process; what is right is
    written. What no search has confirmed is measured in turn with the launch as recorded, and left out where it is not
    faster; so is all on a GPU in the states of its cache that the search has not measured. Where all is left out no
    file is written.

    Args:
        results: Folders of results of a sweep or a run of tuning, and files of earlier deployments, also of other GPUs.
            What comes later takes the place of what is for the same launches.
        output: The file.
        unconfirmed: Whether to deploy also what is not confirmed to be faster.
        l2: What launches find in the L2 cache in the program, where that is known: "as_it_comes", "cold" or "warm". It
            is measured in that state alone.

    Raises:
        InvalidArgumentError: What is given is no path.
        NotFoundError: A folder has no results, or its database is not there.
        UnavailableError: There is no device of the kind that was searched on.
        CorruptError: A file of an earlier deployment is damaged.

    >>> deployed = mneme.deploy(results, "app.tuned", unconfirmed=True)
    >>> [(one.kernel, one.left_out) for one in deployed]
    [('scale(int*, int, int)', None)]
    """
    if isinstance(results, (str, os.PathLike)):
        results = [results]
    if not isinstance(results, Iterable) or isinstance(results, (bytes, Mapping)):
        raise InvalidArgumentError(f"deploying: 'results' is to be a path or several, not {results!r}")
    named = [_path(path, "deploying: 'results'") for path in results]
    if not named:
        raise InvalidArgumentError("deploying: 'results' names no folder of results and no file")
    outcomes = _native.deploy(named, _path(output, "deploying: 'output'"), unconfirmed=unconfirmed, l2=l2)
    return [Deployed(Path(folder), kernel, reason or None) for folder, kernel, reason in outcomes]
