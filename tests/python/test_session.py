"""Session and replay: in this process, one configuration at a time."""

import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme._device import choose_device, devices_in_words
from mneme._views import duration
from mneme.errors import ClosedError, InvalidArgumentError, UnavailableError
from mneme.session import takes

QUICK = {"iterations": 2}


def test_replays_any_number_of_configurations(instance: mneme.Instance) -> None:
    with mneme.Session(instance, device="cpu") as session:
        results = [
            session.replay(mneme.Config(block=block, keep_threads=True, execution=QUICK)) for block in (32, 64, 128)
        ]
        assert session.device in repr(session)
    assert [result.verified for result in results] == [True] * 3
    assert [result.details["block"]["x"] for result in results] == [32, 64, 128]


def test_a_result_has_all_that_is_known(instance: mneme.Instance) -> None:
    import numpy

    config = mneme.Config(passes="default<O1>", execution={"iterations": 5})
    result = mneme.replay(instance, config, device="cpu", isolated=False)
    assert (result.verified, result.failed, result.failure, result.reason) == (True, False, None, "")
    assert (result.origin, result.shared_with, result.label) == ("measured", None, None)
    assert result.config == config
    assert result.times.shape == (5,)
    assert result.time is not None and result.time == numpy.median(result.times)
    assert (result.times > 0).all()
    assert result.object_size == result.details["obj_size"] > 0
    assert result.registers == result.details.get("reg_usage")
    assert result.compile_time is not None
    assert 0 < result.compile_time <= sum(result.details["times"].values())
    assert result.details["device_kind"] == "cpu"
    assert result.to_dict()["configuration"] == config.to_dict()
    assert repr(result) == f"Result(time={duration(result.time)}, config={config!r})"
    for same in (pickle.loads(pickle.dumps(result)), mneme.Result.from_dict(result.to_dict())):
        assert same == result
        assert hash(same) == hash(result)
        assert same.time == result.time
    with pytest.raises(AttributeError, match="a Result does not change"):
        result.times = numpy.zeros(1)


@pytest.mark.parametrize(
    ("members", "failure", "reason"),
    [
        ({"grid": 1}, "wrong_result", "memory differs in 2 places"),
        ({"passes": "nonsense"}, "compile_error", "nonsense"),
        ({"block": 100000}, "invalid_launch", "100000"),
        ({"block": 96, "keep_threads": True}, "invalid_launch", "96"),
        ({"ir": "/nowhere.ll"}, "compile_error", "/nowhere.ll"),
        ({"specialise": {"arguments": ["m"]}}, "compile_error", "'m'"),
    ],
)
def test_what_is_wrong_is_in_the_result(
    instance: mneme.Instance, members: dict[str, Any], failure: str, reason: str
) -> None:
    result = mneme.replay(instance, mneme.Config(**members), device="cpu")
    assert (result.verified, result.failed, result.failure, result.time) == (False, True, failure, None)
    assert reason in result.reason
    assert failure in repr(result)


def test_a_device_fault_is_a_result(instance: mneme.Instance, other_code: Any) -> None:
    """And that of every replay after it; a new session on the CPU device is right again."""
    with mneme.Session(instance, device="cpu") as session:
        fault = session.replay(mneme.Config(ir=other_code("fault")))
        assert fault.failure == "device_fault"
        assert "0x8" in fault.reason
        assert session.replay(mneme.Config(execution=QUICK)).failure == "device_fault"
    assert mneme.replay(instance, mneme.Config(execution=QUICK), device="cpu").verified


@pytest.mark.parametrize("isolated", [True, False])
def test_alone_in_a_process_of_its_own_or_here(instance: mneme.Instance, isolated: bool) -> None:
    result = mneme.replay(instance, mneme.Config(block=64, keep_threads=True), device="cpu", isolated=isolated)
    assert (result.verified, result.origin, len(result.times)) == (True, "measured", 10)


def test_what_crashes_or_hangs_is_a_result(instance: mneme.Instance, hostile_plugin: str, other_code: Any) -> None:
    def replayed(mode: str) -> mneme.Result:
        config = mneme.Config(passes=f"function(hostile-{mode})", pass_plugins=[hostile_plugin])
        return mneme.replay(instance, config, device="cpu", compile_timeout=3)

    crashed = replayed("crash")
    assert crashed.failure == "compile_error"
    assert "the compiler crashed: its process ended by signal 11" in crashed.reason
    hung = replayed("hang")
    assert (hung.failure, hung.reason) == ("compile_timeout", "compiling took longer than 3 s, and was ended")
    fault = mneme.replay(instance, mneme.Config(ir=other_code("fault")), device="cpu")
    assert fault.failure == "device_fault"
    assert mneme.replay(instance, mneme.Config(execution=QUICK), device="cpu").verified


def test_what_cannot_be_prepared_is_an_exception(recordings: Any, tmp_path: Any) -> None:
    copy = shutil.copytree(recordings, tmp_path / "damaged")
    for page in (copy / "pages").rglob("*"):
        if page.is_file():
            os.truncate(page, 3)
    with pytest.raises(UnavailableError, match="corrupt"):
        mneme.replay(mneme.Database(copy)["scale"][0], device="cpu")


def test_threads_wait_for_each_other(instance: mneme.Instance) -> None:
    results: list[mneme.Result] = []
    with mneme.Session(instance, device="cpu") as session:
        threads = [
            threading.Thread(target=lambda: results.append(session.replay(mneme.Config(execution=QUICK))))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [result.verified for result in results] == [True] * 4


def test_one_at_a_time_has_the_recorded_addresses(instance: mneme.Instance) -> None:
    with mneme.Session(instance, device="cpu"), pytest.raises(UnavailableError, match="0x7a0000000000"):
        mneme.Session(instance, device="cpu")
    assert mneme.replay(instance, mneme.Config(execution=QUICK), device="cpu").verified


def test_a_closed_session_says_so(instance: mneme.Instance) -> None:
    session = mneme.Session(instance, device="cpu")
    session.close()
    session.close()
    with pytest.raises(ClosedError, match=r"^replaying: the session is closed$"):
        session.replay(mneme.Config())
    with pytest.raises(ClosedError, match=r"^asking for its device: the session is closed$"):
        _ = session.device
    assert "closed" in repr(session)


def test_what_is_closed_holds_nothing(instance: mneme.Instance) -> None:
    session = mneme.Session(instance, device="cpu")
    held = session._native  # as the traceback of an exception may
    session.close()
    with mneme.Session(instance, device="cpu") as other:
        assert held is not None and other.replay(mneme.Config(execution=QUICK)).verified


def test_refuses_what_is_wrong(instance: mneme.Instance) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^opening a session: 'instance' must be an Instance, not str$"):
        mneme.Session("scale")  # type: ignore[arg-type]
    for device in ("gpu", "cpu:x", "cuda:", "cuda:-1", 3, "cuda:1:2"):
        with pytest.raises(InvalidArgumentError) as raised:
            mneme.Session(instance, device=device)  # type: ignore[arg-type]
        assert str(raised.value) == f"opening a session: 'device' is {devices_in_words()}, not {device!r}"
    with pytest.raises(InvalidArgumentError, match=r"^replaying: 'config' must be a Config, not dict$"):
        mneme.replay(instance, {}, device="cpu")  # type: ignore[arg-type]


def test_a_forked_process_cannot_use_it(instance: mneme.Instance) -> None:
    with mneme.Session(instance, device="cpu") as session:
        child = os.fork()
        if child == 0:
            try:
                session.replay(mneme.Config())
            except ClosedError as failure:
                session.close()
                os._exit(0 if "the process that this one was forked from" in str(failure) else 2)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert session.replay(mneme.Config(execution=QUICK)).verified


def test_a_forked_process_waits_for_no_thread_of_the_other(instance: mneme.Instance) -> None:
    with mneme.Session(instance, device="cpu") as session:
        with session._lock:  # as a thread has it that replays
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                try:
                    session.replay(mneme.Config())
                except ClosedError:
                    os._exit(0)
                finally:
                    os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_interpreter_ends_with_a_session_open(recordings: Any) -> None:
    code = f"import mneme; s = mneme.Session(mneme.Database({str(recordings)!r})['scale'][0], device='cpu')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_a_place_for_a_cache_everything_is_compiled(
    instance: mneme.Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MNEME_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    with mneme.Session(instance, device="cpu") as session:
        assert session.replay(mneme.Config(execution=QUICK)).verified


def test_compiled_code_is_kept_in_the_cache_unless_that_is_not_wanted(
    instance: mneme.Instance, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("MNEME_CACHE_DIR", str(tmp_path / "cache"))

    def replayed(**options: Any) -> Any:
        with mneme.Session(instance, device="cpu", **options) as session:
            return session.replay(mneme.Config(execution=QUICK)).details.get("cache")

    assert replayed(cache=False) is None and not (tmp_path / "cache").exists()
    assert [replayed(), replayed(), replayed(cache=False)] == ["miss", "hit", None]


def test_a_device_that_is_not_there_is_refused(instance: mneme.Instance) -> None:
    with pytest.raises(UnavailableError):
        mneme.Session(instance, device="cpu:1")


def test_a_device_is_named_by_its_kind_and_its_number() -> None:
    of_nvidia_and_here = devices_in_words().replace(' "hip",', "")  # which not every build has
    assert of_nvidia_and_here == '"cuda", "cuda:1" and so on, "cpu" or None'
    chosen = {"cuda": ("cuda", None), "cuda:0": ("cuda", 0), "cuda:99999": ("cuda", 99999), "cpu:0": ("cpu", 0)}
    assert {name: choose_device(name, "here") for name in chosen} == chosen
    assert choose_device(None, "here") == (mneme._native.automatic_kind(), None)
    for wrong in ("", "cuda:", "cuda:-1", "cuda:1.0", "cuda:100000", "cuda:\u0661", "CPU", "cuda: 1", 0, True):
        with pytest.raises(InvalidArgumentError) as error:
            choose_device(wrong, "here")  # type: ignore[arg-type]
        assert str(error.value) == f"here: 'device' is {devices_in_words()}, not {wrong!r}"


def test_a_knob_is_of_the_devices_that_have_a_use_for_it() -> None:
    knob = {"assembler.max_registers": 32}
    assert takes("cuda", **knob) and not takes("cpu", **knob) and takes("cpu", **{"codegen.level": 1})


@pytest.mark.skipif("MNEME_TEST_DRIVER" not in os.environ, reason="the driver of the tests was not built")
def test_the_recorded_addresses_are_held_before_the_driver_starts(tmp_path: Path) -> None:
    folder, program, cubin = (os.environ["MNEME_TEST_DRIVER" + name] for name in ("", "_PROGRAM", "_CUBIN"))
    environment = {**os.environ, "LD_LIBRARY_PATH": folder}
    db = str(tmp_path / "db")
    record = [
        "mneme",
        "record",
        "-rdb",
        db,
        "--device",
        "cuda",
        "--vass",
        "1",
        "--max",
        "1",
        "--",
        program,
        "dlsym",
        cubin,
    ]
    subprocess.run([*record, "mapped"], env=environment, check=True, capture_output=True)
    replay = (
        "import mneme, sys\n"
        "instance = mneme.Database(sys.argv[1])['add_one'][0]\n"
        "with mneme.Session(instance, device=None if sys.argv[2] == 'auto' else sys.argv[2]) as session:\n"
        "    print(session.device, session.replay(mneme.Config()).verified)\n"
    )
    # Where a driver maps something of its own, when it opens a device, if there is room.
    environment["MNEME_FAKE_TAKES_AT"] = "0x7b0000000000"
    for device in ("cuda", "auto"):
        done = subprocess.run(
            [sys.executable, "-c", replay, db, device], env=environment, capture_output=True, text=True
        )
        assert (done.stdout, done.returncode) == ("Fake GPU True\n", 0), done.stderr
