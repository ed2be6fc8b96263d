"""The example notebook runs, and is kept without what it showed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "tune.ipynb"
read: Any = nbformat.read


def test_it_runs_and_runs_again(recordings: Path, tmp_path: Path) -> None:
    shutil.copytree(recordings, tmp_path / "record-db")
    for runs in (1, 2):
        notebook = read(NOTEBOOK, as_version=4)
        NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
        shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
        assert "ipywidgets" not in str(shown)  # what rich asks for where it is missing
        assert len(list(tmp_path.glob("tuned-*/report.html"))) == runs
        assert len(list(tmp_path.glob("tuned-*/best.json"))) == runs


def test_it_has_no_outputs() -> None:
    notebook = read(NOTEBOOK, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.outputs or cell.execution_count for cell in code] == [None] * len(code)
