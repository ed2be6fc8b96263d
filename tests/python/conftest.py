"""What all tests of the package share: an example recording, and folders of their own for whatever Mneme keeps."""

import concurrent.futures
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# A launch of scale(int*, int, int) on the CPU device: `data[i] = data[i] * factor + table[i % 4]`, with a count in
# `odd`.
CORPUS = Path(__file__).parent.parent / "corpora" / "1.1"


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("mneme")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MNEME_CACHE_DIR", str(folder / "cache"))
        environment.setenv("MNEME_IR_DIR", str(folder / "ir"))
        yield


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the kernel "scale" and one instance of it. Not to be changed."""
    folder = tmp_path_factory.mktemp("recordings") / "record-db"
    shutil.copytree(CORPUS, folder)
    return folder


@pytest.fixture
def copied_recordings(recordings: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(recordings, tmp_path / "record-db"))


@pytest.fixture(scope="session")
def database(recordings: Path) -> Any:
    import mneme

    return mneme.Database(recordings)


@pytest.fixture(scope="session")
def instance(database: Any) -> Any:
    return database["scale"][0]


@pytest.fixture
def swept(recordings: Path, tmp_path: Path) -> Path:
    """A folder of results of a sweep of the instance, whose winner was not measured again."""
    folder = Path(shutil.copytree(CORPUS.parent.parent / "results" / "3" / "sweep", tmp_path / "swept"))
    plan = json.loads((folder / "sweep.json").read_text())
    (folder / "sweep.json").write_text(json.dumps({**plan, "database": str(recordings)}))
    return folder


@pytest.fixture
def example(recordings: Path, database: Any, instance: Any, swept: Path, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What the examples in docstrings find, and a folder of their own that they run in."""
    import mneme
    import numpy

    before = os.getcwd()
    os.chdir(tmp_path)
    yield {
        "mneme": mneme,
        "numpy": numpy,
        "concurrent": concurrent,
        "recordings": recordings,
        "results": swept,
        "db": database,
        "kernel": database["scale"],
        "instance": instance,
    }
    os.chdir(before)


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Measures nothing; tune() measures with it."""
    from fake_executor import FakeExecutor, measure, use

    return use(monkeypatch, FakeExecutor(measure))


@pytest.fixture
def hostile_plugin() -> str:
    plugin = os.environ.get("MNEME_TEST_HOSTILE_PLUGIN")
    if not plugin:
        pytest.skip("MNEME_TEST_HOSTILE_PLUGIN names no plugin")
    return plugin


@pytest.fixture
def other_code(tmp_path: Path) -> Any:
    """Writes a file with other code of the kernel "scale": one that faults, or one that never ends."""
    bodies = {
        "fault": "store volatile i32 1, ptr inttoptr (i64 8 to ptr), align 8\nret void",
        "endless": "br label %again\nagain:\n%x = load volatile i32, ptr %data\nbr label %again",
    }

    def write(what: str) -> str:
        file = tmp_path / f"{what}.ll"
        file.write_text(
            'target triple = "nvptx64-nvidia-cuda"\n'
            "@odd = addrspace(1) externally_initialized global i32 0, align 4\n"
            "@table = addrspace(4) externally_initialized global [4 x i32] zeroinitializer, align 4\n"
            "@llvm.compiler.used = appending global [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @odd to ptr), "
            'ptr addrspacecast (ptr addrspace(4) @table to ptr)], section "llvm.metadata"\n'
            f"define ptx_kernel void @_Z5scalePiii(ptr %data, i32 %n, i32 %factor) {{\n{bodies[what]}\n}}\n"
        )
        return str(file)

    return write
