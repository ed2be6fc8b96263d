"""The example notebook runs, and is kept without what it showed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "tune.ipynb"
read: Any = nbformat.read


def test_it_runs(recordings: Path, tmp_path: Path) -> None:
    shutil.copytree(recordings, tmp_path / "record-db")
    notebook = read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=250, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert (tmp_path / "tuned" / "report.html").is_file()
    assert (tmp_path / "tuned" / "best.json").is_file()


def test_it_has_no_outputs() -> None:
    notebook = read(NOTEBOOK, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.outputs or cell.execution_count for cell in code] == [None] * len(code)
