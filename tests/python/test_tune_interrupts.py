"""Ctrl-C at each moment of a run: what was measured is kept, and can be gone on with."""

import importlib
import json
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme.results.trials import read_trials, write_parquet
from mneme.tune import Study, run
from mneme.tune.interrupts import OneInterrupt
from mneme.tune.kept import writing as results
from mneme.tune.kept.storage import Storage
from mneme.tune.shown.summary import summary_text

from fake_executor import FakeExecutor, InterruptedExecutor, Outcome, go, measure, use


@pytest.mark.parametrize("sampler", ["exhaustive", "random", "tpe"])
def test_interrupted_and_resumed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sampler: str) -> None:
    first = use(monkeypatch, InterruptedExecutor(measure, after=20))
    study = go(tmp_path / "r", sampler=sampler, trials=48, seed=5)
    assert study.interrupted and first.closed and study.best is not None and study.speed_up is None
    kept = {trial.number: trial.params for trial in read_trials(tmp_path / "r/trials.jsonl")}
    assert 0 < len(kept) <= 20
    assert json.loads((tmp_path / "r/best.json").read_text())["claim"] == "not confirmed"

    second = use(monkeypatch, FakeExecutor(measure))
    whole = go(tmp_path / "r", sampler=sampler, trials=48, resume=True)
    assert not whole.interrupted and len(whole.trials) == 48 and len(second.submitted) == 48 - len(kept)
    assert {trial.number: trial.params for trial in whole.trials if trial.number in kept} == kept
    assert whole.speed_up is not None and whole.speed_up.claim == "faster"
    if sampler != "tpe":
        use(monkeypatch, FakeExecutor(measure))
        at_once = go(tmp_path / "other", sampler=sampler, trials=48, seed=5)
        assert {t.number: t.params for t in whole.trials} == {t.number: t.params for t in at_once.trials}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_results_are_written(
    monkeypatch: pytest.MonkeyPatch, executor: FakeExecutor, tmp_path: Path, number: signal.Signals
) -> None:
    def pressed(path: Path, trials: Any) -> bool:
        signal.raise_signal(number)
        return write_parquet(path, trials)

    monkeypatch.setattr(results, "write_parquet", pressed)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        study = go(tmp_path / "r", trials=8)
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not study.interrupted and study.speed_up is not None
    assert {"summary.json", "best.json"} <= {path.name for path in (tmp_path / "r").iterdir()}
    assert go(tmp_path / "r", trials=8, resume=True).summary() == study.summary()


@pytest.mark.parametrize("many", [19, 20])
def test_a_table_of_many_trials_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, many: int) -> None:
    monkeypatch.setattr(results, "_MANY", many)
    use(monkeypatch, InterruptedExecutor(measure, after=20))
    study = go(tmp_path / "r")
    remark = "no trials.parquet of so many trials after Ctrl-C; --resume writes it"
    assert study.interrupted and (remark in study.remarks) == (len(study.trials) > many)
    assert (tmp_path / "r/trials.parquet").exists() == (remark not in study.remarks)
    use(monkeypatch, FakeExecutor(measure))
    assert remark not in go(tmp_path / "r", resume=True).remarks and (tmp_path / "r/trials.parquet").exists()


def test_interrupted_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Impatient(FakeExecutor):
        def submit(self, config: mneme.Config) -> Any:
            if len(self.submitted) == 20:
                signal.raise_signal(signal.SIGINT)
            return super().submit(config)

        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            signal.raise_signal(signal.SIGINT)
            super().shutdown(wait, cancel_futures=cancel_futures)

    first = use(monkeypatch, Impatient(measure))
    study = go(tmp_path / "r", trials=48, seed=5)
    assert study.interrupted and first.closed and 0 < len(study.trials) <= 20
    assert (tmp_path / "r/summary.json").exists()


def test_an_interrupt_that_does_not_raise_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Pressed(FakeExecutor):
        def submit(self, config: mneme.Config) -> Any:
            if len(self.submitted) in (10, 20):
                signal.raise_signal(signal.SIGINT)
            return super().submit(config)

    heard = []

    def handler(number: int, frame: Any) -> None:
        heard.append(number)
        if len(heard) == 2:
            raise KeyboardInterrupt

    use(monkeypatch, Pressed(measure))
    before = signal.signal(signal.SIGINT, handler)
    try:
        study = go(tmp_path / "r", trials=48, seed=5)
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert study.interrupted and len(heard) == 2


def test_interrupted_while_the_storage_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, executor: FakeExecutor, tmp_path: Path
) -> None:
    waited = []

    def close(self: Storage, *, wait: float | None = None) -> str | None:
        waited.append(wait)
        if wait is None:
            signal.raise_signal(signal.SIGINT)
        return "not all trials are in the storage yet"

    monkeypatch.setattr(Storage, "close", close)
    study = go(tmp_path / "r", trials=8, storage="journal")
    assert waited == [None, 0] and not study.interrupted
    assert "not all trials are in the storage yet" in json.loads((tmp_path / "r/summary.json").read_text())["remarks"]


def test_interrupted_before_anything_was_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def cut_off(config: mneme.Config) -> Outcome:
        return "cancelled"

    use(monkeypatch, InterruptedExecutor(cut_off, after=0))
    study = go(tmp_path / "r", trials=8)
    assert study.interrupted and study.remarks == ["interrupted before anything was measured"]
    text = summary_text(study)
    assert "as recorded (as-built: default<O2>): not measured" in text and "nothing was measured" in text


def pressed(what: Callable[..., Any], *, when: str = "before") -> Callable[..., Any]:
    """`what`, with Ctrl-C before or after it."""

    def made(*arguments: Any, **named: Any) -> Any:
        if when == "before":
            signal.raise_signal(signal.SIGINT)
        result = what(*arguments, **named)
        if when == "after":
            signal.raise_signal(signal.SIGINT)
        return result

    return made


BEFORE_THE_FIRST_MEASUREMENT = [
    ("mneme.tune.kept.asked", "Folder", "begin"),
    ("mneme.tune.run", "_Run", "__init__"),
    ("mneme.tune.search.samplers", "Listed", "restore"),
    ("mneme.tune.kept.storage", "Storage", "__init__"),
    ("mneme.tune.run", "", "open_executor"),
    ("mneme.results.trials", "TrialLog", "__init__"),
    ("mneme.tune.run", "_Run", "_baseline"),
]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("module", "owner", "function"),
    BEFORE_THE_FIRST_MEASUREMENT,
    ids=[".".join(p) for p in BEFORE_THE_FIRST_MEASUREMENT],
)
def test_interrupted_while_it_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str, owner: str, function: str, when: str
) -> None:
    """Ctrl-C at each step between the folder of results and the first measurement leaves what can be gone on with."""
    executor = use(monkeypatch, FakeExecutor(measure))
    at = importlib.import_module(module)
    at = getattr(at, owner) if owner else at
    handler = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patched:
        patched.setattr(at, function, pressed(getattr(at, function), when=when))
        study = go(tmp_path / "r", storage="journal")
    assert study.interrupted and study.remarks[0] == "interrupted before anything was measured"
    assert not study.trials and not executor.submitted
    assert json.loads((tmp_path / "r/summary.json").read_text())["interrupted"] is True
    assert signal.getsignal(signal.SIGINT) is handler
    opened = function in ("open_executor", "_baseline") or owner == "TrialLog"
    assert executor.closed == opened
    whole = go(tmp_path / "r", storage="journal", resume=True)
    assert not whole.interrupted and len(whole.trials) == 64 and whole.speed_up is not None


def test_interrupted_while_it_begins_to_go_on(executor: FakeExecutor, tmp_path: Path) -> None:
    go(tmp_path / "r", trials=8)
    best = (tmp_path / "r/best.json").read_bytes()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run, "open_executor", pressed(run.open_executor))
        study = go(tmp_path / "r", trials=12, resume=True)
    assert study.interrupted and len(study.trials) == 8 and study.remarks == []
    assert (tmp_path / "r/best.json").read_bytes() == best
    assert len(go(tmp_path / "r", trials=12, resume=True).trials) == 12


def test_interrupted_where_nothing_is_left_to_do(executor: FakeExecutor, tmp_path: Path) -> None:
    done = go(tmp_path / "r", trials=8)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Study, "finished", pressed(Study.finished))
        with pytest.raises(KeyboardInterrupt):
            go(tmp_path / "r", trials=8, resume=True)
    assert go(tmp_path / "r", trials=8, resume=True).summary() == done.summary()


def test_an_interrupt_waits_until_it_may_be_heard_and_is_heard_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    with OneInterrupt() as interrupt:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupt.open()
        signal.raise_signal(signal.SIGINT)  # it is closed again
        with pytest.raises(KeyboardInterrupt):
            interrupt.open()
        interrupt.open()  # none waits any more
        interrupt.close()
        signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_that_is_ignored_stays_so_and_other_threads_change_nothing() -> None:
    before = [signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        with OneInterrupt() as interrupt:
            assert signal.getsignal(signal.SIGINT) is signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
            signal.raise_signal(signal.SIGINT)
            interrupt.open()
            signal.raise_signal(signal.SIGTERM)
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)
    seen: list[Any] = []

    def elsewhere() -> None:
        with OneInterrupt() as interrupt:
            interrupt.open()
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
