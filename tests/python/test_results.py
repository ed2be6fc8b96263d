"""One folder of results, read and judged one way: what the commands print of it, and what the report draws."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme.results.baseline import Baseline
from mneme.results.front import pareto, pareto_front
from mneme.results.run import Run, read
from mneme.results.statistics import speed_up_seen
from mneme.results.trials import COMPLETE, Trial
from mneme.tune import Categorical, SearchSpace, Study, tune
from mneme.tune.kept.findings import Findings

ROOT = Path(__file__).parents[1]
GRID = [
    "--grid",
    "block.x=32:256:*2",
    "--grid",
    "passes=default<O1>|default<O3>",
    "--keep-threads",
    "--iterations",
    "3",
]


def sweep(*words: str | Path) -> dict[str, Any]:
    """What `mneme sweep --json` prints."""
    done = subprocess.run(["mneme", "sweep", *map(str, words), "--json"], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


@pytest.fixture(scope="module")
def swept(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("swept") / "results"
    return folder, sweep(recordings, "scale", "--device", "cpu", *GRID, "--results-dir", folder)


@pytest.fixture(scope="module")
def tuned(instance: Any, tmp_path_factory: pytest.TempPathFactory) -> Study:
    space = SearchSpace({"passes": Categorical(["default<O1>", "function(mem2reg)", "default<O3>"])})
    folder = tmp_path_factory.mktemp("tuned") / "results"
    return tune(instance, space, sampler="exhaustive", device="cpu", results_dir=folder, confirm=5)


def findings_of(run: Run) -> Findings:
    """What a run of tuning would hold of the same trials over the same baseline."""
    begin, end = [line.time for line in run.baselines]
    findings = Findings("scale", ("time",), run.folder, baseline=Baseline(begin=begin, end=end))
    for trial in run.trials:
        findings.add(trial)
    return findings


def test_a_sweep_has_one_speed_up_in_its_summary_in_tune_and_in_the_report(swept: tuple[Path, dict[str, Any]]) -> None:
    folder, summary = swept
    run = read(folder)
    findings = findings_of(run)
    trials = {trial.digest: trial for trial in run.trials}
    assert len(summary["best"]) >= 3
    for row in summary["best"]:
        trial = trials[row["digest"]]
        assert row["speed_up"] == pytest.approx(findings.speed_up_of(trial), rel=1e-12)
        assert row["speed_up"] == pytest.approx(run.speed_up_of(trial), rel=1e-12)
        assert row["time"] == trial.time
    assert summary["baseline"]["time"] == run.baseline == findings.baseline.time
    assert run.speed_up is not None and run.speed_up.value == pytest.approx(summary["best"][0]["speed_up"], rel=1e-12)
    assert not run.is_confirmed and findings.best is not None and findings.best.digest == summary["best"][0]["digest"]


def test_a_run_of_tuning_has_one_speed_up_in_its_summary_and_in_the_report(tuned: Study) -> None:
    run = read(tuned.results_dir)
    assert tuned.speed_up is not None and run.is_confirmed
    # best.json says it, and the rounds of the log come to the same.
    assert (run.speed_up, run.speed_up_in_turn) == (tuned.speed_up, tuned.speed_up)
    assert (run.baseline, run.best_time) == (tuned.baseline.time, tuned.time)
    ranking = {trial.digest: trial for trial in tuned.ranking()}
    assert ranking
    for trial in run.right:
        if trial.digest in ranking:
            assert run.speed_up_of(trial) == tuned.speed_up_of(ranking[trial.digest])
            assert (trial.time, trial.state, trial.object_size) == (
                ranking[trial.digest].time,
                COMPLETE,
                ranking[trial.digest].object_size,
            )


def test_rounds_that_were_cut_short_are_not_what_speed_ups_are_over(tuned: Study, tmp_path: Path) -> None:
    """A run that ended within the rounds of its winner: the baseline is that at its begin and its end."""
    lines = (tuned.results_dir / "results.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "results.jsonl").write_text("".join(line for line in lines if '"best, round' not in line))
    (tmp_path / "tune.json").write_text((tuned.results_dir / "tune.json").read_text())
    summary = json.loads((tuned.results_dir / "summary.json").read_text())
    summary |= {"speed_up": None, "baseline": {"begin": 10.0, "end": 30.0, "in_turn": None, "problem": ""}}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    run = read(tmp_path)
    assert run.baseline == 20.0 and not run.is_confirmed and run.best is not None
    assert run.speed_up is not None and run.speed_up.value == speed_up_seen(20.0, run.best.time)


def test_a_front_of_any_number_of_coordinates() -> None:
    points = [(1.0, 5.0, 3.0), (1.0, 5.0, 3.0), (2.0, 4.0, 3.0), (2.0, 5.0, 2.0), (3.0, 5.0, 3.0)]
    assert pareto(points) == [0, 2, 3]
    assert pareto([]) == []
    assert pareto([(1.0, 6.0), (1.0, 5.0), (2.0, 5.0), (1.0, 5.0)]) == [1]
    trials = [Trial(number, {}, time=time, registers=registers) for number, (time, registers, _) in enumerate(points)]
    assert [trial.number for trial in pareto_front(trials, ("time", "registers"))] == [0, 2]


# The folder


def test_both_commands_say_of_a_plan_what_they_have_in_common_in_the_same_words(
    swept: tuple[Path, dict[str, Any]], tuned: Study
) -> None:
    sweep_plan = json.loads((swept[0] / "sweep.json").read_text())
    tune_plan = json.loads((tuned.results_dir / "tune.json").read_text())
    alike = {"database", "database_from_here", "kernel", "static_hash", "instances", "device", "configuration"}
    alike |= {"sampler", "trials", "seed", "share", "limits", "recorded_passes"}
    assert alike <= sweep_plan.keys() and sweep_plan.keys() - alike == {"mneme_sweep", "grid", "as_built"}
    assert alike <= tune_plan.keys()
    for name in ("kernel", "static_hash", "instances", "device", "sampler", "trials", "share"):
        assert sweep_plan[name] == tune_plan[name], name
    bests = [json.loads((folder / "best.json").read_text()) for folder in (swept[0], tuned.results_dir)]
    assert bests[0].keys() == bests[1].keys()
    assert (bests[0]["interval"], bests[0]["claim"]) == (None, "not confirmed")


def test_the_summary_of_a_sweep_is_what_it_prints(swept: tuple[Path, dict[str, Any]]) -> None:
    folder, printed = swept
    kept = (folder / "summary.json").read_bytes()
    assert json.loads(kept) == printed
    sweep("--resume", folder, "--top", "1")
    assert (folder / "summary.json").read_bytes() == kept  # nothing was measured


@pytest.mark.parametrize("command", ["sweep", "tune"])
def test_a_run_begins_in_no_folder_of_the_other_command(
    command: str, swept: tuple[Path, dict[str, Any]], tuned: Study, recordings: Path, tmp_path: Path
) -> None:
    (other,) = {"sweep": [tuned.results_dir / "tune.json"], "tune": [swept[0] / "sweep.json"]}[command]
    shutil.copy(other, tmp_path)
    words = {"sweep": ["mneme", "sweep"], "tune": [sys.executable, "-m", "mneme.tune"]}[command]
    words += [str(recordings), "scale", "--device", "cpu", "--results-dir", str(tmp_path)]
    words += ["--grid", "block.x=64"] if command == "sweep" else ["--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240)
    theirs = {"sweep": "a run of tuning", "tune": "a sweep"}[command]
    assert done.returncode != 0
    assert done.stderr.endswith(f": {tmp_path} has the results of {theirs} already: name another folder\n"), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [other.name]


VERSIONS = sorted(path.name for path in (ROOT / "results").iterdir() if path.is_dir())
# Of the baseline. What began by one goes on by it.
PIPELINES = {"1": "default<O3>", "3": "as-built"}


def old_folder(tmp_path: Path, command: str, version: str) -> Path:
    """What a version left, and its database as far from it as it was then; the last of its measurements is lost."""
    shutil.copytree(ROOT / "corpora" / "2.0", tmp_path / "2.0")
    folder = tmp_path / "results" / command
    shutil.copytree(ROOT / "results" / version / command, folder)
    for name in ("results.jsonl", "trials.jsonl"):
        log = folder / name
        if log.exists():
            lines = log.read_text().splitlines(keepends=True)
            last = max(place for place, line in enumerate(lines) if place and '"label"' not in line)
            log.write_text("".join(line for place, line in enumerate(lines) if place != last))
    return folder


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sweep_of_any_version_is_read_and_gone_on_with(tmp_path: Path, version: str) -> None:
    folder = old_folder(tmp_path, "sweep", version)
    assert len(read(folder).trials) == 7
    summary = sweep("--resume", folder)
    assert (summary["total"], summary["done"], summary["resumed"]) == (8, 8, 7)
    assert len(read(folder).trials) == 8 and (folder / "summary.json").exists()
    assert summary["baseline"]["configuration"]["passes"] == PIPELINES[version]
    assert {line.configuration["passes"] for line in read(folder).baselines} == {PIPELINES[version]}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_run_of_tuning_of_any_version_is_read_and_gone_on_with(tmp_path: Path, version: str) -> None:
    folder = old_folder(tmp_path, "tune", version)
    before = read(folder)
    assert before.points == 5 and before.is_confirmed
    words = [sys.executable, "-m", "mneme.tune", "--resume", folder, "--trials", "7", "--quiet", "--json"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["trials"], summary["speed_up"]["rounds"]) == (7, 5)
    plan = json.loads((folder / "tune.json").read_text())
    assert plan["mneme_tune"] == 3 and plan["limits"] == {"run_timeout": 20.0}
    assert plan["share"] is True and plan["compile_workers"] is None
    assert plan["recorded_passes"] == plan["configuration"]["passes"] == PIPELINES[version]
    assert {line.configuration["passes"] for line in read(folder).baselines} == {PIPELINES[version]}
    run = read(folder)
    assert run.speed_up is not None and run.speed_up.value == summary["speed_up"]["value"]


def test_a_log_shows_its_first_results_whole() -> None:
    def shown(count: int) -> list[str]:
        configuration = {"verdict": {"mask": False}, "keep_threads": True}
        line = {"configuration": configuration, "failure": None, "result": {"verified": True, "exec_time": [1500.0]}}
        return repr(mneme.Log({}, [mneme.Result.from_dict(line)] * count)).splitlines()

    assert shown(1)[2].split()[4:] == ["keep_threads", "passes=as-built", "verdict.mask=False"]
    assert len(shown(20)) == 2 + 20 and "more" not in shown(20)[-1]
    assert len(shown(21)) == 2 + 21 and shown(21)[-1].endswith("1 more: dataframe() has all")


def test_a_table_of_a_log_has_a_column_for_all_that_is_known() -> None:
    columns = ["label", "failure", "reason", "verified", "time", "registers", "object_size", "compile_time"]
    columns += ["object_hash", "origin", "shared_with"]
    assert list(mneme.Log({}, []).dataframe().columns) == columns
    measured = {"verified": True, "exec_time": [1500.0, 500.0, 900.0], "reg_usage": 40, "obj_size": 4096}
    lines: list[dict[str, Any]] = [
        {
            "configuration": {"block": {"x": 64}, "specialise": {"arguments": ["n"]}},
            "failure": None,
            "label": "again",
            "origin": "shared",
            "shared_with": "f" * 32,
            "result": {**measured, "obj_hash": "e" * 32, "times": {"codegen": 2e6}},
        },
        {"configuration": {"block": {"y": 2}}, "failure": "run_timeout", "reason": "too long", "result": {}},
    ]
    results = [mneme.Result.from_dict(line) for line in lines]
    frame = mneme.Log({}, results).dataframe()
    assert list(frame.columns) == [
        *columns,
        *(f"config.{name}" for name in ("block.x", "passes", "specialise.arguments", "block.y")),
    ]
    row, failed = (frame.iloc[place].to_dict() for place in range(2))
    known = [name for name in columns if name != "failure"]
    assert {name: row[name] for name in known} == {name: getattr(results[0], name) for name in known}
    assert (row["time"], row["registers"], row["object_size"], row["compile_time"]) == (900.0, 40, 4096, 2e6)
    assert (row["label"], row["origin"], row["shared_with"]) == ("again", "shared", "f" * 32)
    assert (row["config.block.x"], row["config.specialise.arguments"]) == (64, '["n"]')
    assert frame["failure"].isna().tolist() == [True, False]
    assert (failed["failure"], failed["reason"], failed["verified"]) == ("run_timeout", "too long", False)
    assert failed["config.block.y"] == 2

    table = results[0]._table()
    assert (table.title, dict(table.rows)) == (
        "Result: verified",
        {
            "configuration": repr(results[0].config),
            "label": "again",
            "time": "900 ns, the median of 3",
            "registers": "40",
            "object": "4.00 KiB",
            "origin": "shared",
        },
    )
    assert dict(results[1]._table().rows) == {"configuration": repr(results[1].config), "reason": "too long"}
    assert repr(results[1]) == f"Result(failure='run_timeout', config={results[1].config!r})"
    assert repr(mneme.Log({}, results[:1])).startswith("Log: 1 result\n")
    for name in ("time", "config", "_native", "other"):
        with pytest.raises(AttributeError, match="a Result does not change"):
            setattr(results[0], name, None)
