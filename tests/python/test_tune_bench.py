"""bench/tune.py: samplers compared in one table."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench/tune.py"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(BENCH), "--device", "cpu", "--quiet", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=240)


@pytest.mark.parametrize("samplers", [["--sampler", "random,nsga2"], ["--sampler", "random", "--sampler", "nsga2"]])
def test_samplers_are_compared_on_the_same_recording(recordings: Path, tmp_path: Path, samplers: list[str]) -> None:
    few = ["--space", "launch", "--trials", 4, "--confirm", 5, "--iterations", 2]
    done = run(recordings, *samplers, *few, "--json", tmp_path / "all.json")
    assert done.returncode == 0, done.stderr
    lines = json.loads((tmp_path / "all.json").read_text())
    assert [line["sampler"] for line in lines] == ["random", "nsga2"]
    assert len({(line["static_hash"], line["instance"]) for line in lines}) == 1
    assert all(line["trials"] == 4 and line["seconds"] > 0 and "failures" in line for line in lines)
    head, _, *rows = (line.split(" | ") for line in done.stdout.splitlines() if line.startswith("|"))
    assert head[1] == "sampler" and [row[1] for row in rows] == ["random", "nsga2"]
    assert {"seconds", "failed, by reason"} <= set(head) and head[-1].startswith("speed-up")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sampler", "tpee"], "--sampler: there is no sampler 'tpee'; the nearest is 'tpe'"),
        (["--sampler", "tpe,random", "--sampler", "tpe"], "--sampler: 'tpe' is there twice"),
        (["--sampler", "tpe", "--grid"], "--grid is the sweep in place of a search: it takes no --sampler"),
    ],
)
def test_what_is_wrong_is_named(recordings: Path, arguments: list[str], message: str) -> None:
    done = run(recordings, *arguments)
    assert done.returncode == 2 and done.stderr.endswith(f"tune.py: error: {message}\n")
