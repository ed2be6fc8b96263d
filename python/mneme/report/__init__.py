"""One self-contained HTML page of what a tuning run or a sweep found.

`write` reads the folder of results that `mneme tune` or `mneme sweep` left; `mneme report RESULTS` does the same from a
shell. The page needs no network: everything, Plotly too, is in it, and its own policy forbids every request.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from mneme.errors import IoError, UnavailableError

__all__ = ["STAGES", "write"]

#: The stages of the compilation that the page compares (`mneme ir --stage`).
STAGES = ("optimised", "asm", "sass")

#: The packages of the extra "report" by name: they are on the index of Python's packages.
EXTRA = "plotly jinja2 pygments, the extra 'report' of Mneme"


def write(
    results: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    database: str | os.PathLike[str] | None = None,
    stages: Sequence[str] = STAGES,
) -> Path:
    """Writes the report of a folder of results, and returns where it is.

    `output` is the file; by default `report.html` in the folder. `stages` are those at which the code of the baseline
    and of the best configuration is compared, by `mneme ir` and from the database that the results name, or from
    `database` where it lies elsewhere now; where it is gone the page says so.

    Raises `mneme.errors.NotFoundError` where the folder has no results, `mneme.errors.CorruptError` where they cannot
    be read, `mneme.errors.UnavailableError` where the extra `report` is not installed, and
    `mneme.errors.IoError` where the page cannot be written.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "results.jsonl").write_text('{"mneme_log": 1, "about": {"static_hash": "5be9"}}\\n')
    >>> write(folder, stages=[]).name
    'report.html'
    """
    from mneme.results.run import read

    run = read(Path(results), database=None if database is None else Path(database))
    try:
        from mneme.report.page import html_of
    except ImportError as error:
        raise UnavailableError(f"writing a report: it needs {error.name}; pip install {EXTRA}") from error
    text = html_of(run, stages=stages)
    path = Path(output) if output is not None else Path(results) / "report.html"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise IoError(f"writing a report: {path}: {error.strerror}") from error
    return path
