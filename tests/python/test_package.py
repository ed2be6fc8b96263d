"""What holds of the package as a whole."""

import doctest
import importlib
import importlib.util
import os
import pathlib
import pkgutil
import re
import subprocess
import sys
from typing import Any

import mneme
import mneme.report
import mneme.tune.extras
import pytest

MODULES = ["mneme", *(info.name for info in pkgutil.walk_packages(mneme.__path__, "mneme."))]


def test_version_is_that_of_the_project() -> None:
    project = pathlib.Path(__file__).parents[2].joinpath("pyproject.toml").read_text()
    assert re.findall(r'^version = "(.*)"$', project, re.MULTILINE) == [mneme.__version__]


@pytest.mark.parametrize(("extra", "told"), [("tune", mneme.tune.extras.TUNE), ("report", mneme.report.EXTRA)])
def test_the_packages_of_an_extra_are_told_by_name(extra: str, told: str) -> None:
    project = pathlib.Path(__file__).parents[2].joinpath("pyproject.toml").read_text()
    (line,) = re.findall(rf"^{extra} = \[(.*)\]$", project, re.MULTILINE)
    names = re.findall(r'"([\w-]+)', line)
    assert told == f"{' '.join(names)}, the extra '{extra}' of Mneme"


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str, example: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in finder.find(importlib.import_module(name), extraglobs=example):
        os.chdir(tmp_path_factory.mktemp("example"))
        assert runner.run(test).failed == 0, test.name


def test_importing_it_imports_nothing_heavy() -> None:
    code = "import mneme, sys; print(*(m for m in ('numpy', 'rich', 'optuna', 'pandas', 'plotly') if m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_what_there_is() -> None:
    assert set(mneme.__all__) <= set(dir(mneme))
    with pytest.raises(AttributeError, match="module 'mneme' has no attribute 'databse'"):
        mneme.databse  # noqa: B018


def test_the_extension_exports_nothing_but_its_entry() -> None:
    listed = ["nm", "-D", "--defined-only", "--format=just-symbols", str(mneme._native.__file__)]
    assert subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split() == ["PyInit__native"]


@pytest.mark.parametrize("other", ["numpy", "pandas", "pyarrow", "torch"])
def test_another_package_is_imported_after_it_and_before_it(other: str) -> None:
    if not importlib.util.find_spec(other):
        pytest.skip(f"there is no {other}")
    for code in (f"import mneme._native, {other}", f"import {other}, mneme._native"):
        done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, f"{code}: {done.stderr}"
