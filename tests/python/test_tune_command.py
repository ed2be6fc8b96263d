"""mneme tune as a command, on the CPU device: tables, files, exit statuses, Ctrl-C, resuming, what is refused."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme._device import devices_in_words
from mneme.errors import InvalidArgumentError
from mneme.results.trials import read_trials
from mneme.tune import Categorical, Int, SearchSpace, Study, command, preset, tune, yaml_text
from mneme.tune.extras import TUNE
from mneme.tune.kept.asked import Asked, Folder
from mneme.tune.shown.progress import progress_line

SCALE = "scale(int*, int, int)"
FAST = ["--device", "cpu", "--quiet", "--set", "execution.iterations=3"]


def run(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "mneme.tune", *map(str, arguments)]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=240)


def test_from_a_recording_to_a_best_configuration(recordings: Path, tmp_path: Path) -> None:
    done = run(
        recordings, *FAST, "--trials", 30, "--seed", 1, "--confirm", 5, "--results-dir", "results", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert (
        f"Best of {SCALE}" in done.stdout
        and "30 trials: " in done.stdout
        and "as recorded (as-built: default<O3>, as the recording does not say)" in done.stdout
    )
    # What wins is a matter of times: on a busy machine it may be the launch as recorded.
    *_, verdict, last = done.stdout.splitlines()
    assert " times as fast" in verdict or last.startswith("no configuration is faster than as recorded: trial ")
    results = tmp_path / "results"
    assert f"mneme replay {recordings} scale --config results/best.json\n" in done.stderr
    assert sorted(path.name for path in results.iterdir()) == [
        "best.json", "results.jsonl", "summary.json", "trials.jsonl", "trials.parquet", "tune.json",
    ]  # fmt: skip
    summary = json.loads((results / "summary.json").read_text())
    assert summary["trials"] == 30 and summary["complete"] + summary["failed"] + summary["pruned"] == 30
    assert summary["speed_up"]["claim"] in ("faster", "slower", "no difference")

    replayed = subprocess.run(
        [
            "mneme",
            "replay",
            "-rdb",
            next(recordings.glob("*.json")),
            "--device",
            "cpu",
            "--config",
            results / "best.json",
        ],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert replayed.returncode == 0 and json.loads(replayed.stdout)["result"]["verified"]


def test_mneme_finds_it(recordings: Path, tmp_path: Path) -> None:
    (tmp_path / "mneme-tune").write_text(f'#!/bin/sh\nexec {sys.executable} -m mneme.tune "$@"\n')
    (tmp_path / "mneme-tune").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["mneme", "tune", "--help"], env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and "usage: mneme tune DB [KERNEL[#N]]" in done.stdout


def test_exhaustive_grid_of_a_file(recordings: Path, tmp_path: Path) -> None:
    (tmp_path / "tune.yaml").write_text(
        "parameters:\n"
        "  block.x: {categorical: {choices: [64, 128, 256], ordered: true}}\n"
        "  passes: {categorical: [default<O1>, default<O3>]}\n"
        "  specialise.dimensions: bool\n"
        "constraints: [block.x < 256 or specialise.dimensions]\n"
        "configuration: {keep_threads: true, execution: {iterations: 2}}\n"
        "sampler: exhaustive\n"
        "confirm: 0\n"
    )
    arguments = ["--search", "tune.yaml", "--device", "cpu", "--quiet", "--json", "--results-dir", "r"]
    done = run(recordings, "--kernel", "scale", *arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["trials"] == 10 and summary["speed_up"] is None
    trials = [json.loads(line) for line in (tmp_path / "r/trials.jsonl").read_text().splitlines()]
    assert all(
        trial["config"]["keep_threads"] and trial["config"]["execution"] == {"iterations": 2} for trial in trials
    )
    assert {trial["failure"] for trial in trials} <= {None, "invalid_launch"}


def test_presets_and_parameters_of_a_file(recordings: Path, tmp_path: Path) -> None:
    text = (
        "space: launch\n"
        "parameters:\n"
        "  codegen.level: {categorical: {choices: [3, 2, 1], ordered: true}}\n"
        "constraints: [block.x <= 256 or codegen.level > 1]\n"
        "sampler: random\n"
        "confirm: 0\n"
    )
    (tmp_path / "tune.yaml").write_text(text)
    few = ["--search", "tune.yaml", *FAST, "--seed", 1, "--results-dir", "r"]
    done = run(recordings, *few, "--trials", 24, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    trials = sorted(read_trials(tmp_path / "r/trials.jsonl"), key=lambda trial: trial.number)
    params = [trial.params for trial in trials]
    assert params[0] == {"block.x": 128, "grid": "threads", "codegen.level": 3}  # as recorded: its own first values
    assert {one["codegen.level"] for one in params} == {1, 2, 3} and len({one["block.x"] for one in params}) > 5
    assert all(one["block.x"] <= 256 or one["codegen.level"] > 1 for one in params)
    assert all(trial.config and trial.config.to_dict().get("codegen", {"level": 3})["level"] for trial in trials)
    assert json.loads((tmp_path / "r/tune.json").read_text())["preset"] == "launch"

    for again in (["--resume", "r", "--quiet"], [recordings, *few, "--resume"]):
        done = run(*again, "--trials", 30, folder=tmp_path)
        assert done.returncode == 0 and "30 trials: " in done.stdout, done.stderr
    (tmp_path / "tune.yaml").write_text(text.replace("256", "128"))
    done = run(recordings, *few, "--resume", "--trials", 50, folder=tmp_path)
    assert done.returncode == 64 and "r cannot be resumed so: its space is {" in done.stderr, done.stderr


@pytest.mark.parametrize("text", ["space: [launch, compiler]", "space: launch+compiler"])
def test_constraints_of_presets_of_a_file(recordings: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "f.yaml").write_text(f"{text}\nconstraints: [block.x <= 128, 'codegen.level == 3']\nconfirm: 0\n")
    few = ["--search", "f.yaml", "--sampler", "random", "--trials", 12, "--results-dir", "r"]
    done = run(recordings, *few, *FAST, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    params = [trial.params for trial in read_trials(tmp_path / "r/trials.jsonl")]
    assert {"block.x", "passes", "codegen.level"} <= params[0].keys()
    assert all(one["block.x"] <= 128 and one["codegen.level"] == 3 for one in params)
    assert json.loads((tmp_path / "r/tune.json").read_text())["preset"] == "launch+compiler"


def test_joined_in_python_and_resumed_by_the_command(recordings: Path, tmp_path: Path) -> None:
    instance = mneme.Database(recordings)["scale"][0]
    space = preset("launch", instance) | SearchSpace({"codegen.level": Categorical([3, 2], ordered=True)})
    options: dict[str, Any] = {"sampler": "tpe", "seed": 1, "device": "cpu", "confirm": 0}
    study = tune(instance, space, trials=16, results_dir=tmp_path / "r", **options)
    assert len(study.trials) == 16
    done = run("--resume", "r", "--trials", 20, "--quiet", folder=tmp_path)
    assert done.returncode == 0 and "20 trials: " in done.stdout, done.stderr


def test_configuration_of_a_replay_and_options(recordings: Path, tmp_path: Path) -> None:
    (tmp_path / "base.json").write_text(json.dumps({"configuration": {"passes": "default<O1>"}, "result": {}}))
    arguments = ["--config", "base.json", "--space", "launch", "--sampler", "random", "--trials", 2, "--confirm", 0]
    tolerance = ["--tolerance", "data: i32, 1, absolute", "--set", "codegen.level=1"]
    done = run(recordings, *arguments, *tolerance, *FAST, "--results-dir", "r", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    configuration = json.loads((tmp_path / "r/tune.json").read_text())["configuration"]
    assert configuration["passes"] == "default<O1>" and configuration["codegen"] == {"level": 1}
    assert configuration["tolerance"][0]["buffer"] == "data" and configuration["execution"] == {"iterations": 3}


def test_a_knob_is_an_option_and_a_member(recordings: Path, tmp_path: Path) -> None:
    few: list[object] = ["--space", "compiler", "--sampler", "random", "--trials", 1, "--confirm", 0]
    few += ["--device", "cpu", "--quiet"]
    given: dict[str, list[object]] = {
        "options": ["--block-dim-x", 64, "--keep-threads", "--iterations", 3, "--specialise", "n,factor", "--no-alias"],
        "members": [
            *("--set", "block.x=64", "--set", "keep_threads=true", "--set", "execution.iterations=3"),
            *("--set", 'specialise.arguments=["n", "factor"]', "--set", "specialise.no_alias=true"),
        ],
    }
    found = []
    for name, words in given.items():
        done = run(recordings, *few, *words, "--results-dir", name, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        found.append(json.loads((tmp_path / name / "tune.json").read_text())["configuration"])
    assert found[0] == found[1]
    assert found[0] == {
        "passes": "as-built",
        "block": {"x": 64},
        "keep_threads": True,
        "execution": {"iterations": 3},
        "specialise": {"arguments": ["n", "factor"], "no_alias": True},
    }


def test_a_kernel_goes_by_its_name(recordings: Path, tmp_path: Path) -> None:
    few: list[object] = ["--space", "launch", "--sampler", "random", "--trials", 1, "--confirm", 0]
    file = next(recordings.glob("*.json"))
    named: list[list[object]] = [[recordings, "scale"], [recordings, "scale#0"], ["-rdb", recordings, "sca"], [file]]
    for number, words in enumerate(named):
        done = run(*words, *FAST, *few, "--results-dir", number, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert f": mneme replay {recordings} scale --config {number}/best.json\n" in done.stderr


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("f.json", '{"space": "launch"}', "f.json describes a search ('space'), and no configuration: `mneme tune --search` takes it"),  # noqa: E501
        ("tune.json", '{"mneme_tune": 1, "configuration": {}}', "tune.json is what a search was asked for, and no configuration"),  # noqa: E501
        ("r", None, "reading the configuration: r is a folder; the best one that was found is in r/best.json"),
    ],
)  # fmt: skip
def test_what_is_no_configuration_is_told_apart(
    recordings: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str | None,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is None:
        (tmp_path / name).mkdir()
        (tmp_path / name / "best.json").write_text("{}")
    else:
        (tmp_path / name).write_text(text)
    assert called([str(recordings), "--config", name, *FAST]) == 64
    assert capsys.readouterr().err.startswith("mneme tune: " + message)


def test_every_member_of_a_configuration_has_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert called(["--help"]) == 0
    listed = capsys.readouterr().out
    shown = subprocess.run(["mneme", "replay", "--help"], capture_output=True, text=True, timeout=240).stdout
    for names, *_ in mneme._native.knobs():
        assert all(name in listed for name in names) and all(name in shown for name in names), names


def test_what_is_as_recorded_is_left_out_of_the_table(recordings: Path, tmp_path: Path) -> None:
    text = "{parameters: {block.x: {categorical: [128]}, grid.x: {categorical: [313]}}, sampler: grid, confirm: 0}"
    (tmp_path / "f.yaml").write_text(text)
    execution = ["--device", "cpu", "--quiet"]
    done = run(recordings, *execution, "--search", "f.yaml", "--results-dir", "r", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "block.x" not in done.stdout and "grid.x" not in done.stdout
    assert done.stdout.endswith("that is not confirmed\n  as recorded\n")


def test_what_all_begin_with_is_left_out_of_the_table(recordings: Path, tmp_path: Path) -> None:
    text = "{parameters: {specialise.dimensions: {categorical: [true]}}, sampler: grid, confirm: 0}"
    (tmp_path / "f.yaml").write_text(text)
    base = ["--set", "keep_threads=true", "--tolerance", "data: i32, 1, absolute"]
    done = run(recordings, *FAST, *base, "--search", "f.yaml", "--results-dir", "r", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[3].split()[-1] == "specialise.dimensions"  # all trials have it, and it was searched
    assert lines[-1].startswith("  execution.iterations=3 keep_threads specialise.dimensions tolerance=[")


def test_one_trial_is_only_the_launch_as_recorded(recordings: Path, tmp_path: Path) -> None:
    said = "only the launch as recorded was tried, with which a search begins: ask for more --trials"
    few = ["--seed", 1, "--confirm", 0, "--results-dir", "r"]
    done = run(recordings, *FAST, "--trials", 1, *few, folder=tmp_path)
    assert done.returncode == 0 and said in done.stderr and "\n1 trial: 1 right" in done.stdout
    done = run("--resume", "r", "--quiet", "--trials", 3, folder=tmp_path)
    assert done.returncode == 0 and said not in done.stderr


def test_space_of_fewer_points_than_trials(recordings: Path, tmp_path: Path) -> None:
    text = "{parameters: {block.x: {categorical: [32, 64, 128]}}, constraints: [block.x > 32], confirm: 0}"
    (tmp_path / "f.yaml").write_text(text)
    few = ["--search", "f.yaml", "--sampler", "random", "--set", "keep_threads=true", "--results-dir", "r"]
    for trials, said in ((2, 0), (5, 1)):
        done = run(recordings, *FAST, *few[:-1], f"r{trials}", "--trials", trials, folder=tmp_path)
        remark = f"the space has 2 points, fewer than {trials} trials: --sampler exhaustive tries each once"
        assert done.stderr.count(remark) == said, done.stderr


def test_rate_of_a_moment_is_left_out() -> None:
    study = Study("scale", ("time",), Path("r"), observations=10, seconds=0.002)
    assert "10 measured in 0.00 s (" in str(study) and "measured/s" not in progress_line(study, "search")
    study.seconds = 0.5
    assert "10 measured in 0.50 s, 20.0 a second (" in str(study)
    assert "20.0 measured/s" in progress_line(study, "search")


def test_nothing_is_right(recordings: Path, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(json.dumps({"parameters": {"grid.x": {"int": [1, 2]}}, "sampler": "grid"}))
    done = run(recordings, *FAST, "--search", "f.json", "--results-dir", "r", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "2 wrong_result, the first: memory differs" in done.stdout and "no configuration is right" in done.stdout
    assert not (tmp_path / "r/best.json").exists()


def begun(folder: Path, process: subprocess.Popen[str], trials: int) -> None:
    """Waits until so many trials are in the log."""
    log = folder / "trials.jsonl"
    end = time.monotonic() + 200
    while not log.exists() or log.read_bytes().count(b"\n") < trials:
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)


def test_ctrl_c_keeps_what_was_measured(recordings: Path, tmp_path: Path) -> None:
    words = [recordings, *FAST, "--trials", 100_000, "--sampler", "random", "--seed", 3, "--results-dir", "r"]
    process = subprocess.Popen(
        [sys.executable, "-m", "mneme.tune", *map(str, words)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    begun(tmp_path / "r", process, 20)
    second = run("--resume", "r", "--quiet", folder=tmp_path)
    assert second.returncode == 2
    assert second.stderr == (
        "mneme tune: another run of tuning is working on r: wait for its end, or name another folder\n"
    )
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to the workers too
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    assert f"Best of {SCALE}" in stdout and "that is not confirmed" in stdout
    assert "not all is done; mneme tune --resume r goes on" in stderr and "Traceback" not in stderr
    kept = (tmp_path / "r/trials.jsonl").read_bytes()
    assert kept.count(b"\n") >= 20 and (tmp_path / "r/best.json").exists()
    assert json.loads((tmp_path / "r/summary.json").read_text())["interrupted"] is True

    more = kept.count(b"\n") + 3
    done = run("--resume", "r", "--trials", more, "--confirm", 5, "--quiet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{more} trials: " in done.stdout
    assert (tmp_path / "r/trials.jsonl").read_bytes().startswith(kept)


def test_reader_that_has_enough(recordings: Path, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    few = ["--space", "launch", "--sampler", "random", "--confirm", 0, "--trials", 1, "--json", "--results-dir", "r"]
    words = [sys.executable, "-m", "mneme.tune", *map(str, [recordings, *FAST, *few])]
    done = subprocess.run(words, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=240)
    os.close(writing)
    assert done.returncode == 141 and "Error" not in done.stderr and "Exception" not in done.stderr
    assert (tmp_path / "r/summary.json").exists()


@pytest.mark.parametrize("module", ["mneme._native", "mneme.tune.run", "mneme.tune.command"])
def test_ctrl_c_while_it_is_imported(tmp_path: Path, module: str) -> None:
    program = tmp_path / "mneme-tune"
    program.write_text(
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == '{module}': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from mneme.tune.command import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize("place", ["kept.asked.Folder.begin", "run.open_executor", "run.TrialLog"])
def test_ctrl_c_before_the_first_measurement(recordings: Path, tmp_path: Path, place: str) -> None:
    words = [str(recordings), *FAST, "--trials", "4", "--seed", "1", "--confirm", "0", "--results-dir", "r"]
    owner, name = f"mneme.tune.{place}".rsplit(".", 1)
    program = (
        "import signal, sys\n"
        "import mneme.tune.command\n"
        f"real = {owner}.{name}\n"
        "def pressed(*arguments):\n"
        "    made = real(*arguments)\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    return made\n"
        f"{owner}.{name} = pressed\n"
        f"sys.exit(mneme.tune.command.main({words}))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 130, done.stderr
    assert done.stdout.endswith(
        "as recorded (as-built: default<O3>, as the recording does not say): not measured\nnothing was measured\n"
    )
    assert done.stderr.endswith(
        "mneme tune: interrupted before anything was measured\n"
        "mneme tune: not all is done; mneme tune --resume r goes on\n"
    )
    assert json.loads((tmp_path / "r/summary.json").read_text())["interrupted"] is True
    done = run("--resume", "r", "--quiet", folder=tmp_path)
    assert done.returncode == 0 and "4 trials: " in done.stdout, done.stderr


def test_resumed_after_kill(recordings: Path, tmp_path: Path) -> None:
    words = [recordings, *FAST, "--trials", 100_000, "--seed", 3, "--results-dir", "r"]
    process = subprocess.Popen(
        [sys.executable, "-m", "mneme.tune", *map(str, words)], cwd=tmp_path, stderr=subprocess.DEVNULL, text=True
    )
    begun(tmp_path / "r", process, 12)
    process.kill()
    process.wait()
    done = run("--resume", "--results-dir", "r", "--trials", 60, "--confirm", 5, "--quiet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "60 trials: " in done.stdout


def test_resumed_after_the_database_was_moved(copied_recordings: Path, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    copied_recordings.rename(folder / "db")
    few = ["--space", "launch", "--sampler", "random", "--confirm", 0, "--results-dir", "r"]
    done = run("db", *FAST, *few, "--trials", 1, folder=folder)
    assert done.returncode in (0, 1), done.stderr

    folder = folder.rename(tmp_path / "there")
    done = run("--resume", "r", "--trials", 2, "--quiet", folder=folder)
    assert "2 trials: " in done.stdout, done.stderr

    database = (folder / "db").rename(tmp_path / "elsewhere")
    (kernel,) = database.glob("*.json")
    done = run("--resume", "r", "--trials", 3, "--quiet", folder=folder)
    assert done.returncode == 2
    assert done.stderr == (
        f"mneme tune: the recorded kernel of this run, {folder / 'db' / kernel.name}, is not there any more; "
        f"if it was moved: mneme tune DIR/{kernel.name} --resume r\n"
    )
    for trials in (3, 4):
        where = [kernel] if trials == 3 else []
        done = run(*where, "--resume", "r", "--trials", trials, "--quiet", folder=folder)
        assert f"{trials} trials: " in done.stdout, done.stderr


def test_compile_time_of_what_has_the_code_of_the_baseline(recordings: Path, tmp_path: Path) -> None:
    few = ["--space", "launch", "--sampler", "random", "--confirm", 0, "--trials", 6, "--results-dir", "r"]
    done = run(recordings, *FAST, *few, "--objective", "time,compile_time", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "COMPILING" in done.stdout
    assert all(trial.compile_time for trial in read_trials(tmp_path / "r/trials.jsonl"))


def test_an_objective_that_the_device_does_not_tell(recordings: Path, tmp_path: Path) -> None:
    few = [*FAST, "--space", "launch", "--confirm", 0, "--trials", 2, "--results-dir", "r"]
    refused = run(recordings, *few, "--objective", "registers", folder=tmp_path)
    assert refused.returncode == 2 and "objective 'registers': the device does not tell it" in refused.stderr
    done = run(recordings, *few, folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_resumed_with_another_search(recordings: Path, tmp_path: Path) -> None:
    few = [*FAST, "--sampler", "random", "--seed", 3, "--confirm", 0, "--results-dir", "r", "--trials", 2]
    first = run(recordings, *few, "--space", "launch", folder=tmp_path)
    assert first.returncode in (0, 1), first.stderr
    (tmp_path / "other.yaml").write_text("parameters:\n  block.x: {categorical: [128, 256]}\n")
    for other, difference in (
        (["--sampler", "tpe"], 'its sampler is "random", and "tpe" is asked for'),
        (["--seed", 4], "its seed is 3, and 4 is asked for"),
        (["--objective", "time,registers"], 'its objective is ["time"], and ["time", "registers"] is asked for'),
        (["--space", "full"], 'its space is "launch", and "full" is asked for'),
        (["--search", "other.yaml"], 'its space is "launch", and none is asked for'),
        (["--set", "execution.iterations=77"], "its configuration is "),
        (["--no-prune"], "its prune is true, and false is asked for"),
    ):
        done = run("--resume", "r", *other, "--trials", 3, folder=tmp_path)
        assert done.returncode == 64, (other, done.stderr)
        assert done.stderr.startswith(f"mneme tune: r cannot be resumed so: {difference}"), done.stderr
    done = run("--resume", "r", *FAST, "--sampler", "random", "--seed", 3, "--trials", 3, "--quiet", folder=tmp_path)
    assert "3 trials: " in done.stdout, done.stderr


def test_resumed_with_another_kernel(recordings: Path, tmp_path: Path) -> None:
    few = ["--space", "launch", "--sampler", "random", "--confirm", 0, "--results-dir", "r", "--trials", 1]
    assert run(recordings, *FAST, *few, folder=tmp_path).returncode in (0, 1)
    asked = json.loads((tmp_path / "r/tune.json").read_text())
    (tmp_path / "r/tune.json").write_text(json.dumps(asked | {"static_hash": "f" * 32}))
    done = run(recordings, "--resume", "r", folder=tmp_path)
    assert done.returncode == 64
    assert done.stderr == (
        f"mneme tune: --resume r: its run is of the kernel {'f' * 32}, and {recordings} has another\n"
    )


def test_the_least_number_that_an_option_takes_is_taken() -> None:
    words = ["--top", "1", "--compile-workers", "1", "--compile-memory", "1"]
    options = command.parser().parse_args(words)
    assert (options.top, options.compile_workers, options.compile_memory) == (1, 1, 1)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 64, "no recorded kernel: give DB KERNEL, as `mneme ls DB` lists them, or --resume DIR"),
        (["DB", "--sampler", "tpee"], 64, "there is no sampler 'tpee'; the nearest is 'tpe'"),
        (["DB", "--space", "lunch"], 64, "there is no search space 'lunch'; the nearest is 'launch'"),
        (["DB", "--objective", "tim"], 64, "there is no objective 'tim'; the nearest is 'time'"),
        (["DB", "--device", "gpu"], 64, f"tuning: 'device' is {devices_in_words()}, not 'gpu'"),
        (["DB", "--trials", "0"], 64, "tuning: trials must be a whole number from 1 on, and is 0"),
        (["DB", "--top", "0"], 64, "argument --top: '0' is not a whole number from 1 on"),
        (["DB", "--compile-workers", "-1"], 64, "argument --compile-workers: '-1' is not a whole number from 1 on"),
        (["DB", "--compile-memory", "0"], 64, "argument --compile-memory: '0' is not a whole number from 1 on"),
        (["DB", "--set", "codegen.levle=1"], 64, "configuration: unknown key 'codegen.levle'; the nearest is 'codegen.level'"),  # noqa: E501
        (["DB", "--set", "x"], 64, "--set x: KEY=VALUE is expected, as in --set block.x=64"),
        (["DB", "--devices", "a"], 64, "--devices a: write numbers, as in --devices 0,1"),
        (["DB", "--storage", "sqlit"], 64, "storage 'sqlit' is neither journal nor sqlite nor a URL of Optuna's; the nearest is 'sqlite'"),  # noqa: E501
        (["DB", "-rid", "ffff"], 2, f"no instance of {SCALE} begins with 'ffff'; there are"),
        (["DB", "--kernel", "skale"], 2, "no kernel in DB matches 'skale'; there are"),
        (["DB", "skale"], 2, "no kernel in DB matches 'skale'; there are"),
        (["DB", "scale#1"], 2, f"{SCALE} has 1 instance, numbered from 0, and none is #1"),
        (["DB", "scale", "scale"], 64, "unexpected argument 'scale'"),
        (["DB", "scale", "--kernel", "scale"], 64, "the kernel is given twice, by 'scale' and by --kernel scale"),
        (["DB", "#0", "--all-instances"], 64, "#N names instances, and so does -rid or --all-instances: leave one of the two out"),  # noqa: E501
        (["DB", "--block-dim-x", "0"], 64, "--block-dim-x: '0' is not a whole number from 1 to 4294967295"),
        (["DB", "--ftz", "perhaps"], 64, "--ftz: 'perhaps' is none of recorded, on, off"),
        (["DB", "--config", "none.json"], 2, "reading the configuration: opening none.json: No such file or directory"),
        (["DB", "--search", "none.yaml"], 2, "--search none.yaml: No such file or directory"),
        (["DB", "--device", "cuda:1023"], None, ""),
        (["DB", "--tolerance", "outt: f32, 1e-5, relative"], 2, "the tolerance 'outt: f32, 1e-05, relative': there is no buffer 'outt' in the recorded launch; there are"),  # noqa: E501
        (["DB", "--device", "cpu", "--set", "assembler.level=1"], 2, "assembler.level has no effect on the CPU device, whose code is not made from PTX: leave it out"),  # noqa: E501
        (["DB", "--set", "passes=instcombin"], 64, "pass pipeline 'instcombin' does not parse: "),
        (["--resume"], 64, "--resume: name the folder of results, here or with --results-dir"),
        (["--resume", "none"], 2, "none has no tune.json: give the folder of results of an earlier `mneme tune`"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(
    recordings: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int | None,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [str(recordings) if word == "DB" else word for word in arguments]
    assert called(words) in ((status,) if status is not None else (2, 64))  # without a driver, or with fewer GPUs
    told = message.replace("DB", str(recordings)) if arguments else message
    assert capsys.readouterr().err.startswith(f"mneme tune: {told}")
    assert not list(tmp_path.iterdir())


def asked(*words: object) -> dict[str, Any]:
    """What tune() is called with."""
    return command._asked(command._parsed(command.parser(), list(map(str, words))))


def test_a_run_that_goes_on_is_asked_for_what_it_was(instance: Any, tmp_path: Path) -> None:
    space = SearchSpace({"codegen.level": Int(0, 3)})
    folder = Folder(tmp_path / "r")
    folder.path.mkdir()
    folder.begin(
        Asked(
            database=instance.database.path,
            kernel=instance.kernel.demangled,
            static_hash=instance.kernel.hash,
            instances=[instance.hash],
            device="cpu",
            space=space.describe(),
            preset=None,
            sampler="random",
            seed=3,
            trials=7,
            timeout=5.5,
            objectives=["object_size", "time"],
            configuration={"passes": "default<O1>"},
            ahead=17,
            prune=False,
            confirm=6,
            storage="journal",
            storage_name="scale",
            limits={"run_timeout": 3.0},
            share=False,
            compile_workers=2,
        )
    )
    before: dict[str, Any] = {
        "instance": [instance],
        "sampler": "random",
        "trials": 7,
        "timeout": 5.5,
        "objectives": ["object_size", "time"],
        "config": mneme.Config(passes="default<O1>"),
        "device": "cpu",
        "ahead": 17,
        "prune": False,
        "confirm": 6,
        "storage": "journal",
        "run_timeout": 3.0,
        "share": False,
        "compile_workers": 2,
        "results_dir": str(folder.path),
        "resume": True,
    }
    for words in (
        ["--resume", folder.path],
        ["--resume", "--results-dir", folder.path],
        ["--resume", folder.path, "-rid", instance.hash[:6]],
    ):
        made = asked(*words)
        assert made.pop("space").describe() == space.describe() and made == before
    anew: dict[str, Any] = {
        "trials": 9,
        "timeout": 2.0,
        "confirm": 0,
        "storage": "sqlite",
        "run_timeout": 4.0,
        "compile_timeout": 8.0,
        "compile_memory": 2 << 30,
        "compile_workers": 3,
        "devices": [0],
    }
    texts = {
        **{name: f"{value:g}" for name, value in anew.items() if isinstance(value, int | float)},
        "compile_memory": 2,
        "devices": 0,
        "storage": "sqlite",
    }
    made = asked(
        "--resume",
        folder.path,
        *(word for name, text in texts.items() for word in (f"--{name.replace('_', '-')}", text)),
    )
    assert made.pop("space").describe() == space.describe() and made == before | anew


def test_a_configuration_on_the_command_line_goes_before_that_of_a_file(recordings: Path, tmp_path: Path) -> None:
    search, base = tmp_path / "f.json", tmp_path / "base.json"
    search.write_text(json.dumps({"configuration": {"passes": "default<O1>", "block": {"x": 64}}}))
    base.write_text(json.dumps({"passes": "default<O2>"}))
    assert asked(recordings, "--search", search)["config"] == mneme.Config(passes="default<O1>", block=64)
    assert asked(recordings, "--search", search, "--config", base)["config"] == mneme.Config(passes="default<O2>")
    assert asked(recordings, "--search", search, "--passes", "gvn")["config"] == mneme.Config(passes="gvn", block=64)


def test_what_is_switched_off_is_asked_for_so(recordings: Path) -> None:
    names = {"probe", "prune", "share"}
    assert not names & asked(recordings).keys()
    for name in names:
        assert asked(recordings, f"--no-{name}")[name] is False
    assert asked(recordings, "--compile-workers", 1, "--compile-memory", 1)["compile_workers"] == 1


def test_instances_are_named_in_one_way(recordings: Path, instance: Any) -> None:
    file = recordings / f"{instance.kernel.hash}.json"
    for named in ([recordings, "scale#0"], [f"{file}#0"]):
        assert asked(*named)["instance"] == [instance]
        for again in (["-rid", instance.hash[:6]], ["--all-instances"]):
            with pytest.raises(InvalidArgumentError, match="#N names instances, and so does -rid or --all-instances"):
                asked(*named, *again)
    assert (
        asked(file, "-rid", instance.hash[:6])["instance"] == asked(file, "--all-instances")["instance"] == [instance]
    )


def called(words: list[str]) -> Any:
    """The command's exit status, in this process, whose handlers stay."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        return command.main(words)
    except SystemExit as ended:
        return ended.code
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sampelr: tpe", "--search f.yaml: has no 'sampelr'; the nearest is 'sampler'"),
        ("[1]", "--search f.yaml: it must have keys: space, parameters, constraints, configuration"),
        ("a: [", "--search f.yaml, line 1, column 5: while parsing a flow node, expected the node content"),
        (
            "a: \x01",
            "--search f.yaml: unacceptable character #x0001: special characters are not allowed at position 3\n",
        ),
        (
            "space: [launch, compiler]\nparameters: {block.x: {int: [1, 64]}}",
            "search space: 'block.x' is in both of the spaces that are to be joined",
        ),
        ("space: [launch, launch]", "search space: 'block.x' is in both of the spaces that are to be joined"),
        ("space: [launch, lunch]", "there is no search space 'lunch'; the nearest is 'launch'"),
        ("space: [launch, 3]\nparameters: {n: bool}", "there is no search space '3'; there are: launch, compiler, "),
        ("space: []", "there is no search space ''; there are: launch, compiler, specialise, full"),
        ("space: launch\nparameters: []", "search space: 'parameters' must have each parameter by its name"),
        (
            "space: launch\nparameters: {codegen.level: {int: [0, 3]}}\nconstraints: [blok.x < 3]",
            "constraint 'blok.x < 3': there is no parameter 'blok.x'; the nearest is 'block.x'",
        ),
        ("constraints: [n]", "f.yaml: constraints are for parameters, and there are none"),
        ("parameters: {n: boool}", "parameter 'n': there is no kind 'boool'; the nearest is 'bool'"),
        ("parameters: {block.z.x: bool}\nsampler: random\ntrials: 2", "the configuration of {'block.z.x': "),
        (
            "parameters: {passes: {pipeline: {first: defaults, passes: [function(gvn), instcombin], max_length: 2}}}",
            "parameter 'passes': pass pipeline 'instcombin' does not parse: unknown pass name 'instcombin'; "
            "did you mean 'instcombine'?",
        ),
        (
            "parameters: {passes: {pipeline: {first: [default<O9>]}}}",
            "parameter 'passes': pass pipeline 'default<O9>' does not parse: invalid optimization level 'O9'",
        ),
        (
            'parameters: {passes: {categorical: ["default<O3>", "nosuch"]}}',
            "parameter 'passes': pass pipeline 'nosuch' does not parse: unknown pass name 'nosuch'",
        ),
        ("[" * 100_000, "--search f.yaml: it is nested deeper than 64\n"),
        ("a: " + "[" * 100_000, "--search f.yaml: it is nested deeper than 64\n"),
        ("configuration: &a [*a]", "--search f.yaml: it is nested deeper than 64\n"),
        ("configuration: {blok: {x: 3}}", "configuration: unknown key 'blok'; the nearest is 'block'"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(
    recordings: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yaml").write_text(text)
    assert called([str(recordings), "--search", "f.yaml", *FAST]) == 64
    assert capsys.readouterr().err.startswith("mneme tune: " + message)


def test_space_of_knobs_without_use_is_refused(
    recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yaml").write_text("parameters: {assembler.level: {int: [1, 2]}}")
    assert called([str(recordings), "--search", "f.yaml", *FAST]) == 2
    assert capsys.readouterr().err.startswith("mneme tune: assembler.level")
    assert [path.name for path in tmp_path.iterdir()] == ["f.yaml"]


def test_the_device_is_chosen_by_auto() -> None:
    assert command._parsed(command.parser(), ["db", "--device", "auto"]).device is None
    assert command._parsed(command.parser(), ["db", "--device", "cpu"]).device == "cpu"


def test_the_last_line_has_paths_without_control_characters(
    copied_recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    copied_recordings.rename("d\x1b[2J")
    arguments = ["d\x1b[2J", *FAST, "--trials", "2", "--confirm", "0", "--results-dir", "r\x1b[2J"]
    assert called(arguments) == 0
    told = capsys.readouterr().err
    assert r"mneme replay 'd\x1b[2J' scale --config 'r\x1b[2J/best.json'" in told
    assert "\x1b" not in told


def test_unknown_option_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert called(["db", "--sampel", "tpe"]) == 64
    assert "mneme tune: there is no option --sampel tpe; the nearest is '--sampler'" in capsys.readouterr().err
    assert called(["db", "--frobnicate"]) == 64
    assert "mneme tune: there is no option --frobnicate\n" in capsys.readouterr().err


def test_without_yaml_json_is_read(
    recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "f.yaml").write_text("sampler: random")
    assert called([str(recordings), "--search", str(tmp_path / "f.yaml")]) == 2
    assert capsys.readouterr().err.endswith(f"): pip install {TUNE}\n")
    (tmp_path / "f.json").write_text('{"sampler": "random"}')
    assert command._read(str(tmp_path / "f.json")) == {"sampler": "random"}


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-5", 1e-5), ("-1E3", -1e3), ("+.5e2", 50.0), ("1.e+4", 1e4), ("1.0e-3", 1e-3), ("7", 7), ("1e", "1e")]
    + [(text, text) for text in ("e5", "1e5f", "0x1e+5", "1-e5", "default<O2>")]
    + [("'1e-5'", "1e-5"), ("[1e-5, off]", [1e-5, False])],
)
def test_numbers_in_yaml_are_as_people_write_them(text: str, value: object) -> None:
    assert yaml_text.parse("f.yaml", f"key: {text}") == {"key": value}


def test_help_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert called(["--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Searches for the configuration under which a recorded launch is fastest")
    assert text.index("Examples:") < text.index("usage: mneme tune DB [KERNEL")
    for word in ("exhaustive", "nsga2", "specialise", "Examples:\n  # ", "Exit status", "compile_time", "--resume"):
        assert word in text


def test_every_option_is_in_the_reference() -> None:
    reference = (Path(__file__).parent.parent.parent / "docs/reference/cli.md").read_text()
    section, replay = (reference.split(f"## mneme {name}", 1)[1].split("\n## ", 1)[0] for name in ("tune", "replay"))
    knobs = {name for names, *_ in mneme._native.knobs() for name in names}
    assert "which are\nas for `mneme replay`" in section
    assert [name for name in knobs if f"`{name}" not in replay] == []
    options = [
        text for action in command.parser().shown_actions() for text in action.option_strings if text[:2] == "--"
    ]
    known = {"--help", "--help-all", *knobs}
    assert [option for option in options if f"`{option}" not in section and option not in known] == []


def test_it_says_its_options_for_completion_and_its_page(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["--list-options"])
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert ended.value.code == 0 and all(len(line) == 4 for line in lines)
    values = {name: value for name, value, _, _ in lines}
    assert values["DB"] and values["KERNEL"] and values["--space"] == "NAME" and values["--all-instances"] == ""
    assert "--list-options" not in values
    with pytest.raises(SystemExit):
        command.main(["--manual-page"])
    page = capsys.readouterr().out
    assert page.startswith('.TH mneme\\-tune 1 "" "Mneme ') and ".SH NOTES\n" in page
    assert "\\fB\\-\\-space\\fR NAME\n" in page


def test_pruned_on_a_device(recordings: Path, tmp_path: Path) -> None:
    """Blocks of one thread are slower; thousands of runs are not all timed."""
    space = SearchSpace({"block.x": Categorical([128, 1]), "keep_threads": Categorical([True])})
    config = mneme.Config(execution={"iterations": 5000})
    instance = mneme.Database(recordings)["scale"][0]
    study = tune(
        instance, space, sampler="exhaustive", config=config, device="cpu", confirm=0, results_dir=tmp_path / "r"
    )
    states = {trial.params["block.x"]: trial.state for trial in study.trials}
    assert states[128] == "complete" and states[1] in ("pruned", "complete")
    fastest = min((trial for trial in study.trials if trial.state == "complete"), key=lambda trial: trial.time or 0.0)
    assert study.best is not None and study.best.params == fastest.params
