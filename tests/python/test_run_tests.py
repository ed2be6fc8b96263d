"""What `make check` prints when tests fail: ctest's summary, and behind it the end of what each of them printed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

RUN_TESTS = Path(__file__).parent.parent.parent / "scripts" / "run-tests"


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run(tests: str, *options: str) -> tuple[int, str, str]:
        """Exit status, output until the end of ctest's own, and what follows it."""
        (tmp_path / "CTestTestfile.cmake").write_text(tests)
        ended = subprocess.run(
            [sys.executable, str(RUN_TESTS), str(tmp_path), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        before, mark, behind = ended.stdout.partition("\n====")
        return ended.returncode, before, mark[1:] + behind

    return run


def test_where_all_pass_nothing_follows_the_summary(run: Run) -> None:
    tests = """
add_test(passes true)
add_test(skips sh -c "echo no GPU; exit 77")
set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
"""
    status, before, behind = run(tests)
    assert (status, behind) == (0, "")
    assert "100% tests passed, 0 tests failed out of 2" in before


def test_the_end_of_what_failed_is_printed_last(run: Run) -> None:
    tests = """
add_test(counts sh -c "seq 100; echo the reason; exit 3")
add_test(short sh -c "echo '<&>' >&2; exit 1")
add_test(passes sh -c "echo nobody reads this")
add_test(silent false)
"""
    status, before, behind = run(tests, "-j2")
    assert status == 8  # ctest's own
    assert "The following tests FAILED:" in before
    numbers = "\n".join(map(str, range(62, 101)))
    assert f"the last 40 of the 101 lines that it printed:\n{numbers}\nthe reason\n\n==== short failed after " in behind
    assert " s; it printed:\n<&>\n\n==== silent failed after " in behind
    assert behind.endswith(" s; it printed nothing\n")
    assert "passes" not in behind and "nobody" not in behind


def test_of_a_long_output_the_end_is_kept(run: Run) -> None:
    status, _, behind = run('add_test(long sh -c "seq 200000; echo the reason; exit 1")')
    assert status == 8
    assert behind.endswith("\n199999\n200000\nthe reason\n")


def test_what_was_not_run_is_told(run: Run) -> None:
    tests = """
add_test(missing ./nowhere)
add_test(sets_up false)
add_test(needs true)
set_tests_properties(sets_up PROPERTIES FIXTURES_SETUP something)
set_tests_properties(needs PROPERTIES FIXTURES_REQUIRED something)
add_test(disabled true)
set_tests_properties(disabled PROPERTIES DISABLED TRUE)
"""
    status, _, behind = run(tests)
    assert status == 8
    assert "==== missing was not run: Unable to find executable" in behind
    assert "==== needs was not run: Fixture dependency failed" in behind
    assert "disabled" not in behind


def test_a_limit_that_was_passed_shows(run: Run) -> None:
    tests = """
add_test(hangs sh -c "echo waiting; sleep 100")
set_tests_properties(hangs PROPERTIES TIMEOUT 1)
"""
    status, before, behind = run(tests)
    assert status == 8
    assert "(Timeout)" in before
    assert behind.startswith("==== hangs failed after 1.") and behind.endswith("it printed:\nwaiting\n")


def test_where_all_fail_the_first_ones_are_shown(run: Run) -> None:
    status, _, behind = run("\n".join(f'add_test(t{i:02} sh -c "echo of {i}; exit 1")' for i in range(23)))
    assert status == 8
    assert behind.count("==== t") == 20
    assert behind.endswith("\nof 19\n\n==== 3 more failed: t20 t21 t22\n")


def test_nothing_is_run_again_and_options_are_ctests(run: Run, tmp_path: Path) -> None:
    tests = f"""
add_test(fails sh -c "echo ran >>{tmp_path}/ran; exit 1")
add_test(passes sh -c "echo ran >>{tmp_path}/ran")
"""
    assert run(tests)[0] == 8
    assert (tmp_path / "ran").read_text() == "ran\n" * 2
    # What an earlier run has left is not told as of this one.
    assert run(tests, "-R", "passes")[::2] == (0, "")
    status, _, behind = run(tests, "--test-dir", "/nowhere")
    assert status not in (0, 8) and behind == ""
    assert run(tests, "--rerun-failed")[0] == 8


def test_files_are_where_tmpdir_says_and_else_in_memory_while_the_tests_run(tmp_path: Path) -> None:
    (tmp_path / "CTestTestfile.cmake").write_text(
        'add_test(tells sh -c [[echo "$TMPDIR" >told; ls -d "$TMPDIR" >there]])\n'
    )
    others = {name: value for name, value in os.environ.items() if name != "TMPDIR"}

    def told(environment: dict[str, str]) -> str:
        subprocess.run(
            [sys.executable, str(RUN_TESTS), str(tmp_path)], env=environment, stdout=subprocess.DEVNULL, check=False
        )
        assert (tmp_path / "there").read_text() == (tmp_path / "told").read_text().lstrip("\n")
        return (tmp_path / "told").read_text().strip()

    assert told({**others, "TMPDIR": str(tmp_path)}) == str(tmp_path)
    folder = told(others)
    if not folder:
        pytest.skip("there is no room in memory here")
    assert folder.startswith("/dev/shm/mneme-")
    assert not Path(folder).exists()
