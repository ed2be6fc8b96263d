"""The line that shows how something goes on: on a terminal with rich and without, in a file, and in a notebook."""

import io
import sys
import types
from typing import Any

import mneme
import nbformat
import pytest
from mneme import _live
from mneme._live import Live
from mneme.progress import Bar
from mneme.tune import Study
from mneme.tune.shown.progress import Display
from nbclient import NotebookClient


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, *, transient: bool = False) -> str:
    live = Live("scale\x1b[2J", stream, transient=transient)
    live.update(1, 4, "1 of 4")
    live.update(2, 4, "2 of 4, <i>")
    live.update(4, 4, "4 of 4")
    live.close()
    return stream.getvalue()


def test_in_a_file_a_line_is_written_now_and_then_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(io.StringIO()) == "scale\\x1b[2J: 4 of 4\n"
    assert shown(io.StringIO(), transient=True) == ""
    monkeypatch.setattr(_live, "EVERY", 0.0)
    monkeypatch.setattr(_live._Lines, "every", 0.0)
    assert shown(io.StringIO(), transient=True).splitlines() == [
        "scale\\x1b[2J: 1 of 4",
        "scale\\x1b[2J: 2 of 4, <i>",
        "scale\\x1b[2J: 4 of 4",
    ]


def test_on_a_terminal_without_rich_it_is_written_over_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rich.console", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    text = shown(Terminal())
    assert text.startswith("\r\x1b[Kscale\\x1b[2J: 1 of 4\r\x1b[K") and text.endswith("scale\\x1b[2J: 4 of 4\n")
    assert text.count("\n") == 1
    assert shown(Terminal(), transient=True).endswith("\r\x1b[K")


def test_on_a_terminal_it_is_drawn_by_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    text = shown(Terminal())
    assert "4 of 4" in text and "scale\\x1b[2J" in text and "\x1b[2Jscale" not in text


def test_a_line_is_no_longer_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.setenv("COLUMNS", "20")
    terminal = Terminal()
    live = Live("scale", terminal)
    live.update(1, 4, "x" * 100)
    assert terminal.getvalue() == "\r\x1b[Kscale: xxxxxxxxxxx…"


@pytest.mark.parametrize(
    ("stream", "every", "first"), [(Terminal(), _live._REDRAW, True), (io.StringIO(), _live.EVERY, False)]
)
def test_a_line_is_drawn_no_more_often_than_it_is_read(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, every: float, first: bool
) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    now = 100.0
    monkeypatch.setattr(_live, "time", types.SimpleNamespace(monotonic=lambda: now))
    live = Live("scale", stream)
    drawn: list[str] = []
    monkeypatch.setattr(live._drawing, "draw", lambda done, total, text: drawn.append(text))
    for part, text in ((0.0, "a"), (0.5, "b"), (1.25, "c"), (1.5, "d"), (2.5, "e"), (3.0, "f")):
        now = 100.0 + part * every
        live.update(1, None, text)
    assert drawn == ["a", "c", "e"][not first :]
    live.close()
    assert drawn[-1] == "f"


def test_the_bar_on_a_terminal_is_as_full_as_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    live = Live("scale", Terminal())
    live.update(1, 4, "1 of 4")
    (task,) = live._drawing._bar.tasks  # type: ignore[attr-defined]
    assert (task.completed, task.total, task.fields["text"]) == (1, 4, "1 of 4")
    live.update(2, None, "2", now=True)
    assert (task.completed, task.fields["text"]) == (2, "2")
    live.close()


def test_a_line_that_just_fits_a_terminal_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.setenv("COLUMNS", "20")
    for count, end in ((12, "x" * 12), (13, "x" * 11 + "…")):
        terminal = Terminal()
        Live("scale", terminal).update(1, 4, "x" * count)
        assert terminal.getvalue() == f"\r\x1b[Kscale: {end}"


def test_a_study_is_shown_at_once_when_its_stage_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    terminal = Terminal()
    display = Display(terminal)
    study = Study("scale(int*)", ("time",), tmp_path, wanted=8)
    display(study, "search")
    display(study, "confirm")
    assert terminal.getvalue() == ("\r\x1b[Kscale: 0 of 8\r\x1b[Kscale: measuring the best and the baseline in turn")
    display.close()
    assert terminal.getvalue().endswith("\r\x1b[K")


CELL = """
import sys
sys.modules["rich"] = sys.modules["ipywidgets"] = None
import mneme
instance = mneme.Database({database!r})["scale"][0]
with mneme.Executor(instance, device="cpu", progress=True) as executor:
    done = [executor.submit(mneme.Config(block=block, keep_threads=True)).result() for block in (32, 64)]
"""


def test_a_notebook_keeps_how_it_ended(instance: mneme.Instance) -> None:
    notebook = nbformat.v4.new_notebook(  # type: ignore[no-untyped-call]
        cells=[nbformat.v4.new_code_cell(CELL.format(database=str(instance.database.path)))]  # type: ignore[no-untyped-call]
    )
    NotebookClient(notebook, timeout=120).execute()
    (output,) = [output for output in notebook.cells[0].outputs if output.output_type == "display_data"]
    assert output.data["text/plain"].startswith("scale(int*, int, int): 2 of 2, ")
    assert '<progress value="2" max="2"></progress> 2 of 2, ' in output.data["text/html"]
    assert [other for other in notebook.cells[0].outputs if other is not output] == []


def test_what_is_shown_in_any_case_is_not_written_into_a_file() -> None:
    stream = io.StringIO()
    live = Live("scale", stream)
    live.update(1, 4, "1 of 4", now=True)
    assert stream.getvalue() == ""


def test_the_bar_shows_all_that_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    bar = Bar("scale")
    monkeypatch.setattr(bar._live, "update", lambda *shown: drawn.append(shown))
    for progress in (mneme.Progress(), mneme.Progress(submitted=4, done=3, measured=1)):
        bar(progress)
    assert [shown[:2] for shown in drawn] == [(0, None), (3, 4)] and drawn[1][2].startswith("3 of 4, ")
