"""What holds of the package as a whole."""

import doctest
import importlib
import importlib.util
import inspect
import os
import pathlib
import pkgutil
import re
import subprocess
import sys
from typing import Any

import mneme
import mneme._help
import mneme._json
import mneme._views
import mneme.llvm._builder
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


class Finder(doctest.DocTestFinder):
    """Finds examples of functions that are wrapped, too."""

    def _from_module(self, module: Any, object: Any) -> bool:
        of_module: bool = super()._from_module(module, inspect.unwrap(object))  # type: ignore[misc]
        return of_module


def test_examples_of_wrapped_functions_are_found() -> None:
    found = {test.name for test in Finder().find(mneme.llvm._builder) if test.examples}
    assert {"mneme.llvm._builder.Builder.add", "mneme.llvm._builder.Builder.after"} <= found and len(found) > 50


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str, example: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    finder, runner = Finder(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in finder.find(importlib.import_module(name), extraglobs=example):
        os.chdir(tmp_path_factory.mktemp("example"))
        assert runner.run(test).failed == 0, test.name


def test_importing_it_imports_nothing_heavy() -> None:
    code = "import mneme, sys; print(*(m for m in ('numpy', 'rich', 'optuna', 'pandas', 'plotly') if m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


REPAIR = "pip uninstall mneme, then pip install --force-reinstall mneme-gpu"
OURS = pathlib.Path(__file__).parents[2] / "python"
# Where libmneme.so lies, which an extension that is linked to from elsewhere may look for beside the link.
LIBRARIES = os.path.dirname(re.findall(r" (/.*/libmneme\.so.*)", pathlib.Path("/proc/self/maps").read_text())[0])


def imported(place: pathlib.Path, code: str) -> subprocess.CompletedProcess[str]:
    """Runs Python code where packages are those in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(place), "LD_LIBRARY_PATH": LIBRARIES}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=place)


@pytest.mark.parametrize("code", ["import mneme_gpu", "from mneme_gpu import tune; tune()", "import mneme_gpu.report"])
def test_another_projects_package_in_its_place_is_said(tmp_path: pathlib.Path, code: str) -> None:
    (tmp_path / "mneme_gpu").symlink_to(OURS / "mneme_gpu")
    done = imported(tmp_path, code)
    assert "ImportError: importing mneme: there is no such package for " in done.stderr, done.stderr
    assert f", though mneme-gpu is: {REPAIR}" in done.stderr
    (tmp_path / "mneme").mkdir()
    (tmp_path / "mneme" / "__init__.py").write_text("raise SystemExit('it was imported')\n")
    done = imported(tmp_path, code)
    expected = f"ImportError: importing mneme: {tmp_path}/mneme is of another project, which pip install mneme brings: "
    assert done.returncode == 1 and expected + REPAIR in done.stderr, done.stderr
    script = "import sys; sys.argv = ['/opt/bin/mneme-tune']; import mneme_gpu"
    done = imported(tmp_path, script)
    assert (
        done.returncode == 1 and done.stderr.startswith("mneme: importing mneme: ") and "Traceback" not in done.stderr
    )


def test_another_projects_distribution_beside_it_is_said(tmp_path: pathlib.Path) -> None:
    (tmp_path / "mneme").mkdir()
    for path in pathlib.Path(mneme.__path__[0]).iterdir():
        (tmp_path / "mneme" / path.name).symlink_to(path)
    (tmp_path / "mneme_gpu-0.1.0.dist-info").mkdir()
    assert imported(tmp_path, "import mneme").stderr == ""
    (tmp_path / "mneme-0.3.0.dist-info").mkdir()
    done = imported(tmp_path, "import mneme")
    assert (
        done.returncode == 0 and "RuntimeWarning: importing mneme: mneme-0.3.0.dist-info lies beside it" in done.stderr
    )
    assert REPAIR in done.stderr


def test_its_distribution_is_not_named_as_another_projects() -> None:
    project = OURS.with_name("pyproject.toml").read_text()
    assert re.findall(r'^name = "(.*)"$', project, re.MULTILINE) == ["mneme-gpu"]
    assert "mneme-gpu[tune,report]" in project
    mneme_gpu = importlib.import_module("mneme_gpu")
    assert mneme_gpu.problem() == ""


def test_its_metadata_is_complete(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("scikit_build_core")
    code = "import sys; from scikit_build_core.build import prepare_metadata_for_build_wheel as make; make(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=OURS.parent,
        env={**os.environ, "MNEME_PREFIX": "/nowhere"},  # nothing is built
        check=True,
        capture_output=True,
    )
    (folder,) = tmp_path.glob("mneme_gpu-*.dist-info")
    head, _, description = (folder / "METADATA").read_text(encoding="utf-8").partition("\n\n")
    for line in (
        "Name: mneme-gpu",
        f"Version: {mneme.__version__}",
        "Summary: Record the GPU kernels of a real program and replay each alone",
        "Author: The authors of Mneme",
        "License-Expression: Apache-2.0 WITH LLVM-exception",
        "License-File: LICENSE",
        "Requires-Python: >=3.10",
        "Description-Content-Type: text/markdown",
        *(f"Classifier: Programming Language :: Python :: 3.{minor}" for minor in (10, 11, 12, 13)),
    ):
        assert line in head.splitlines(), line
    assert description.startswith("# Mneme\n")
    commands = (folder / "entry_points.txt").read_text().splitlines()
    assert {"mneme-tune = mneme_gpu:tune", "mneme-report = mneme_gpu:report"} <= set(commands)


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


def parser(summary: str, epilog: str = "") -> mneme._help.Parser:
    made = mneme._help.Parser(summary, [("draw a", "one file")], prog="draw", usage="draw [-q] FILE", epilog=epilog)
    made.add_argument("-q", "--quiet", action="store_true", help="says nothing")
    made.add_argument("file", metavar="FILE", help="what is drawn")
    return made


def test_completion_offers_long_names_and_what_stands_for_itself() -> None:
    lines = mneme._help.option_lines(parser("Draws.")).splitlines()
    assert [line.split("\t")[0] for line in lines] == ["--help", "--help-all", "--quiet", "FILE"]


def test_no_line_of_a_manual_page_is_taken_for_a_request() -> None:
    page = mneme._help.manual_page(parser("Draws.", "Its own are in\n.drawn, and others' too:\n  .a\n.b"))
    assert "\n\\&.drawn, and others\\(aq too:\n  .a\n\\&.b\n" in page
    requests = [line.split(" ")[0] for line in page.splitlines() if line.startswith(".")]
    assert set(requests) == {".TH", ".SH", ".PP", ".RS", ".nf", ".fi", ".RE", ".TP", ".BR"}


def test_help_fills_paragraphs_and_keeps_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = parser("Draws " + "a line and " * 6 + "no more.\n\nAs one of:\n  a square\n  a circle").format_help()
    first, second, _ = shown.split("\n\n", 2)
    assert len(first.splitlines()) == 2 and max(map(len, first.splitlines())) <= 40
    assert second == "As one of:\n  a square\n  a circle"


def test_each_code_of_an_error_has_its_exception() -> None:
    codes = {
        "invalid_argument": "InvalidArgumentError",
        "not_found": "NotFoundError",
        "unsupported": "UnsupportedError",
        "unavailable": "UnavailableError",
        "incompatible": "IncompatibleError",
        "corrupt": "CorruptError",
        "exhausted": "ExhaustedError",
        "io": "IoError",
        "device_fault": "DeviceFaultError",
        "timeout": "TimeLimitError",
        "internal": "InternalError",
        "of tomorrow": "InternalError",
    }
    assert {code: mneme.errors.of_code(code).__name__ for code in codes} == codes


def test_json_may_be_as_deep_as_is_said() -> None:
    deepest = mneme._json.DEEPEST
    mneme._json.loads("[[], " + "[" * (deepest - 1) + "]" * (deepest - 1) + "]")
    with pytest.raises(ValueError, match="nested deeper than 64"):
        mneme._json.loads("[" * (deepest + 1) + "]" * (deepest + 1))
    for begin, end in (("[", "]"), ('{"a": ', "}")):
        for deep in (deepest, deepest + 1):
            text = begin * deep + "1" + end * deep
            for written in (text, text.encode()):
                if deep == deepest:
                    mneme._json.loads(written)
                else:
                    with pytest.raises(ValueError, match="nested deeper than 64"):
                        mneme._json.loads(written)


def test_a_table_that_just_fits_has_a_line_for_each_row() -> None:
    table = mneme._views.Table("Best", ["RANK", "PASSES"], [["1", "default<O1>"]])
    longest = max(map(len, table.text().splitlines()))
    assert table.text(longest) == table.text() != table.text(longest - 1)


def test_a_table_whose_last_column_stands_below_has_all_others_in_a_line() -> None:
    rows = [["1", "20", "block.x=32 passes=default<O1>"], ["2", "5", "block.x=64"]]
    table = mneme._views.Table("Best", ["", "TIME", "CONFIGURATION"], rows)
    assert table.text().splitlines()[1] == "     TIME  CONFIGURATION"
    assert table.text(24).splitlines() == [
        "Best",
        "     TIME",
        "      CONFIGURATION",
        "  1  20",
        "      block.x=32",
        "      passes=default<O1>",
        "  2  5",
        "      block.x=64",
    ]


def test_a_text_is_cut_after_one_character() -> None:
    assert [mneme._views.shown("abc", most) for most in (0, 3, 4)] == ["abc"] * 3
    assert len(mneme._views.shown("a" * 50, 1)) < 10
