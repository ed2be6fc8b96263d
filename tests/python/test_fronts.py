"""bench/fronts.py: what is told of programs that both fronts have recorded, and what of it is the programs' own."""

import argparse
import importlib.util
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"
ND = "not deterministic"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


bench = load("fronts")
survey = bench.load_survey(Path("nowhere"))


def front(code: str = "ir", reasons: Sequence[str] = (), **kernels: Sequence[str]) -> dict[str, Any]:
    """What a front has of a program: for each kernel the verdicts of its instances."""
    held = {
        f"hash of {name}": {
            "name": f"{name}()",
            "code": code,
            "instances": {f"{name}#{place}": verdict for place, verdict in enumerate(verdicts)},
        }
        for name, verdicts in kernels.items()
    }
    return {"launches": 1, "kernels": held, "not_recorded": list(reasons)}


def program(name: str, linked: Any, driver: Any, **more: Any) -> dict[str, Any]:
    found = {"name": name, "seconds": {}, "fronts": {"linked": linked, "driver": driver}}
    return {**found, "left_out": "", "own": [], "wrong": [], **more}


def told(*programs: dict[str, Any]) -> tuple[list[str], bool]:
    lines, holds = bench.summary(programs)
    return [line for line in lines if line], holds


def test_all_holds_where_both_fronts_have_the_same() -> None:
    add = front(add=["verified"], scale=["verified", "verified"])
    lines, holds = told(program("app", add, add), program("plain", "none", add))
    assert holds
    assert lines == [
        "2 of 2 programs end by themselves as they did before: no exception",
        "2 of 2 programs end and print as bare by every front; 0 more differ in their bare runs: no exception",
        "2 of 2 kernels of 1 programs are the same by both fronts: no exception",
        "3 instances by linked calls, 3 at the driver, 3 of them with the same memory: no exception",
        "3 instances verify by linked calls, 3 at the driver; 0 kernels are not deterministic by both: no exception",
    ]


def test_a_kernel_of_one_front_is_named_with_why_the_other_has_passed_it() -> None:
    lines, holds = told(program("app", front(add=["verified"]), front(reasons=["it waits for the host"])))
    assert not holds
    assert "0 of 1 kernels of 1 programs are the same by both fronts: 1 exceptions" in lines
    assert "- app: linked alone: add() (the other front: it waits for the host)" in lines
    assert "- app: add(): 1 by its linked calls, 0 at the driver" in lines


def test_a_kernel_without_its_ir_is_another_kernel() -> None:
    lines, holds = told(program("app", front(add=["verified"]), front("cubin", add=["verified"])))
    assert not holds
    assert [line for line in lines if "alone" in line] == [
        "- app: linked alone: add()",
        "- app: driver alone: add()",
    ]


def test_more_instances_at_the_driver_are_no_exception() -> None:
    assert told(program("app", front(add=["verified"]), front(add=["verified", "verified"])))[1]
    assert not told(program("app", front(add=["verified", "verified"]), front(add=["verified"])))[1]


@pytest.mark.parametrize(
    ("linked", "driver", "holds"),
    [
        (ND, ND, True),
        (ND, "verified", False),
        ("verified", "differs", False),
        ("differs", "differs", False),
        ("verified", "not replayed: it was lost", False),
    ],
)
def test_only_what_is_not_deterministic_by_both_need_not_verify(linked: str, driver: str, holds: bool) -> None:
    lines, does = told(program("app", front(add=[linked]), front(add=[driver])))
    assert does == holds
    by_itself = "by itself: " if holds else ""
    assert lines[-1] == f"- {by_itself}app: add(): {linked} by its linked calls, {driver} at the driver"


def test_what_a_program_does_by_itself_is_named_and_is_no_exception() -> None:
    lines, holds = told(
        program("slow", None, None, left_out="does not end in 5 s by itself"),
        program("random", front(), front(), own=["bare: '2' in place of '1'"]),
    )
    assert holds
    assert lines[:4] == [
        "1 of 2 programs end by themselves as they did before: no exception",
        "- by itself: slow: does not end in 5 s by itself",
        "0 of 1 programs end and print as bare by every front; 1 more differ in their bare runs: no exception",
        "- by itself: random: bare: '2' in place of '1'",
    ]
    assert not told(program("app", front(), front(), wrong=["driver: exit status 1 in place of 0: lost"]))[1]


def run(out: str, status: int | None = 0) -> Any:
    return SimpleNamespace(out=out, err="", status=status, seconds=1.0, reason=lambda: "nothing was said")


def compared(bare: Sequence[Any], recorded: Any, further: Callable[[], Any]) -> dict[str, Any]:
    fronts = bench.Fronts(argparse.Namespace(prefix=Path("nowhere"), limit=5), survey)
    found: dict[str, Any] = {"own": [], "wrong": []}
    fronts.compare(found, {"bare": list(bare), "driver": [recorded]}, further)
    return found


def test_a_changed_output_is_the_programs_own_if_a_further_bare_run_differs_too() -> None:
    bare = [run("sum 1\n"), run("sum 1\n")]
    assert compared(bare, run("sum 1\n"), lambda: pytest.fail("was run again")) == {"own": [], "wrong": []}
    changed = "driver: 'sum 3' in place of 'sum 1'"
    assert compared(bare, run("sum 3\n"), lambda: run("sum 1\n")) == {"own": [], "wrong": [changed]}
    further = iter([run("sum 1\n"), run("sum 2\n"), run("sum 1\n")])
    own = {"own": ["bare: 'sum 2' in place of 'sum 1'"], "wrong": []}
    assert compared(bare, run("sum 3\n"), lambda: next(further)) == own


def test_a_changed_exit_status_is_told() -> None:
    bare = [run("", 0), run("", 0)]
    wrong = ["driver: exit status 139 in place of 0: nothing was said"]
    assert compared(bare, run("", 139), lambda: run("", 0)) == {"own": [], "wrong": wrong}
    assert compared(bare, run("", None), lambda: run("", 0))["wrong"] == ["driver: does not end in its time"]


def test_what_cannot_be_compared_is_left_out() -> None:
    fronts = bench.Fronts(argparse.Namespace(prefix=Path("nowhere"), limit=5), survey)
    assert fronts.not_comparable([run("", 1), run("", 1)]) == ""
    assert fronts.not_comparable([run("", 0), run("", 1)]) == "ends by itself with exit status 0 and 1"
    assert fronts.not_comparable([run("", 0), run("", None)]) == "does not end in 5 s by itself"
    assert fronts.not_comparable([run("", 127)] * 2) == "cannot be run by itself: nothing was said"


def test_where_a_launch_differs_that_does_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    fronts = bench.Fronts(argparse.Namespace(prefix=Path("nowhere"), limit=5, device="cuda"), survey)
    replay = run("", 1)
    replay.err = (
        "mneme: warning: not verified: memory differs in 1 place, first 0 B behind the end of allocation 0x7a\n"
    )

    def verdict(check: str) -> Any:
        def finished(command: Sequence[Any], **_: Any) -> Any:
            return replay if "replay" in command else run(check, 1)

        monkeypatch.setattr(fronts.survey, "Finished", finished)
        return fronts.verified(Path("db"), "kernel", "instance")

    where = "memory differs in 1 place, first 0 B behind the end of allocation 0x7a"
    assert verdict('{"deterministic": true}') == f"differs: {where}"
    assert verdict('{"deterministic": false}') == ND


def test_parts_are_told_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = {"recordable, linked": [4000.0, 4200.0], "recordable, driver": [4100.0, 4500.0]}
    paths = [tmp_path / "before.json"]
    bench.keep(paths[0], [program("two", None, None, left_out="does not end in 5 s by itself")], {})
    for place, name in enumerate(("one", "two")):
        paths.append(tmp_path / f"{name}.json")
        kept = program(name, front(add=["verified"]), front(add=["verified"]))
        bench.keep(paths[-1], [kept], times if place else {})
    merged = tmp_path / "merged.json"
    monkeypatch.setattr("sys.argv", ["fronts.py", str(tmp_path), *map(str, paths), "--json", str(merged)])
    assert bench.main() == 0
    out = capsys.readouterr().out
    assert "a launch that is not recorded takes 200 ns more at the driver than by linked calls" in out
    assert "2 of 2 programs end and print as bare by every front" in out
    assert [one["name"] for one in json.loads(merged.read_text())["programs"]] == ["two", "one"]
