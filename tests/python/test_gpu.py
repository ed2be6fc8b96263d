"""Sessions and executors on a GPU: skipped, with the reason, where there is none."""

import time
from collections.abc import Callable
from pathlib import Path

import mneme
import pytest
from mneme._device import choose_device

pytestmark = pytest.mark.skipif(choose_device(None, "testing")[0] != "cuda", reason="there is no GPU here")


def test_a_session_replays_what_the_cpu_device_recorded(instance: mneme.Instance) -> None:
    with mneme.Session(instance) as session:
        results = [session.replay(mneme.Config(block=block, keep_threads=True)) for block in (64, 128)]
        assert session.replay(mneme.Config(grid=1)).failure == "wrong_result"
    for result in results:
        assert result.verified, result.reason
        assert result.details["device_kind"] == "cuda"
        assert result.registers
        assert result.object_size


def test_what_fails_costs_its_result_and_nothing_else(
    instance: mneme.Instance, other_code: Callable[[str], str], tmp_path: Path
) -> None:
    with mneme.Executor(instance, device="cuda", devices="all", run_timeout=2, log=tmp_path / "log") as executor:
        fault = executor.submit(mneme.Config(ir=other_code("fault")))
        endless = executor.submit(mneme.Config(ir=other_code("endless")))
        assert fault.result().failure == "device_fault"
        assert endless.result().failure == "run_timeout"
        blocks = (32, 64, 128)
        results = list(executor.map(mneme.Config(block=block, keep_threads=True) for block in blocks))
    assert [result.failure for result in results] == [None] * 3
    assert len(mneme.read_log(tmp_path / "log").results) == 5


def test_what_is_timed_is_given_up(instance: mneme.Instance) -> None:
    with mneme.Executor(instance, device="cuda") as executor:
        future = executor.submit(mneme.Config(execution={"stop": "time", "max_time": 1000, "max_iterations": 1000000}))
        while not len(future.times_so_far()):
            time.sleep(0.02)
        future.cancel()
        assert future.result().failure == "cancelled"
        assert len(future.result().times)


def test_an_executor_is_closed_in_the_middle_of_a_kernel(
    instance: mneme.Instance, other_code: Callable[[str], str]
) -> None:
    executor = mneme.Executor(instance, device="cuda", run_timeout=1000)
    future = executor.submit(mneme.Config(ir=other_code("endless")))
    while not executor.progress().measuring:
        time.sleep(0.02)
    executor.shutdown(cancel_futures=True)
    assert future.result().failure == "cancelled"
    with mneme.Executor(instance, device="cuda") as executor:
        assert executor.submit(mneme.Config()).result().verified
