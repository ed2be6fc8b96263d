"""The commands that the guides print, in their order, on the CPU device: each must end as it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from guide_commands import commands, numbered

ROOT = Path(__file__).parents[2]
PAGES = [page for page in sorted((ROOT / "docs/guide").glob("*.md")) if "\n    $ " in page.read_text()]

# Commands that are not run here, by how they begin, and why.
NOT_RUN = {
    "ncu ": "it needs a GPU",
    "gdb ": "not every machine has a debugger",
    "compute-sanitizer ": "it needs a GPU",
    "./app": "it needs a GPU",
    "git clone ": "it fetches the project",
    "scripts/install-packages": "it installs packages; make check has done so",
    "python3 -m venv ": "python.package makes environments and installs the package in them",
    "pip install ": "python.package makes environments and installs the package in them",
    "cmake -B build ": "e2e.cmake_package does it",
    "CUDAFLAGS=": "e2e.cmake_cuda_language does it",
    "make -C matvec.d run": "it needs a GPU; e2e.source runs such a program on the driver of the tests",
    "./program ": "it needs a GPU, likewise",
    "mneme export record-db scale --source": "it is of a HIP program's recording; e2e.hip_source does it",
    "make -C scale.d": "it needs an AMD GPU; e2e.hip_source runs such a program on the HIP runtime of the tests",
    "mneme replay … ": "it is a part of a command",
    "mneme record -rdb record-db -- python": "it needs a GPU",
    "mneme replay record-db softmax": "a kernel without IR needs a GPU",
    "mneme profile --top 8 -- python3": "it needs a GPU and PyTorch, as those of the next four",
    "mneme record -rdb torch-db": "it needs a GPU",
    "mneme show torch-db": "it needs a GPU",
    "mneme replay torch-db": "it needs a GPU",
    "mneme tune torch-db": "it needs a GPU",
}
# The same in less time.
SHORTER = {
    r"--trials \d+": "--trials 6",
    r"\./cg 112 1000": "./cg 10 100",
    r"block\.x=\d+:1024:\d+": "block.x=64:128:64",
    r"^python$": "python -c pass",
    r"examples/cg/cg.cu": f"{ROOT}/examples/cg/cg.cu",
    r"^mneme deploy found\b": "mneme deploy found --unconfirmed",  # six trials find nothing that is surely faster
    r"^mkdir ~/first\b": "mkdir ~/first && cp -r record-db ~/first/moved-db",
}
# What a page finds beside the recording: commands that make it.
BEFORE = {
    "deploy": "cp app cg",
    "gpu-session": "rm -r record-db; cp app cg",
    "to-your-program": "mneme tune record-db --trials 4 --results-dir results --quiet --confirm 5",
}


def write_files(page: Path, folder: Path) -> None:
    """The files that a page prints: a block whose first line is a comment with the file's name."""
    begin, line = r"^    (?:#|//) (\w+\.(?:yaml|cc))\b.*\n", r"    (?!\$ )"
    blocks = re.findall(rf"{begin}((?:{line}.*\n|\n(?={line}))*)", page.read_text(), re.M)
    for name, text in blocks:
        (folder / name).write_text(re.sub(r"^    ", "", text, flags=re.M))


def test_every_exception_is_used() -> None:
    found = [command for page in PAGES for command in commands(page)]
    for begin in NOT_RUN:
        assert any(command.startswith(begin) for command in found), begin
    assert {page.stem for page in PAGES} >= set(BEFORE)
    assert len(found) > 40


def test_the_way_from_an_unchanged_program_to_a_faster_one_is_five_commands() -> None:
    five = numbered(ROOT / "docs/guide/deploy.md")
    assert [command.split()[1] for command in five] == ["record", "tune", "deploy", "deploy", "run"]
    on_a_gpu = numbered(ROOT / "docs/guide/deploy.md", on_a_gpu=True)
    assert on_a_gpu[-1] == "mneme run --tuned app.tuned -- ./cg" and not any(
        "--device" in command for command in on_a_gpu
    )


@pytest.fixture(scope="session")
def recordings_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By the kernel that a page names, a folder as a reader has it after First recording: app.cu, app, record-db."""
    compiling = "$(mneme config cxx) -O3 -std=c++17 $(mneme config cxxflags) app.cu -o app $(mneme config ldflags)"
    folders = {}
    for kernel, example in {"add": "vecadd/vecadd.cu", "matvec": "cg/cg.cu"}.items():
        folder = tmp_path_factory.mktemp(kernel)
        (folder / "app.cu").write_text(f'#include "{ROOT}/examples/{example}"\n')
        shell(compiling, folder)
        shell(rf"mneme record --device cpu -rdb record-db --max 1 --kernels '^{kernel}\(' -- ./app", folder)
        folders[kernel] = folder
    return folders


def shell(command: str, folder: Path, **variables: str) -> None:
    done = subprocess.run(
        ["bash", "-euc", command],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert done.returncode == 0, f"{command}\nended with {done.returncode}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of(page: Path, recordings_of: dict[str, Path], tmp_path: Path) -> None:
    kernel = "add" if "record-db add" in page.read_text() else "matvec"
    folder = Path(shutil.copytree(recordings_of[kernel], tmp_path / "work"))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("tune", "report"):
        calling = f"import sys; from mneme.{name}.command import main; sys.exit(main())"
        (programs / f"mneme-{name}").write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{calling}" "$@"\n')
        (programs / f"mneme-{name}").chmod(0o755)
    (programs / "python").symlink_to(sys.executable)
    variables = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    if page.stem in BEFORE:
        shell(BEFORE[page.stem], folder, **variables)
    write_files(page, folder)
    for command in commands(page):
        if any(command.startswith(begin) for begin in NOT_RUN):
            continue
        for pattern, other in SHORTER.items():
            command = re.sub(pattern, other, command)
        shell(command, folder, **variables)
        # A `cd` holds for what follows it.
        if directory := re.fullmatch(r"cd (\S+)(?: +#.*)?", command):
            folder = Path(directory[1].replace("~", str(tmp_path)))
            write_files(page, folder)
