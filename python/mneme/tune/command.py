"""mneme tune: searches for the fastest right configuration of a recorded launch."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mneme import _json, _native
from mneme._help import Parser
from mneme._names import launch_words
from mneme._views import shown_message
from mneme.errors import InvalidArgumentError, MnemeError, NotFoundError
from mneme.results.trials import OBJECTIVES
from mneme.tune import yaml_text
from mneme.tune.arguments import DEFAULT_TRIALS
from mneme.tune.kept.asked import Asked, Folder
from mneme.tune.names import check_keys, closest
from mneme.tune.run import tune
from mneme.tune.search.samplers import SAMPLERS
from mneme.tune.shown.progress import Display
from mneme.tune.shown.summary import only_recorded, summary_text
from mneme.tune.space import presets
from mneme.tune.space.description import joined, space_again, space_of
from mneme.tune.space.search_space import SearchSpace

if TYPE_CHECKING:
    from mneme.config import Config
    from mneme.database import Instance, Kernel
    from mneme.tune.study import Study

_RIGHT, _NONE_RIGHT, _CANNOT, _USAGE, _INTERRUPTED, _BROKEN_PIPE = 0, 1, 2, 64, 130, 141
# Keys of a file of --search; those of tune() are options too.
_FILE_OPTIONS = ("sampler", "trials", "timeout", "objective", "seed", "storage", "ahead", "confirm", "prune", "probe")
_FILE_KEYS = ("space", "parameters", "constraints", "configuration", "result", *_FILE_OPTIONS)

_DESCRIPTION = """\
Searches for the configuration under which a recorded launch is fastest: what it is compiled with, and how it is
launched. Whatever is tried must leave the memory that was recorded. The winner is measured against the launch as
recorded, in turn, before it is announced.
"""

_EXAMPLES = [
    ("mneme tune db add", "100 trials by TPE of launch, compiler and specialisation"),
    ("mneme tune db add --space launch --sampler exhaustive --results-dir add", "every block, into a folder"),
    ("mneme tune --resume add", "go on with it after Ctrl-C"),
]

_EPILOG = """\
{words}

A file of --search is YAML or JSON: space, a name or a list of names; parameters and constraints of your own, joined to
it; sampler, trials, timeout, objective, seed, storage, ahead, confirm, prune, probe as the options; and configuration,
what every trial begins with, where --config gives none.

Results are in the folder of results: best.json (for `mneme replay --config`), trials.jsonl, trials.parquet,
results.jsonl, summary.json. Exit status: 0 some configuration is right, 1 none is, 2 it could not run, 64 the command
line is wrong, 130 after Ctrl-C. Guide: docs/guide/tune.md.
"""


class _Parser(Parser):
    """Exits with 64 where the command line is wrong, and names the nearest option."""

    def error(self, message: str) -> Any:
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            options = [text for action in self._actions for text in action.option_strings]
            near = closest(unknown.split()[0].split("=")[0], options)
            message = f"there is no option {unknown}" + (f"; the nearest is '{near}'" if near else "")
        self.exit(_USAGE, f"mneme tune: {message}\n`mneme tune --help` has all options\n")


def parser() -> Parser:
    """Of the command line."""
    made = _Parser(
        _DESCRIPTION,
        _EXAMPLES,
        prog="mneme tune",
        epilog=_epilog(),
        usage="mneme tune DB [KERNEL[#N]] [--space NAME] [--sampler NAME] [--trials N] [OPTION...]",
    )
    made.add_argument(
        "words",
        nargs="*",
        metavar="DB [KERNEL[#N]]",
        help="the database, as `mneme record -rdb` wrote it, and the kernel: its name, a part of it, or digits of its "
        "hash that it begins with; N is the number of its launch, as `mneme ls` has them. Or DIR/<static-hash>.json",
    )
    made.add_argument(
        "-rdb", "--rdb", "--record-db", dest="database", metavar="DB", help="the database, in place of the word DB"
    )
    made.add_argument("--kernel", metavar="NAME", help="the kernel, in place of the word; also a regular expression")
    made.add_argument(
        "-rid",
        "--rid",
        "--record-id",
        action="append",
        metavar="HASH",
        help="the instance, by the first digits of its dynamic hash; default: the only one; repeatable: a "
        "configuration must be right on each",
    )
    made.add_argument("--all-instances", action="store_true", help="every instance of the kernel")
    made.add_argument(
        "--weights",
        choices=("program", "equal"),
        metavar="BY",
        help="how the times of several instances are added: program, as often as the program launched each, or equal; "
        "default: program where that is known",
    )
    _add_search(made.add_argument_group("search"))
    _add_measuring(made.add_argument_group("measuring"))
    _add_results(made.add_argument_group("results"))
    _add_configuration(made)
    return made


def _epilog() -> str:
    spaces = {name: (make.__doc__ or "").splitlines()[0] for name, make in presets.PRESETS.items()}
    return _EPILOG.replace("{words}", f"spaces:\n{_lines(spaces)}\n\nsamplers:\n{_lines(SAMPLERS)}")


def _whole(least: int) -> Callable[[str], int]:
    """The type of an option that is a whole number."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {least} on")
        return int(text)

    return read


def _lines(words: Mapping[str, str]) -> str:
    return "\n".join(f"  {word:<12}{text}" for word, text in words.items())


def _add_search(group: Any) -> None:
    group.add_argument(
        "--space",
        metavar="NAME",
        help=f"what is searched: {', '.join(presets.PRESETS)}, or several as launch+compiler; default: full",
    )
    group.add_argument(
        "--sampler",
        metavar="NAME",
        help=f"how: {', '.join(SAMPLERS)}, see below; default: tpe",
    )
    group.add_argument(
        "--trials",
        type=int,
        metavar="N",
        help=f"how many configurations; default {DEFAULT_TRIALS}, with exhaustive all",
    )
    group.add_argument("--timeout", type=float, metavar="S", help="seconds after which the search ends")
    group.add_argument(
        "--objective",
        metavar="NAME[,NAME]",
        help=f"what is to be small: of {', '.join(OBJECTIVES)}; the winner is best in the first; default: time",
    )
    group.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="the same trials for the same seed, as far as measurements are the same; default: by chance",
    )
    group.add_argument(
        "--search",
        metavar="FILE",
        help="YAML or JSON with space, parameters, constraints and options, see below; options given here override it",
    )
    group.add_argument(
        "--no-probe",
        dest="probe",
        action="store_const",
        const=False,
        help="search all blocks and grids: by default each is tried alone first, and what fails so is left out",
    )
    group.add_argument(
        "--ahead",
        type=int,
        metavar="N",
        help="points that are proposed before their predecessors' results are known; default: an eighth of the trials, "
        "from 16 to 64",
    )


def _add_measuring(group: Any) -> None:
    group.add_argument(
        "--device", metavar="KIND", help="cuda, cpu, cuda:1 or auto; auto, the default: the GPU where there is one"
    )
    group.add_argument("--devices", metavar="N[,N]", help="which GPUs; default: all")
    group.add_argument(
        "--compile-only",
        action="store_true",
        help="compile and run nothing: needs no device; the objectives are others than time; default: registers",
    )
    group.add_argument(
        "--arch",
        metavar="ARCH",
        help="with --compile-only: architecture to compile for, of any kind of device, as sm_90 or gfx942; default: "
        "the one that the kernel was recorded with",
    )
    group.add_argument(
        "--compile-workers",
        type=_whole(1),
        metavar="N",
        help="compilers at a time; default: the cores beside one for each device",
    )
    group.add_argument(
        "--compile-timeout", type=float, metavar="S", help="seconds that one compilation may take; default 60"
    )
    group.add_argument(
        "--run-timeout", type=float, metavar="S", help="seconds that one step on the device may take; default 10"
    )
    group.add_argument(
        "--compile-memory",
        type=_whole(1),
        metavar="GiB",
        help="memory that one compilation may take in addition; default 8",
    )
    group.add_argument(
        "--no-share",
        dest="share",
        action="store_const",
        const=False,
        help="measure every configuration, also where others ended in the same code and launch",
    )
    group.add_argument(
        "--no-prune",
        dest="prune",
        action="store_const",
        const=False,
        help="never give up what is clearly slower between two timed runs",
    )
    group.add_argument(
        "--confirm",
        type=int,
        metavar="N",
        help="rounds in which winner and baseline are measured in turn, 5 at least; default 10; 0: not at all",
    )


def _add_configuration(made: argparse.ArgumentParser) -> None:
    """What every trial begins with: the options of `mneme replay`, from the list that it has them from."""
    groups: dict[str, Any] = {}

    def group(name: str) -> Any:
        if name not in groups:
            groups[name] = made.add_argument_group(f"{name.lower()}: what every trial begins with")
        return groups[name]

    group("Configuration").add_argument(
        "--config",
        metavar="FILE",
        help="a file with a configuration, as `mneme replay` prints it, or best.json; other options override it",
    )
    for names, heading, what, value, repeats, former in _native.knobs():
        how: dict[str, Any] = {"action": "store_const", "const": [""]}
        if value:
            how = {"action": "append" if repeats else "store", "metavar": value}
        group(heading).add_argument(*names, dest=names[0], help=what.replace("%", "%%"), **how)
        if former:
            group(heading).add_argument(*former, dest=names[0], help=argparse.SUPPRESS, **how)


def _add_results(group: Any) -> None:
    group.add_argument(
        "--results-dir", metavar="DIR", help="folder of the results; default: a new one, tune-<date>-<time>"
    )
    group.add_argument(
        "--resume",
        nargs="?",
        const=True,
        metavar="DIR",
        help="go on with the run in that folder, or in --results-dir; of its own options only --trials, --timeout, "
        "--storage, --confirm and those of measuring may be given anew; DB says where the recording is now",
    )
    group.add_argument(
        "--storage",
        metavar="URL",
        help="a study of Optuna's beside the results: journal or sqlite, in the folder, or a URL of Optuna's",
    )
    group.add_argument(
        "--top", type=_whole(1), default=10, metavar="N", help="how many of the best are printed; default 10"
    )
    group.add_argument("--json", action="store_true", help="one JSON object in place of the table")
    group.add_argument("--quiet", action="store_true", help="no progress")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = _parsed(parser(), arguments)
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # so while it was imported
            signal.signal(signal.SIGINT, signal.default_int_handler)
        asked = _asked(options)
        study = tune(**asked, progress=None if options.quiet else Display())
        return _report(options, asked, study)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # What is left in the buffer is nobody's, and is not to be complained of at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except InvalidArgumentError as error:
        _say(str(error))
        return _USAGE
    except MnemeError as error:
        _say(str(error))
        return _CANNOT


def _parsed(by: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """With the words in their places: DB, of which -rdb may take the place, and KERNEL#N, as `name`."""
    options = by.parse_intermixed_args(arguments)
    words = list(options.words)
    if options.database is None and words:
        options.database = words.pop(0)
    options.name = words.pop(0) if words else None
    if options.device == "auto":
        options.device = None
    if options.arch is not None and not options.compile_only:
        by.error("--arch is with --compile-only; --target names what code is made for on a device")
    if options.compile_only and (options.device or options.devices):
        by.error("--compile-only needs no device: leave --device and --devices out")
    if words:
        by.error(f"unexpected argument '{words[0]}'")
    if options.name is not None and options.kernel is not None:
        by.error(f"the kernel is given twice, by '{options.name}' and by --kernel {options.kernel}")
    return options


def _report(options: argparse.Namespace, asked: Mapping[str, Any], study: Study) -> int:
    for remark in study.remarks:
        _say(remark)
    if options.json:
        print(json.dumps(study.summary(), indent=2))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print(summary_text(study, top=options.top, width=width))
    sys.stdout.flush()
    _say_what_next(asked, study)
    if study.interrupted:
        return _INTERRUPTED
    return _RIGHT if study.best is not None else _NONE_RIGHT


def _say_what_next(asked: Mapping[str, Any], study: Study) -> None:
    where = shlex.quote(str(study.results_dir))
    few = study.wanted is not None and len(study.trials) < study.wanted
    if few and study.exhausted:
        _say(f"the space has no more points: all {len(study.trials)} were tried")
    elif study.interrupted or few:
        _say(f"not all is done; mneme tune --resume {where} goes on")
    if only_recorded(study):
        _say("only the launch as recorded was tried, with which a search begins: ask for more --trials")
    if study.best is not None:
        first = asked["instance"][0]
        launches = launch_words(first.database.path, first.kernel.hash, [one.hash for one in asked["instance"]])
        best = shlex.quote(str(Path(study.results_dir, "best.json")))
        what = (
            "nothing faster than the launch as recorded was found: keep it as recorded; the best that was tried"
            if study.keep_recorded
            else "the best"
        )
        _say(f"{what}: mneme replay {launches} --config {best}")


def _say(message: str) -> None:
    print(f"mneme tune: {shown_message(message)}", file=sys.stderr)


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    """What tune() is to be called with."""
    resumed = options.resume if isinstance(options.resume, str) else options.results_dir
    if options.resume and resumed is None:
        raise InvalidArgumentError("--resume: name the folder of results, here or with --results-dir")
    file = _read(options.search) if options.search else {}
    told = _told(options, file)
    made: dict[str, Any] = {"space": "full"}
    made |= _as_before(resumed, options) if options.resume else {"instance": _instances(options)}
    if options.compile_only:
        told["device"] = f"compile:{options.arch or made['instance'][0].kernel.architecture}"
    made |= told  # where that differs from what was asked before it is said
    if (space := _space(options, file, made)) is not None:
        made["space"] = space
    for name in (
        "trials",
        "timeout",
        "storage",
        "confirm",
        "compile_workers",
        "compile_timeout",
        "run_timeout",
        "share",
        "weights",
    ):
        if (value := getattr(options, name)) is not None:
            made[name] = value
    if options.compile_memory is not None:
        made["compile_memory"] = options.compile_memory << 30
    if options.devices is not None:
        made["devices"] = _numbers(options.devices)
    made["results_dir"] = resumed
    made["resume"] = bool(options.resume)
    return made


def _as_before(folder: str, options: argparse.Namespace) -> dict[str, Any]:
    """What an earlier run was asked; where the database is now, and the instances, are in the options."""
    from mneme.config import Config

    asked = Folder(Path(folder)).read()
    kernel = _kernel_of(asked, folder, options.database, options.kernel or options.name)
    chosen = list(kernel) if options.all_instances else [kernel[digits] for digits in options.rid or asked.instances]
    return {
        "instance": chosen,
        "space": space_again(asked.space, asked.preset, chosen[0], _kind(asked.device)),
        "sampler": asked.sampler,
        "trials": asked.trials,
        "timeout": asked.timeout,
        "objectives": asked.objectives,
        "config": Config.from_dict(asked.configuration),
        "device": asked.device,
        "ahead": asked.ahead,
        "prune": asked.prune,
        "confirm": asked.confirm,
        "storage": asked.storage,
        **asked.executor,
    }


def _kernel_of(asked: Asked, folder: str, database: str | None, kernel: str | None) -> Kernel:
    from mneme.database import Database

    file = asked.kernel_file
    if database is None and not file.exists():
        raise NotFoundError(
            f"the recorded kernel of this run, {file}, is not there any more; "
            f"if it was moved: mneme tune DIR/{file.name} --resume {shlex.quote(folder)}"
        )
    now = Database(file if database is None else database)
    if asked.static_hash not in now:
        raise InvalidArgumentError(
            f"--resume {folder}: its run is of the kernel {asked.static_hash}, and {database} has another"
        )
    if kernel is not None and now[kernel].hash != asked.static_hash:
        raise InvalidArgumentError(f"--resume {folder}: its run is of {asked.kernel}, which --kernel {kernel} is not")
    return now[asked.static_hash]


def _told(options: argparse.Namespace, file: Mapping[str, Any]) -> dict[str, Any]:
    """What the command line and the file of --search say of the search, but for its space."""
    made: dict[str, Any] = {name: file[name] for name in _FILE_OPTIONS if name in file}
    for name in ("sampler", "seed", "ahead", "prune", "probe", "objective", "device"):
        if (value := getattr(options, name)) is not None:
            made[name] = value
    if (objective := made.pop("objective", None)) is not None:
        made["objectives"] = objective.split(",") if isinstance(objective, str) else objective
    if options.compile_only:
        made.setdefault("objectives", ["registers"])
    made["config"] = _configuration(options, file)
    return {name: value for name, value in made.items() if value is not None}


def _space(options: argparse.Namespace, file: Mapping[str, Any], asked: Mapping[str, Any]) -> str | SearchSpace | None:
    """What the command line and the file of --search say of it; a preset is made for the rest that is `asked`."""
    if options.space is not None:
        return str(options.space)
    own = {key: file[key] for key in ("parameters", "constraints") if key in file}
    if "space" in file:
        names = file["space"] if isinstance(file["space"], list) else [file["space"]]
        return joined("+".join(map(str, names)), own, asked["instance"][0], _kind(asked.get("device")))
    if own and "parameters" not in own:
        raise InvalidArgumentError(f"{options.search}: constraints are for parameters, and there are none")
    return space_of(own) if own else None


def _kind(device: str | None) -> str:
    from mneme._device import choose_device

    return choose_device(device, "tuning")[0]


def _configuration(options: argparse.Namespace, file: Mapping[str, Any]) -> Config | None:
    from mneme.config import Config

    given = vars(options)
    changes = [(names[0], _texts(given[names[0]])) for names, *_ in _native.knobs() if given[names[0]] is not None]
    if not (file.get("configuration") or options.config or changes):
        return None
    config = Config.read(options.config) if options.config else Config.from_dict(file.get("configuration") or {})
    return Config._of(config._value.changed(changes))


def _texts(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


def _instances(options: argparse.Namespace) -> list[Instance]:
    from mneme.database import Database

    if options.database is None:
        raise InvalidArgumentError("no recorded kernel: give DB KERNEL, as `mneme ls DB` lists them, or --resume DIR")
    database = Database(options.database)
    name = database[options.kernel].hash if options.kernel is not None else options.name or ""
    numbered = bool(_native.split_launch_name(name)[1] or database._numbers)
    if numbered and (options.rid or options.all_instances):
        raise InvalidArgumentError("#N names instances, and so does -rid or --all-instances: leave one of the two out")
    if not (options.rid or options.all_instances):
        return list(database.launches(name))
    kernel = database._choose(name)
    chosen = [kernel[digits] for digits in options.rid] if options.rid else list(kernel)
    if not chosen:
        raise NotFoundError(f"{kernel.demangled} has no recorded instance")
    return chosen


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise InvalidArgumentError(f"--devices {text}: write numbers, as in --devices 0,1") from None


def _read(name: str) -> dict[str, Any]:
    """A file of --search."""
    try:
        text = Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise NotFoundError(f"--search {name}: {error.strerror}") from None
    try:
        value = _json.loads(text)
    except json.JSONDecodeError:
        value = yaml_text.parse(f"--search {name}", text)
    except ValueError as error:
        raise InvalidArgumentError(f"--search {name}: {error}") from None
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"--search {name}: it must have keys: {', '.join(_FILE_KEYS)}")
    check_keys(f"--search {name}:", value, _FILE_KEYS)
    return value
