"""Executor: many configurations at once, and whatever can happen to them, to the workers and to this process."""

import asyncio
import concurrent.futures
import gc
import inspect
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme._device import devices_in_words
from mneme.errors import ClosedError, IncompatibleError, InvalidArgumentError, MnemeError, UnavailableError
from mneme.executor import _devices, _number, _seconds, _Told, _Work
from mneme.progress import Bar

OtherCode = Callable[[str], str]
QUICK = {"iterations": 2}
LONG = {"stop": "time", "max_time": 10000, "max_iterations": 1000000}  # so long that nobody waits for its end


def config(**members: Any) -> mneme.Config:
    return mneme.Config(execution=members.pop("execution", QUICK), **members)


def test_the_limits_are_those_that_the_reference_lists() -> None:
    text = (Path(__file__).parents[2] / "docs/reference/cli.md").read_text()
    rows = re.findall(r"^\| (.*?) \| (\d+) \S+ \| (\d+) \S+ \|$", text, re.M)
    listed = {row[0].split(";")[0]: row[1:] for row in rows}
    calls: tuple[Callable[..., object], ...] = (mneme.replay, mneme.Executor)
    for column, call in enumerate(calls):
        defaults = {name: parameter.default for name, parameter in inspect.signature(call).parameters.items()}
        assert defaults["compile_timeout"] == float(listed["one compilation"][column])
        assert defaults["run_timeout"] == float(listed["one launch"][column])
    assert defaults["compile_memory"] == int(listed["memory that one compilation takes in addition"][1]) << 30


def until(what: Callable[[], object]) -> None:
    """Waits for it; the test's own limit ends what never comes."""
    while not what():
        time.sleep(0.02)


@pytest.fixture
def executor(instance: mneme.Instance) -> Iterator[mneme.Executor]:
    with mneme.Executor(instance, device="cpu", compile_workers=1) as opened:
        yield opened


def test_futures_are_those_of_the_standard_library(executor: mneme.Executor) -> None:
    called: list[Any] = []
    futures = [executor.submit(config(passes=f"default<O{level}>")) for level in range(4)]
    for future in futures:
        future.add_done_callback(called.append)
    done, pending = concurrent.futures.wait(futures)
    assert (done, pending) == (set(futures), set())
    assert all(future.result().verified for future in concurrent.futures.as_completed(futures))
    assert all(isinstance(future, concurrent.futures.Future) for future in futures)
    assert [future.exception() for future in futures] == [None] * 4
    assert [future.result().config for future in futures] == [future.config for future in futures]
    until(lambda: len(called) == 4)
    assert set(called) == set(futures)


def test_a_coroutine_can_wait_for_a_result(executor: mneme.Executor) -> None:
    async def measure() -> Any:
        futures = [executor.submit(config(block=block, keep_threads=True)) for block in (32, 64)]
        return await asyncio.gather(*map(asyncio.wrap_future, futures))

    assert [result.verified for result in asyncio.run(measure())] == [True, True]


def test_maps_in_order_and_asks_for_no_more_than_it_needs(executor: mneme.Executor) -> None:
    asked: list[int] = []

    def configs() -> Iterator[mneme.Config]:
        for block in (32, 64, 128, 32, 64, 128):
            asked.append(block)
            yield config(block=block, keep_threads=True)

    results = executor.map(configs(), ahead=2)
    assert asked == [32, 64]
    first = next(results)
    assert first.details["block"]["x"] == 32
    assert [result.details["block"]["x"] for result in results] == [64, 128, 32, 64, 128]
    assert list(executor.map([])) == []
    with pytest.raises(InvalidArgumentError, match="'ahead' must be a whole number from 1"):
        executor.map([], ahead=0)


def test_a_map_that_takes_too_long_says_so(executor: mneme.Executor) -> None:
    with pytest.raises(TimeoutError):
        list(executor.map([config(execution=LONG)], timeout=0.01))


def test_the_time_of_a_map_is_that_of_all_its_results(
    executor: mneme.Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = []

    class Waited(concurrent.futures.Future[int]):
        def result(self, timeout: float | None = None) -> int:
            waited.append(timeout)
            return len(waited)

    times = iter([100.0, 101.0, 104.0, 109.0])
    monkeypatch.setattr(executor, "submit", lambda config: Waited())
    monkeypatch.setattr("mneme.executor.time", types.SimpleNamespace(monotonic=lambda: next(times)))
    assert list(executor.map([config()] * 3, timeout=10)) == [1, 2, 3]
    assert waited == [9.0, 6.0, 1.0]


def test_a_map_that_is_left_gives_the_rest_up(executor: mneme.Executor) -> None:
    results = executor.map([config(), config(execution=LONG, block=64, keep_threads=True)])
    assert next(results).verified
    results.close()  # type: ignore[attr-defined]
    until(lambda: executor.progress().done == 2)
    assert executor.progress().failures == {"cancelled": 1}


def test_what_fails_is_a_result_and_the_others_go_on(instance: mneme.Instance, other_code: OtherCode) -> None:
    with mneme.Executor(instance, device="cpu", run_timeout=1) as executor:
        wanted = {
            None: config(),
            "wrong_result": config(grid=1),
            "compile_error": config(passes="nonsense"),
            "invalid_launch": config(block=4096),
            "device_fault": config(ir=other_code("fault")),
            "run_timeout": config(ir=other_code("endless")),
        }
        futures = {failure: executor.submit(one) for failure, one in wanted.items()}
        results = {failure: future.result() for failure, future in futures.items()}
        assert executor.submit(config(passes="default<O1>")).result().verified
        assert executor.problem is None
    for failure, result in results.items():
        assert result.failure == failure
        assert (result.reason == "") == (failure is None)
    assert executor.progress().failures == {failure: 1 for failure in wanted if failure}


def test_what_ends_in_the_same_code_is_measured_once(instance: mneme.Instance) -> None:
    with mneme.Executor(instance, device="cpu") as executor:
        futures = [executor.submit(config(passes=passes)) for passes in ("default<O3>", "default<O3>,verify")]
        results = [future.result() for future in futures]
    assert sorted(result.origin for result in results) == ["measured", "shared"]
    measured, shared = sorted(results, key=lambda result: result.origin)
    assert shared.shared_with == measured.config.digest
    assert shared.times.tolist() == measured.times.tolist()
    with mneme.Executor(instance, device="cpu", share=False) as executor:
        assert [r.origin for r in executor.map([config(), config()])] == ["measured", "measured"]


def test_what_has_not_begun_is_given_up(executor: mneme.Executor) -> None:
    blocking = executor.submit(config(execution=LONG))
    waiting = executor.submit(config(block=64, keep_threads=True))
    assert waiting.cancel()
    assert waiting.result().failure == "cancelled"
    assert not waiting.cancelled()  # it has a result
    assert not waiting.cancel()
    assert blocking.cancel()
    assert blocking.result().failure == "cancelled"


def test_what_is_timed_is_given_up_and_keeps_its_times(executor: mneme.Executor) -> None:
    future = executor.submit(config(execution=LONG))
    assert future.times_so_far().dtype == "float64"
    until(lambda: len(future.times_so_far()) > 3)
    seen = future.times_so_far()
    future.cancel()
    result = future.result()
    assert result.failure == "cancelled"
    assert result.time is None
    assert result.times[: len(seen)].tolist() == seen.tolist()


def test_a_baseline_is_measured_for_itself(instance: mneme.Instance, tmp_path: Path) -> None:
    log = tmp_path / "results.jsonl"
    with mneme.Executor(instance, device="cpu", log=log) as executor:
        first = executor.submit(config()).result()
        again = executor.measure_anew(config(), "baseline").result()
        labelled = executor.submit(config(), label="once more").result()
    assert (first.label, again.label, labelled.label) == (None, "baseline", "once more")
    assert {first.origin, again.origin, labelled.origin} == {"measured"}
    assert [result.label for result in mneme.read_log(log).results] == [None, "baseline", "once more"]


def test_its_log_is_what_a_run_resumes_from(instance: mneme.Instance, tmp_path: Path) -> None:
    log = tmp_path / "results.jsonl"
    configs = [config(), config(grid=1), config(block=64, keep_threads=True)]
    with mneme.Executor(instance, device="cpu", log=log) as executor:
        before = list(executor.map(configs[:2]))
    with pytest.raises(InvalidArgumentError, match="there are results already; resume that run"):
        mneme.Executor(instance, device="cpu", log=log)
    with mneme.Executor(instance, device="cpu", log=log, resume=True) as executor:
        after = list(executor.map(configs))
    assert [result.origin for result in after] == ["resumed", "resumed", "measured"]
    assert [result.time for result in after[:2]] == [result.time for result in before]
    about, results = mneme.read_log(log)
    assert about["static_hash"] == instance.kernel.hash
    assert about["database"] == instance.database.path
    assert [result.config for result in results] == configs
    assert after[1].failure == "wrong_result"
    log.write_text(log.read_text().replace(instance.hash, "0" * 32))
    with pytest.raises(IncompatibleError, match="its results are about"):
        mneme.Executor(instance, device="cpu", log=log, resume=True)
    log.write_text("nothing\n")
    with pytest.raises(MnemeError, match="this is no log of Mneme"):
        mneme.Executor(instance, device="cpu", log=log, resume=True)


def test_progress_is_told(instance: mneme.Instance) -> None:
    told: list[mneme.Progress] = []
    with mneme.Executor(instance, device="cpu", progress=told.append) as executor:
        result = executor.submit(config(execution={"iterations": 5})).result()
        assert result.verified
        assert executor.progress().done == 1
    last = told[-1]
    assert (last.submitted, last.done, last.measured, last.shared, last.failures) == (1, 1, 1, 0, {})
    assert (last.devices_ready, last.distinct_objects) == (1, 1)
    assert last.best_time == executor.progress().best_time == result.time
    assert last.passed > 0
    assert executor.progress().done == 1
    assert str(last).startswith("1 of 1, ")


def test_each_figure_of_progress_is_its_own(instance: mneme.Instance, tmp_path: Path) -> None:
    log = tmp_path / "results.jsonl"
    with mneme.Executor(instance, device="cpu", log=log) as executor:
        known = executor.submit(config()).result()
    long = {"stop": "time", "max_time": 1.5, "max_iterations": 1000000}
    with mneme.Executor(instance, device="cpu", log=log, resume=True, compile_workers=1) as executor:
        configs = [config(), config(grid=1), config(block=64, keep_threads=True), config(block=2048)]
        configs += [config(passes="default<O1>", execution=long), config(passes="default<O1>,verify", execution=long)]
        results = list(executor.map(configs))
        progress = executor.progress()
    assert [result.failure for result in results] == [None, "wrong_result", None, "invalid_launch", None, None]
    assert progress.submitted == progress.done == 6
    assert (progress.measured, progress.shared, progress.resumed) == (2, 1, 1)
    assert progress.failures == {"wrong_result": 1, "invalid_launch": 1}
    assert (progress.compiling, progress.ready, progress.measuring) == (0, 0, 0)
    assert (progress.workers_replaced, progress.devices_ready) == (0, 1)
    assert progress.best_time == min(result.time for result in [known, *results] if result.time is not None)
    assert 1.5e9 < progress.device_busy <= progress.passed
    assert 0 < progress.compile_busy < progress.passed


@pytest.mark.parametrize(
    ("what", "failure", "reason"),
    [
        ("compile", "compile_timeout", "compiling took longer than 2 s, and was ended"),
        ("run", "run_timeout", "the kernel ran longer than 2 s, and was ended"),
    ],
)
@pytest.mark.parametrize("alone", [True, False])
def test_each_limit_is_of_its_own_work(
    instance: mneme.Instance,
    hostile_plugin: str,
    other_code: OtherCode,
    what: str,
    failure: str,
    reason: str,
    alone: bool,
) -> None:
    hangs = {
        "compile": config(passes="function(hostile-hang)", pass_plugins=[hostile_plugin]),
        "run": config(ir=other_code("endless")),
    }
    limits: dict[str, Any] = {"compile_timeout": 600, "run_timeout": 600, f"{what}_timeout": 2}
    if alone:
        result = mneme.replay(instance, hangs[what], device="cpu", **limits)
    else:
        with mneme.Executor(instance, device="cpu", compile_workers=1, **limits) as executor:
            result = executor.submit(hangs[what]).result()
    assert (result.failure, result.reason) == (failure, reason)


def test_a_progress_function_that_fails_is_not_called_again(
    instance: mneme.Instance, caplog: pytest.LogCaptureFixture
) -> None:
    called: list[int] = []

    def fail(progress: mneme.Progress) -> None:
        called.append(1)
        raise ValueError("no")

    with mneme.Executor(instance, device="cpu", progress=fail) as executor:
        assert [result.verified for result in executor.map([config()] * 3)] == [True] * 3
    assert called == [1]
    assert "a progress function failed; it is not called any more" in caplog.text


def test_a_bar_is_shown(instance: mneme.Instance, capsys: pytest.CaptureFixture[str]) -> None:
    with mneme.Executor(instance, device="cpu", progress=True) as executor:
        executor.submit(config()).result()
        executor.submit(config(grid=1)).result()
    shown = capsys.readouterr().err
    assert "scale(int*, int, int)" in shown
    assert "2 of 2" in shown
    assert "1 wrong_result" in shown


def test_progress_needs_no_rich(
    instance: mneme.Instance, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("rich", "rich.console", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    with mneme.Executor(instance, device="cpu", progress=True) as executor:
        executor.submit(config()).result()
    assert capsys.readouterr().err.startswith("scale(int*, int, int): 1 of 1, ")


def test_a_callback_that_fails_does_not_stop_the_others(executor: mneme.Executor) -> None:
    def fail(future: Any) -> None:
        raise ValueError("no")

    future = executor.submit(config())
    future.add_done_callback(fail)
    assert future.result().verified
    assert executor.submit(config(grid=1)).result().failure == "wrong_result"


def test_a_future_that_somebody_else_answers_does_not_stop_the_others(executor: mneme.Executor) -> None:
    future = executor.submit(config())
    future.set_exception(ValueError("mine"))
    assert executor.submit(config(grid=1)).result().failure == "wrong_result"


def test_threads_share_it(executor: mneme.Executor) -> None:
    results: list[mneme.Result] = []

    def work(level: int) -> None:
        results.extend(executor.map([config(passes=f"default<O{level}>")] * 5))

    threads = [threading.Thread(target=work, args=(level,)) for level in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 15
    assert all(result.verified for result in results)


def test_shut_down_it_takes_no_more(instance: mneme.Instance) -> None:
    executor = mneme.Executor(instance, device="cpu")
    future = executor.submit(config())
    executor.shutdown()
    assert future.done()
    assert future.result().verified
    for submit in (executor.submit, lambda c: executor.measure_anew(c, "again"), lambda c: list(executor.map([c]))):
        with pytest.raises(ClosedError, match=r"^submitting to an executor: it is shut down$"):
            submit(config())
    assert issubclass(ClosedError, RuntimeError)
    assert "shut down" in repr(executor)
    executor.shutdown()
    executor.shutdown(cancel_futures=True)


def test_shut_down_without_waiting_it_ends_when_all_is_done(instance: mneme.Instance) -> None:
    executor = mneme.Executor(instance, device="cpu")
    futures = [executor.submit(config(passes=f"default<O{level}>")) for level in (1, 2)]
    executor.shutdown(wait=False)
    with pytest.raises(ClosedError):
        executor.submit(config())
    assert all(future.result().verified for future in futures)
    until(lambda: not executor._work._thread.is_alive())
    idle = mneme.Executor(instance, device="cpu")
    idle.shutdown(wait=False)
    until(lambda: not idle._work._thread.is_alive())


def test_shut_down_it_gives_up_what_is_not_done_where_that_is_asked(instance: mneme.Instance) -> None:
    executor = mneme.Executor(instance, device="cpu")
    futures = [executor.submit(config(execution=LONG)) for _ in range(3)]
    executor.shutdown(cancel_futures=True)
    assert [future.result().failure for future in futures] == ["cancelled"] * 3


def test_an_exception_ends_it_at_once(instance: mneme.Instance) -> None:
    with pytest.raises(ZeroDivisionError), mneme.Executor(instance, device="cpu") as executor:
        future = executor.submit(config(execution=LONG))
        raise ZeroDivisionError
    assert future.result().failure == "cancelled"


def test_it_lives_as_long_as_somebody_waits_for_it(instance: mneme.Instance) -> None:
    executor = mneme.Executor(instance, device="cpu")
    gone, thread = weakref.ref(executor), executor._work._thread
    future = executor.submit(config())
    del executor
    gc.collect()
    assert future.result().verified
    until(lambda: gone() is None and not thread.is_alive())


def zygote() -> int:
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    threads = [Path(f"/proc/self/task/{task}/children").read_text().split() for task in os.listdir("/proc/self/task")]
    for child in {*children, *(one for some in threads for one in some)}:
        if "worker" in Path(f"/proc/{child}/cmdline").read_text().split("\0"):
            return int(child)
    raise AssertionError("there is no zygote")


def test_a_worker_that_is_killed_is_replaced(executor: mneme.Executor) -> None:
    assert executor.submit(config()).result().verified
    (worker, *_) = Path(f"/proc/{zygote()}/task/{zygote()}/children").read_text().split()
    os.kill(int(worker), signal.SIGKILL)
    until(lambda: executor.progress().workers_replaced > 0)
    results = list(executor.map([config(block=block, keep_threads=True) for block in (32, 64)]))
    assert [result.verified for result in results] == [True, True]


def test_workers_that_are_all_gone_end_it_with_the_reason(executor: mneme.Executor) -> None:
    assert executor.submit(config()).result().verified
    os.kill(zygote(), signal.SIGKILL)
    until(lambda: executor.problem)
    result = executor.submit(config(block=64, keep_threads=True)).result()
    assert result.failure == "worker_lost"
    assert isinstance(executor.problem, UnavailableError)
    assert str(executor.problem) in result.reason


def test_no_command_for_its_workers(instance: mneme.Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEME_COMMAND", "/nowhere/mneme")
    with pytest.raises(UnavailableError, match="starting /nowhere/mneme for the pool"):
        mneme.Executor(instance, device="cpu")


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"instance": "scale"}, "an Instance or several are needed, not str"),
    ({"instance": []}, "an Instance or several are needed, not list"),
    ({"instance": [3, "x"]}, "an Instance or several are needed, not of int, str"),
    *(
        (
            {"weights": given},
            '\'weights\' must be "program", "equal" or a number above 0 for each of 1 instances, ' + f"not {given!r}",
        )
        for given in ("both", 1.0, [], [1, 2], [0], [-1.0], [float("inf")], ["1"])
    ),
    ({"device": "gpu"}, f"'device' is {devices_in_words()}, not 'gpu'"),
    ({"device": "cpu:1"}, "there is no cpu device 1: this machine has 1"),
    ({"devices": [0, 1]}, "there is no cpu device 1: this machine has 1"),
    ({"devices": [0, 0]}, "'devices' must be \"all\" or a list of different numbers, not [0, 0]"),
    ({"devices": "0"}, "'devices' must be \"all\" or a list of different numbers, not '0'"),
    ({"devices": []}, "'devices' must be \"all\" or a list of different numbers, not []"),
    ({"devices": [[]]}, "'devices' must be a whole number from 0 to 1073741824, not []"),
    ({"devices": [-1]}, "'devices' must be a whole number from 0 to 1073741824, not -1"),
    ({"device": "cpu:0", "devices": [0]}, "'device' has a number already, so that 'devices' cannot name others"),
    ({"compile_workers": 0}, "'compile_workers' must be a whole number from 1 to 4096, not 0"),
    ({"compile_workers": 1.5}, "'compile_workers' must be a whole number from 1 to 4096, not 1.5"),
    ({"compile_workers": True}, "'compile_workers' must be a whole number from 1 to 4096, not True"),
    ({"compile_timeout": 0}, "'compile_timeout' must be a number of seconds above 0 and up to 1000000, not 0"),
    ({"run_timeout": float("nan")}, "'run_timeout' must be a number of seconds above 0 and up to 1000000, not nan"),
    ({"run_timeout": "1"}, "'run_timeout' must be a number of seconds above 0 and up to 1000000, not '1'"),
    ({"compile_memory": -1}, "'compile_memory' must be a whole number from 1 to 4611686018427387904, not -1"),
    ({"log": 3}, "a path is expected, not 3"),
    ({"resume": True}, "'resume' needs a 'log' to resume from"),
    ({"progress": "yes"}, "'progress' must be True or a function, not 'yes'"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_refuses_what_is_wrong_and_says_what(instance: mneme.Instance, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        mneme.Executor(**{"instance": instance, "device": "cpu", **options})
    assert str(raised.value) == f"opening an executor: {message}"


@pytest.mark.parametrize(
    ("device", "devices", "chosen"),
    [
        ("cuda", None, [0]),
        ("cuda:0", None, [0]),
        ("cuda:2", None, [2]),
        ("cuda", "all", [0, 1, 2]),
        ("cuda", [2, 0], [2, 0]),
        ("cuda", range(1, 3), [1, 2]),
    ],
)
def test_the_devices_that_are_named_are_used(
    monkeypatch: pytest.MonkeyPatch, device: str, devices: Any, chosen: list[int]
) -> None:
    monkeypatch.setattr(mneme._native, "count_devices", lambda kind: 3)
    assert _devices(device, devices) == ("cuda", chosen)


@pytest.mark.parametrize(("device", "devices"), [("cuda:3", None), ("cuda", [0, 3])])
def test_a_device_behind_the_last_is_none(monkeypatch: pytest.MonkeyPatch, device: str, devices: Any) -> None:
    monkeypatch.setattr(mneme._native, "count_devices", lambda kind: 3)
    with pytest.raises(InvalidArgumentError, match="there is no cuda device 3: this machine has 3"):
        _devices(device, devices)


def test_each_option_is_the_pools(instance: mneme.Instance, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[Any] = []

    def refuse(database: Any, kernel: Any, options: Any) -> None:
        opened.append(options)
        raise UnavailableError("not here")

    monkeypatch.setattr(mneme._native, "Pool", types.SimpleNamespace(open=refuse))
    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {"compile_workers": 3, "share": False, "resume": True, "log": "log.jsonl"}
    given |= {"compile_timeout": 7, "run_timeout": 5.5, "compile_memory": 1 << 20}
    for options in ({}, given):
        with pytest.raises(UnavailableError):
            mneme.Executor(instance, device="cpu", **options)
    names = ["instances", "kind", "devices", *given]
    usual, other = ({name: getattr(options, name) for name in names} for options in opened)
    common = {"instances": [instance.hash], "kind": "cpu", "devices": [0]}
    assert other == {**common, **given, "log": str(tmp_path / "log.jsonl")}
    limits = {"compile_timeout": 60.0, "run_timeout": 10.0, "compile_memory": 8 << 30}
    assert usual == {**common, "compile_workers": 0, "share": True, "resume": False, "log": "", **limits}


def test_a_limit_may_be_the_least_and_the_most() -> None:
    assert [_number("n", value, 1, 4096) for value in (1, 4096)] == [1, 4096]
    assert [_seconds("s", value) for value in (1e-9, 1_000_000)] == [1e-9, 1e6]
    for number in (0, 4097, 1.0, None):
        with pytest.raises(InvalidArgumentError, match=f"'n' must be a whole number from 1 to 4096, not {number}"):
            _number("n", number, 1, 4096)
    for seconds in (-1.0, 1_000_001, float("inf"), None, True):
        with pytest.raises(InvalidArgumentError, match=f"'s' must be .*, not {seconds}"):
            _seconds("s", seconds)


def test_the_rate_of_what_has_not_begun_is_none() -> None:
    assert (mneme.Progress(done=3).rate, mneme.Progress(done=3, passed=5e8).rate) == (0.0, 6.0)


def test_refuses_instances_that_do_not_go_together(instance: mneme.Instance, copied_recordings: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="an instance is given twice"):
        mneme.Executor([instance, instance])
    other = mneme.Database(copied_recordings)["scale"][0]
    with pytest.raises(InvalidArgumentError, match="its instances must be of one kernel"):
        mneme.Executor([instance, other])
    with mneme.Executor(instance.kernel, device="cpu") as executor:
        assert executor.instances == (instance,)


def test_refuses_to_submit_what_is_wrong(executor: mneme.Executor) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^submitting to an executor: 'config' must be a Config, not dict$"):
        executor.submit({})  # type: ignore[arg-type]
    for label in (3, "", "two\nlines"):
        with pytest.raises(InvalidArgumentError) as raised:
            executor.submit(config(), label=label)  # type: ignore[arg-type]
        assert str(raised.value) == f"submitting to an executor: 'label' must be printable text, not {label!r}"
    with pytest.raises(InvalidArgumentError):
        executor.measure_anew(config(), None)  # type: ignore[arg-type]


def test_a_log_that_is_none(tmp_path: Path) -> None:
    for text in ("", "{}\n", '{"mneme_log": 1, "about": {}}\n{"configuration": {}}\n'):
        (tmp_path / "log").write_text(text)
        if text:
            with pytest.raises(MnemeError):
                mneme.read_log(tmp_path / "log")
    with pytest.raises(mneme.errors.NotFoundError):
        mneme.read_log(tmp_path / "nowhere")


def test_of_several_instances_a_result_has_the_whole() -> None:
    one = {"reg_usage": 20, "obj_size": 100, "times": {"codegen": 1.0, "load": 9.0}}
    other = {"reg_usage": 30, "obj_size": 90, "times": {"codegen": 2.0, "assemble": 4.0}}
    result = mneme.Result.from_dict(
        {
            "configuration": {},
            "failure": None,
            "result": {
                "verified": True,
                "exec_time": [3.0, 1.0],
                "instances": [{"record_id": "a" * 32, "result": one}, {"record_id": "b" * 32, "result": other}],
            },
        }
    )
    assert (result.time, result.registers, result.object_size, result.compile_time) == (2.0, 30, 100, 7.0)


# What happens to the process.

PROGRAM = """
import os, sys, time, mneme
instance = mneme.Database(sys.argv[1])["scale"][0]
def config(**members):
    return mneme.Config(execution={"iterations": 2}, **members)
def endless():
    return mneme.Config(ir=sys.argv[2])
"""


def start(code: str, recordings: Path, other_code: OtherCode, folder: Path) -> subprocess.Popen[str]:
    arguments = [
        sys.executable,
        "-W",
        "ignore::DeprecationWarning",
        "-c",
        PROGRAM + code,
        str(recordings),
        other_code("endless"),
    ]
    pipe = subprocess.PIPE
    return subprocess.Popen(arguments, stdout=pipe, stderr=pipe, text=True, cwd=folder, start_new_session=True)


def processes_of(session: int) -> list[str]:
    found = subprocess.run(["ps", "-o", "stat=,args=", "-s", str(session)], capture_output=True, text=True, check=False)
    return [line for line in found.stdout.splitlines() if not line.startswith("Z")]


@pytest.mark.parametrize(
    "waiting", ["future.result()", "list(executor.map([endless()]))", "executor.shutdown()", "pass"]
)
def test_an_interrupt_ends_it_and_keeps_what_was_measured(
    waiting: str, recordings: Path, other_code: OtherCode, tmp_path: Path
) -> None:
    """Also while the device is in a kernel that never ends, for which it would wait long."""
    code = f"""
with mneme.Executor(instance, device="cpu", log="results.jsonl", run_timeout=10000) as executor:
    assert executor.submit(config()).result().verified
    future = executor.submit(endless())
    while executor.progress().measuring == 0: time.sleep(0.02)
    print("waiting", flush=True)
    {waiting}
"""
    process = start(code, recordings, other_code, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGINT, errors
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert processes_of(process.pid) == []
    assert [result.verified for result in mneme.read_log(tmp_path / "results.jsonl").results] == [True]


@pytest.mark.parametrize("end", ["sys.exit(3)", "executor = None", "os.fork()"])
def test_the_end_of_the_interpreter_ends_it(end: str, recordings: Path, other_code: OtherCode, tmp_path: Path) -> None:
    code = f"""
executor = mneme.Executor(instance, device="cpu", run_timeout=10000, progress=lambda p: None)
future = executor.submit(endless())
while executor.progress().measuring == 0: time.sleep(0.02)
{end}
"""
    process = start(code, recordings, other_code, tmp_path)
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, output, errors) == (3 if "sys.exit" in end else 0, "", "")
    assert processes_of(process.pid) == []


def test_a_forked_process_cannot_use_it_and_does_not_disturb_it(instance: mneme.Instance) -> None:
    executor = mneme.Executor(instance, device="cpu")
    future = executor.submit(config(execution=LONG))
    until(lambda: len(future.times_so_far()) > 0)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        said = []
        for use in (lambda: future.result(), lambda: executor.submit(config()), lambda: list(executor.map([config()]))):
            try:
                use()
            except ClosedError as failure:
                said.append(str(failure))
        assert not future.cancel()
        executor.shutdown()
        executor.shutdown(cancel_futures=True)
        os.write(writer, "\n".join(said).encode())
        del executor, future
        gc.collect()
        time.sleep(1000)  # it is there as long as the parent works
    os.close(writer)
    try:
        assert os.read(reader, 10000).decode().split("\n") == [
            "waiting for a result: it comes to the process that this one was forked from",
            "submitting to an executor: it is of the process that this one was forked from; open another",
            "submitting to an executor: it is of the process that this one was forked from; open another",
        ]
        assert executor.submit(config(block=64, keep_threads=True)).cancel()
        assert not future.done()
        executor.shutdown(cancel_futures=True)
        assert future.result().failure == "cancelled"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reader)


def test_processes_of_multiprocessing_may_be_forked_meanwhile(executor: mneme.Executor) -> None:
    future = executor.submit(config())
    with multiprocessing.get_context("fork").Pool(2) as workers:
        assert workers.map(abs, [-1, -2]) == [1, 2]
    assert future.result().verified


def test_what_is_shown_of_it_ends_where_it_does_not_open(
    instance: mneme.Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[object] = []
    monkeypatch.setenv("MNEME_COMMAND", "/nowhere/mneme")
    monkeypatch.setattr(Bar, "close", lambda bar: ended.append(bar))
    with pytest.raises(UnavailableError):
        mneme.Executor(instance, device="cpu", progress=True)
    assert len(ended) == 1


def test_progress_is_told_no_more_often_than_each_tenth_of_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("mneme.executor.time", types.SimpleNamespace(monotonic=lambda: now))
    seen: list[int] = []
    told = _Told(lambda progress: seen.append(progress.done))
    for done, now in enumerate((100.0, 100.05, 100.09, 100.11, 100.15, 100.25)):  # noqa: B007
        told.tell(lambda: {"done": done})  # noqa: B023
    assert seen == [0, 3, 5] and told.next_in() == pytest.approx(0.1)
    told.tell(lambda: {"done": 6}, last=True)
    assert seen == [0, 3, 5, 6]


def test_progress_that_is_as_it_was_is_not_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("mneme.executor.time", types.SimpleNamespace(monotonic=lambda: now))
    seen: list[tuple[int, float]] = []
    told = _Told(lambda progress: seen.append((progress.done, progress.passed)))
    for now, done in ((101.0, 1), (102.0, 1), (103.0, 2), (104.0, 2)):
        told.tell(lambda: {"done": done, "passed": now})  # noqa: B023
    assert seen == [(1, 101.0), (2, 103.0)]
    told.tell(lambda: {"done": 2, "passed": 104.0}, last=True)
    assert seen[2:] == [(2, 104.0)]


def test_the_best_time_is_the_least() -> None:
    done = [mneme._native.PoolResult.from_dict(line_of(time)) for time in (30.0, 20.0, 40.0, None)]
    arrived: Iterator[Any] = iter([[(1, done[0]), (2, done[1])], [(3, done[2])], [(4, done[3])], None])
    work = _Work(types.SimpleNamespace(take=lambda seconds: next(arrived), progress=dict), None)  # type: ignore[arg-type]
    work._thread.join()
    assert work.progress() == {"best_time": 20.0}


def line_of(time: float | None) -> dict[str, Any]:
    result = {"verified": True, "exec_time": [time]} if time else {}
    return {"configuration": {}, "failure": None if time else "run_timeout", "reason": "", "result": result}
