"""The documentation of the package: its examples run, and the reference names what there is."""

from __future__ import annotations

import doctest
import importlib
import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDES = [path for path in sorted((ROOT / "docs/guide").glob("*.md")) if "    >>> " in path.read_text()]
# What a guide calls by the names of the launch that it has recorded itself, and the launch of the tests otherwise.
RECORDED_ELSEWHERE = {
    "tune": {'["matvec"]': '["scale"]', '["rows"]': '["n"]', "buffer: y, type: f64": "buffer: data, type: i32"}
}


def text_of(guide: Path) -> str:
    text = guide.read_text()
    for printed, here in RECORDED_ELSEWHERE.get(guide.stem, {}).items():
        assert printed in text, printed
        text = text.replace(printed, here)
    return text


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_the_examples_of_a_guide(
    guide: Path, recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(recordings, tmp_path / "record-db")
    monkeypatch.chdir(tmp_path)

    text = text_of(guide)
    test = doctest.DocTestParser().get_doctest(text, {}, guide.stem, str(guide), 0)
    assert test.examples
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0


@pytest.mark.parametrize("name", ["tune.yaml", "joined.yaml"])
def test_a_file_of_the_guide_to_tuning(recordings: Path, tmp_path: Path, name: str) -> None:
    (printed,) = re.findall(rf"^    # {name}\n((?:    .*\n)+)", text_of(ROOT / "docs/guide/tune.md"), re.M)
    file = tmp_path / name
    file.write_text(textwrap.dedent(printed))
    words = [recordings, "--search", file, "--device", "cpu", "--trials", "12", "--seed", "1", "--results-dir", "r"]
    done = subprocess.run(
        [sys.executable, "-m", "mneme.tune", *map(str, words), "--quiet", "--confirm", "5", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    failures = json.loads(done.stdout)["failures"]
    assert failures == {}, failures


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


def test_microseconds_are_written_one_way() -> None:
    """``us`` everywhere: there are two micro signs, and not every terminal shows them."""
    kinds = {".cc", ".h", ".py", ".md", ".html", ".ipynb", ".json", ".sh", ".cu"}
    folders = [ROOT / folder for folder in ("mneme", "python", "docs", "examples", "bench")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in kinds and path.is_file()]
    assert len(files) > 100
    signs = re.compile("[\u00b5\u03bc]s")
    assert [path for path in files if signs.search(path.read_text(encoding="utf-8", errors="replace"))] == []
