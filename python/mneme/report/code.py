"""The code of two configurations at a stage of their compilation, and what differs.

`mneme ir` makes it from the database that the results name. Numbers that a compiler counts up (`%12`, `!3`, `%r7`,
`.LBB0_4`) are left out of the comparison: one instruction more renumbers all that follow, and none of those has
changed.
"""

from __future__ import annotations

import collections
import difflib
import json
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mneme._names import launch_words
from mneme.errors import MnemeError, UnavailableError
from mneme.results.run import Run

#: Texts longer than this are not compared: it would take minutes, and nobody reads it.
MOST_LINES = 30_000
#: Lines shown of what differs; beyond them the page says with which command the rest is seen.
MOST_SHOWN = 3_000
#: Unchanged lines around a change.
CONTEXT = 3
TIMEOUT = 120

TITLES = {"optimised": "LLVM IR", "asm": "Assembly", "sass": "SASS"}


@dataclass(frozen=True)
class Line:
    """A line of a difference: `kind` is "same", "gone" or "new"; its number is that in the text that it is from."""

    kind: str
    number: int
    text: str


@dataclass(frozen=True)
class Comparison:
    """What differs at one stage, in hunks that each begin and end with some unchanged lines."""

    stage: str
    language: str
    lines: tuple[int, int]
    gone: int
    new: int
    hunks: tuple[tuple[Line, ...], ...]
    counts: tuple[tuple[str, int, int], ...]
    problem: str = ""
    commands: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What the stage is called in the page."""
        if self.stage == "asm" and self.language == "ptx":
            return "PTX"
        return TITLES.get(self.stage, self.stage)


def command() -> str:
    """The `mneme` command: $MNEME_COMMAND, else the one beside this Python, else that of the PATH.

    Raises `mneme.errors.UnavailableError` where there is none.
    """
    beside = Path(sysconfig.get_path("scripts")) / "mneme"
    found = os.environ.get("MNEME_COMMAND") or (str(beside) if os.access(beside, os.X_OK) else shutil.which("mneme"))
    if not found:
        raise UnavailableError("looking for the mneme command: it is not on the PATH; set MNEME_COMMAND to it")
    return found


def kernel_file(run: Run) -> Path:
    """The recorded kernel that the results are of; it need not be there any more."""
    return Path(str(run.about.get("database", ""))) / f"{run.about.get('static_hash', '')}.json"


def show(run: Run) -> Mapping[str, Any]:
    """What `mneme show --json` says of the kernel; empty where it cannot be had."""
    try:
        done = subprocess.run(
            [command(), "show", "--json", str(kernel_file(run))], capture_output=True, timeout=TIMEOUT, check=True
        )
        document = json.loads(done.stdout)
    except (MnemeError, OSError, ValueError, subprocess.SubprocessError):
        return {}
    return document if isinstance(document, dict) else {}


def compare(run: Run, stages: Sequence[str]) -> Iterator[Comparison]:
    """How the code of the best configuration differs from that of the baseline, at each stage.

    A stage whose code cannot be had has a `problem` in place of it; `sass` is left out then, because it takes a tool of
    the CUDA toolkit.
    """
    best, baselines = run.best, run.baselines
    if best is None or not baselines:
        return
    for stage in stages:
        commands = tuple(_shown(run, name, stage) for name in ("baseline", "best"))
        try:
            old, new = (_code(run, line.configuration, stage) for line in (baselines[0], run.line_of(best)))
        except MnemeError as error:
            if stage != "sass":
                yield Comparison(stage, "", (0, 0), 0, 0, (), (), str(error), commands)
            continue
        language = language_of(stage, new)
        yield difference(stage, language, old.splitlines(), new.splitlines(), commands)


def _arguments(run: Run, stage: str) -> list[str]:
    instances, device = run.about.get("instances") or [], run.about.get("device")
    chosen = ["-rid", str(instances[0])] if instances else []
    return [str(kernel_file(run)), *chosen, *(["--device", str(device)] if device else []), "--stage", stage]


def launch(run: Run, most: int | None = None) -> str:
    """The launches that were measured, or the first of them, as a command takes them: `DB KERNEL#N`."""
    instances = [str(name) for name in run.about.get("instances") or []]
    return launch_words(str(kernel_file(run).parent), kernel_file(run).stem, instances[:most])


def _shown(run: Run, name: str, stage: str) -> str:
    passes = str(run.baselines[0].configuration.get("passes", "as-built"))
    configuration = ["--config", str(run.folder / "best.json")] if name == "best" else [passes]
    device = ["--device", str(run.about["device"])] if run.about.get("device") else []
    return f"mneme ir {launch(run, 1)} " + shlex.join([*device, "--stage", stage, *configuration])


def _code(run: Run, configuration: Mapping[str, Any], stage: str) -> str:
    path = kernel_file(run)
    if not path.is_file():
        raise UnavailableError(f"{path} is not there any more, and the code is made from it")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(configuration, file)
        file.flush()
        arguments = [command(), "ir", *_arguments(run, stage), "--config", file.name]
        try:
            done = subprocess.run(arguments, capture_output=True, timeout=TIMEOUT)
        except (OSError, subprocess.SubprocessError) as error:
            raise UnavailableError(f"mneme ir did not run: {error}") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise UnavailableError(said[-1] if said else f"mneme ir ended with {done.returncode}")
    return done.stdout.decode(errors="replace")


def language_of(stage: str, text: str) -> str:
    """What a stage's text is written in: "llvm", "ptx", "sass" or "asm"."""
    if stage == "asm":
        return "ptx" if re.search(r"^\s*\.target\s+sm_", text, re.M) else "asm"
    return "sass" if stage == "sass" else "llvm"


_COUNTED = {
    "llvm": re.compile(r"(?<=[%#!])\d+\b|, ![\w.]+ !\d+|^\d+(?=:)|; preds = .*$"),
    "ptx": re.compile(r"(?<=%[a-z])\d+\b|(?<=%[a-z]{2})\d+\b|(?<=\$L__BB)\d+_\d+"),
    "asm": re.compile(r"(?<=\.L)[A-Za-z]*\d+(_\d+)?"),
    "sass": re.compile(r"/\*[0-9a-fx ]+\*/|(?<=\.L_x_)\d+"),
}


def key_of(language: str, line: str) -> str:
    """What a line is compared by.

    >>> key_of("llvm", "  %12 = fmul float %7, 2.0, !dbg !5") == key_of("llvm", "  %14 = fmul float %9, 2.0, !dbg !8")
    True
    """
    return _COUNTED[language].sub("", line).strip()


_LEFT_OUT = re.compile(
    r"^(![\w.]+ = |; ModuleID|source_filename|\s*\.(file|loc|ident|cfi_\w+|p2align|section\s+\.debug)\b)"
)


def difference(
    stage: str, language: str, old: Sequence[str], new: Sequence[str], commands: Sequence[str] = ()
) -> Comparison:
    """What differs between two texts; metadata and debug directives, which are no instructions, are left out.

    >>> found = difference("asm", "asm", ["add", "ret"], ["mul", "ret"])
    >>> [(line.kind, line.text) for line in found.hunks[0]], found.gone, found.new
    ([('gone', 'add'), ('new', 'mul'), ('same', 'ret')], 1, 1)
    """
    old, new = ([line for line in text if not _LEFT_OUT.match(line)] for text in (old, new))
    counts = _counts(language, old, new)
    lengths = (len(old), len(new))
    if max(lengths) > MOST_LINES:
        problem = f"{max(lengths):,} lines are too many to compare here"
        return Comparison(stage, language, lengths, 0, 0, (), counts, problem, tuple(commands))
    keys = [[key_of(language, line) for line in text] for text in (old, new)]
    gone = new_lines = shown = 0
    hunks = []
    for group in difflib.SequenceMatcher(None, keys[0], keys[1], autojunk=max(lengths) > 5000).get_grouped_opcodes(
        CONTEXT
    ):
        lines: list[Line] = []
        for tag, old_begin, old_end, new_begin, new_end in group:
            if tag == "equal":
                lines += [Line("same", number + 1, new[number]) for number in range(new_begin, new_end)]
                continue
            lines += [Line("gone", number + 1, old[number]) for number in range(old_begin, old_end)]
            lines += [Line("new", number + 1, new[number]) for number in range(new_begin, new_end)]
            gone, new_lines = gone + old_end - old_begin, new_lines + new_end - new_begin
        if shown < MOST_SHOWN:
            hunks.append(tuple(lines[: MOST_SHOWN - shown]))
        shown += len(lines)
    problem = f"{shown - MOST_SHOWN:,} more lines of what differs are left out here" if shown > MOST_SHOWN else ""
    return Comparison(stage, language, lengths, gone, new_lines, tuple(hunks), counts, problem, tuple(commands))


_OPERATIONS = {
    "llvm": re.compile(r"^\s+(?:%[\w.\"-]+ = )?(?:tail |musttail |notail )?([a-z]\w*)\b(?!:)"),
    "ptx": re.compile(
        r"^\s+(?:@!?%\w+\s+)?([a-z][\w]*(?:\.(?:global|shared|local|param|wide|rn|approx|ftz|f\d+|nc))*)"
    ),
    "asm": re.compile(r"^\s+([a-z]\w*)\b(?!:)"),
    "sass": re.compile(r"^\s+(?:/\*\w+\*/\s+)?(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9]*(?:\.[A-Z0-9]+)?)\b"),
}


def _counts(language: str, old: Sequence[str], new: Sequence[str]) -> tuple[tuple[str, int, int], ...]:
    """How often each operation stands in either text, where that differs, the largest difference first."""
    tallies = []
    for text in (old, new):
        found = (_OPERATIONS[language].match(line) for line in text)
        tallies.append(collections.Counter(match.group(1) for match in found if match))
    differing = [(name, tallies[0][name], tallies[1][name]) for name in tallies[0] | tallies[1]]
    differing = [row for row in differing if row[1] != row[2]]
    return tuple(sorted(differing, key=lambda row: (-abs(row[1] - row[2]), row[0]))[:14])
