"""The documentation of the package: its examples run, and the reference names what there is."""

from __future__ import annotations

import doctest
import importlib
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDES = [path for path in sorted((ROOT / "docs/guide").glob("*.md")) if "    >>> " in path.read_text()]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_the_examples_of_a_guide(
    guide: Path, recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(recordings, tmp_path / "record-db")
    monkeypatch.chdir(tmp_path)

    failed, tried = doctest.testfile(str(guide), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tried > 0
    assert failed == 0


def test_the_reference_names_what_there_is() -> None:
    reference = (ROOT / "docs/reference/python.md").read_text()
    told = set(re.findall(r"^\| `([\w.]+)`", reference, re.M))
    modules = ["mneme", "mneme.llvm", "mneme.tune", "mneme.report"]
    there = {
        name if module == "mneme" else f"{module}.{name}"
        for module in modules
        for name in importlib.import_module(module).__all__
    }
    assert told == there - {"__version__"}
