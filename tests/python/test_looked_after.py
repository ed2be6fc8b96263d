"""Database.trim, and launches that become programs: as the commands do it, in this process."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import mneme
import pytest
from mneme.errors import InvalidArgumentError, MnemeError, NotFoundError, UnavailableError

from conftest import CORPUS

TRIMMED = "c6cbd4c52560acc49865153dfcbfe757"  # the hash that the launch has without the page


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def test_a_dry_run_tells_and_changes_nothing(copied_recordings: Path) -> None:
    before = files_of(copied_recordings)
    db = mneme.Database(copied_recordings)
    (told,) = db.trim(device="cpu", dry_run=True)
    assert (told.after, told.pages, told.all_pages, told.bytes) == (TRIMMED, 1, 6, 100)
    assert files_of(copied_recordings) == before
    assert db["scale"][0].trimmed is None


def test_what_a_launch_does_not_touch_goes_and_the_old_hash_finds_it(copied_recordings: Path) -> None:
    db = mneme.Database(copied_recordings)
    old = db["scale"][0]
    (trimmed,) = db.trim(db["scale"], device="cpu")
    assert trimmed == mneme.Trimmed(old.hash, TRIMMED, 1, 6, 100, trimmed.stored, trimmed.stored_now)
    instance = db["scale"][0]
    assert instance.hash == TRIMMED and db["scale"][old.hash] == instance
    assert instance.trimmed == mneme.Trimming((old.hash,), 1, 100)
    instance.check()
    with mneme.Session(instance, device="cpu") as session:
        assert session.replay(mneme.Config(execution={"iterations": 1})).verified
    # The rest of the memory is what it was.
    assert bytes(instance.buffers()["data"].epilogue) == bytes(old_data(copied_recordings, old.hash))
    # A second time there is nothing to drop.
    (again,) = db.trim([instance], device="cpu")
    assert (again.before, again.after, again.pages, again.failure) == (TRIMMED, TRIMMED, 0, None)


def old_data(folder: Path, recorded: str) -> bytes:
    assert mneme.Database(folder)["scale"][recorded].trimmed is not None
    return bytes(mneme.Database(CORPUS)["scale"][recorded].buffers()["data"].epilogue)


def test_it_is_as_the_command_does_it(copied_recordings: Path, tmp_path: Path) -> None:
    by_command = shutil.copytree(copied_recordings, tmp_path / "by-command")
    done = subprocess.run(["mneme", "trim", by_command, "--device", "cpu"], check=True, capture_output=True, text=True)
    assert f"  now {TRIMMED}" in done.stdout
    mneme.Database(copied_recordings).trim(device="cpu")
    mine, theirs = files_of(copied_recordings), files_of(by_command)
    assert mine.keys() == theirs.keys()


def test_what_cannot_be_trimmed_says_why_and_stays(tmp_path: Path) -> None:
    folder = shutil.copytree(CORPUS.parent / "3.0", tmp_path / "ptx")
    db = mneme.Database(folder)
    before = files_of(folder)
    (left,) = db.trim(device="cpu")
    assert left.before == left.after == db["scale"][0].hash
    assert left.failure is not None and "recorded as PTX, without LLVM IR" in left.failure
    assert files_of(folder) == before


def test_wrong_ways_to_trim(copied_recordings: Path, instance: mneme.Instance) -> None:
    db = mneme.Database(copied_recordings)
    for wrong in ([instance], ["scale"]):
        with pytest.raises(InvalidArgumentError, match=f"^trimming: instances of {db.path} are expected, not "):
            db.trim(wrong, device="cpu")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"^trimming: 'device' is "):
        db.trim(device="gpu")
    with pytest.raises(UnavailableError, match=r"^trimming: there is no cpu device 99: this machine has \d+$"):
        db.trim(device="cpu:99")
    assert db["scale"][0].trimmed is None


def test_a_launch_becomes_a_program(instance: mneme.Instance, tmp_path: Path) -> None:
    file = tmp_path / "scale"
    made = instance.export(file, program=mneme.Config(passes="default<O1>"), device="cpu")
    assert made.verified and made.kept is None
    assert (made.path, made.size) == (str(file), file.stat().st_size)
    ran = subprocess.run([file, "--runs", "0"], check=True, capture_output=True, text=True)
    assert "default<O1>" in ran.stdout and "verified: memory is as recorded after the launch" in ran.stdout
    whole = instance.export(tmp_path / "whole", program=mneme.Config(), device="cpu", whole=True)
    assert (whole.memory, whole.kept) == (made.memory + made.left_out, "all was asked for")
    wrong = instance.export(tmp_path / "wrong", program=mneme.Config(grid=1), device="cpu")
    assert not wrong.verified
    assert subprocess.run([tmp_path / "wrong", "--runs", "0"], capture_output=True).returncode == 1


def test_what_becomes_no_program_says_why(instance: mneme.Instance, tmp_path: Path) -> None:
    file = tmp_path / "program"
    with pytest.raises(InvalidArgumentError, match=r"^writing an archive: 'device' and 'whole' are about programs"):
        instance.export(file, device="cpu")  # type: ignore[call-overload]
    with pytest.raises(InvalidArgumentError, match=r"^writing a program: 'program' must be a Config, not bool$"):
        instance.export(file, program=True)  # type: ignore[call-overload]
    with pytest.raises(NotFoundError):
        instance.export(tmp_path / "nowhere" / "program", program=mneme.Config(), device="cpu")
    with pytest.raises(MnemeError, match="nonsense"):
        instance.export(file, program=mneme.Config(passes="nonsense"), device="cpu")
    assert not file.exists()
