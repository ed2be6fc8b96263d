"""tune(): from a recorded launch and a search space to a study."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mneme import _json
from mneme.errors import InvalidArgumentError, MnemeError, UnsupportedError
from mneme.results.files import write_json
from mneme.results.folder import make_fresh_folder
from mneme.results.trials import COMPLETE, Trial, TrialLog, read_trials
from mneme.tune.arguments import (
    Space,
    as_base,
    as_instances,
    as_objectives,
    as_rounds,
    as_seconds,
    as_seed,
    as_space,
    as_trials,
    as_weights,
    at_least,
    usual_ahead,
    weighed,
)
from mneme.tune.checks import check_base, check_space
from mneme.tune.confirm import announce
from mneme.tune.interrupts import OneInterrupt
from mneme.tune.kept.asked import Asked, Folder, split_options
from mneme.tune.kept.storage import Storage, check_storage
from mneme.tune.kept.writing import write_best, write_results
from mneme.tune.names import check_keys
from mneme.tune.search.loop import CompileTimes, Search
from mneme.tune.search.probe import Probed
from mneme.tune.search.samplers import Source, source_of
from mneme.tune.shown.progress import Display
from mneme.tune.space.search_space import SearchSpace
from mneme.tune.study import Study

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from mneme.config import Config
    from mneme.database import Instance
    from mneme.executor import Executor
    from mneme.result import Result

_EXECUTOR_OPTIONS = ("compile_workers", "compile_timeout", "run_timeout", "compile_memory", "share")
# Points of a space that can be counted one by one in no time.
_COUNTED = 10_000
# Seconds that the storage may take when the search was interrupted.
_STORAGE_PATIENCE = 0.5

# Of the trials, what a probe may take at most.
_PROBED = 0.25

OnProgress = Callable[[Study, str], None]


def tune(
    instance: Instance | Sequence[Instance],
    space: Space = "full",
    *,
    sampler: str | BaseSampler = "tpe",
    trials: int | None = None,
    timeout: float | None = None,
    objectives: str | Sequence[str] = ("time",),
    seed: int | None = None,
    config: Config | None = None,
    weights: str | None = None,
    results_dir: str | os.PathLike[str] | None = None,
    resume: bool = False,
    storage: str | None = None,
    device: str | None = None,
    devices: Sequence[int] | None = None,
    ahead: int | None = None,
    prune: bool = True,
    probe: bool = True,
    confirm: int = 10,
    progress: bool | OnProgress | None = None,
    **executor_options: Any,
) -> Study:
    """Searches for the configuration under which a recorded launch is fastest, and says how sure that is.

    Whatever is tried must leave the recorded memory; of several instances, on each. The baseline (as recorded,
    as built) is measured at the begin and at the end, and the winner against it in turn before it is announced.
    Ctrl-C ends the search and returns what there is, with `Study.interrupted`; all is in the folder of results as it
    comes, and `resume` goes on.

    Args:
        instance: A recorded launch, or several of one kernel.
        space: A `SearchSpace`, or parameters by name, or the name of a preset: "launch", "compiler", "specialise",
            "full", or several as "launch+compiler".
        sampler: "exhaustive", "random", "tpe", "cmaes", "nsga2", "gp", or a sampler of Optuna's.
        trials: How many; default 100, with "exhaustive" all there are.
        timeout: Seconds after which the search ends; measuring the winner comes after it.
        objectives: What is to be small: of "time", "registers", "object_size", "compile_time", "instructions",
            "spills". The winner is best in the first.
        seed: The same trials for the same seed, as far as measurements are the same; by default one by chance, which
            tune.json has.
        config: What the space changes: tolerances and how it is timed, say; by default `Config()`.
        weights: How the times of several instances are added to the one that is searched by: "program", each as often
            as the program launched its shape, or "equal"; by default "program" where that is known of all.
        results_dir: The folder of results, see docs/guide/tune.md; by default a new one, tune-<date>-<time>.
        resume: Goes on with what is in that folder. The same search must be asked for; `trials`, `timeout` and
            `storage` may differ.
        storage: A study of Optuna's beside the results: "journal" or "sqlite" in the folder, or a URL of Optuna's.
        device: "cuda", "cpu" or "cuda:1"; by default the GPU where there is one. "compile:gfx942", with an architecture
            of any kind of device: nothing is run, "time" is no objective, and the winner is not confirmed.
        devices: The numbers of the GPUs that take part; by default all, or the one that `device` names.
        ahead: Points that are proposed before their predecessors' results are known. More keep more compilers busy;
            fewer teach the sampler earlier. By default an eighth of the trials, from 16 to 64.
        prune: Gives up what is clearly slower than the best, between two timed runs. Only where time is the one
            objective.
        probe: Tries the blocks and grids of presets alone first, with a quarter of the trials at most, and leaves out
            what fails (`mneme.tune.search.probe`). Not with "exhaustive".
        confirm: Rounds in which winner and baseline are measured in turn, 5 at least; 0: the winner is not confirmed.
        progress: True draws on the terminal or in the notebook; a function is called with the study and the stage,
            "search" or "confirm", about twenty times a second.
        executor_options: compile_workers, compile_timeout, run_timeout, compile_memory, share: as for `mneme.Executor`.

    Raises:
        InvalidArgumentError: Something unknown, with the nearest that is known; a folder with other results.
        NotFoundError, UnsupportedError: `config` has a tolerance for a buffer that is not there, or what no device of
            the kind has a use for.
        UnavailableError: No such device; a package is missing (one of the extra `tune`); another run has the folder.

    >>> study = tune(instance, "launch", sampler="random", trials=4, device="cpu", results_dir="blocks", confirm=0)
    >>> study.count("complete") + study.count("failed") + study.count("pruned")
    4
    """
    from mneme._device import choose_device, compiles_only
    from mneme.config import Config

    check_keys("tune", executor_options, [*(tune.__kwdefaults__ or ()), *_EXECUTOR_OPTIONS])
    instances = as_instances(instance)
    kind, _ = choose_device(device, "tuning")
    made, preset = as_space(space, instances[0], kind, _recorded_passes(results_dir) if resume else "as-built")
    wanted = as_trials(trials, sampler)
    asked = Asked(
        database=str(Path(instances[0].database.path).absolute()),
        kernel=instances[0].kernel.demangled,
        static_hash=instances[0].kernel.hash,
        instances=[one.hash for one in instances],
        device=device or kind,
        space=made.describe(),
        preset=preset,
        sampler=sampler if isinstance(sampler, str) else type(sampler).__name__,
        seed=as_seed(seed),
        trials=wanted,
        timeout=as_seconds(timeout),
        objectives=as_objectives(objectives, runs=not compiles_only(kind)),
        configuration=as_base(config).to_dict(),
        ahead=usual_ahead(wanted) if ahead is None else at_least("ahead", ahead, 1),
        prune=prune,
        confirm=0 if compiles_only(kind) else as_rounds(confirm),
        storage=storage,
        storage_name="",
        **split_options(executor_options),
        probe=int(_PROBED * (wanted or 0)) if probe else 0,
        weights=as_weights(weights, instances),
    )
    check_storage(storage)
    check_base(as_base(config), instances, kind)
    check_space(made, as_base(config), kind, instances)
    if resume and results_dir is None:
        raise InvalidArgumentError("resuming: name the folder of results (results_dir, --results-dir)")
    folder = Folder(Path() if results_dir is None else Path(results_dir))
    with contextlib.ExitStack() as held:
        if resume:
            held.enter_context(folder.alone())
            asked = folder.resume(asked, seed=seed, ahead=ahead, probe=probe, weights=weights)
        before = read_trials(folder.trials) if resume else []
        remarks = [*made.notes, *weighed(asked.weights), *_too_few_points(made, asked)]
        source = _source(sampler, made, asked, len(before) * _learns(sampler), remarks.append)
        interrupt = held.enter_context(OneInterrupt())  # from here on there is something to go on with
        if not resume:  # nothing is made where something above is wrong
            if results_dir is None:
                folder = Folder(make_fresh_folder("tune"))
            held.enter_context(folder.alone(make=True))
            name = folder.path.absolute().name
            asked.storage_name = f"{asked.kernel.split('(')[0]} {asked.instances[0][:8]} {name}"
            folder.begin(asked)
        base = Config.from_dict(asked.configuration)
        run = _Run(asked, folder, made, source, base, devices=devices, resume=resume, before=before, remarks=remarks)
        show = _shown(progress)
        if isinstance(show, Display):
            held.callback(show.close)
        study = run.go(instances, show, interrupt)
    if asked.trials is not None and asked.trials < len(before):
        study.remarks.append(f"{len(before)} trials are done already, and {asked.trials} are asked for: none was added")
    return study


class _Run:
    """One run: its folder, its executor, and the study that it fills."""

    def __init__(
        self,
        asked: Asked,
        folder: Folder,
        space: SearchSpace,
        source: Source,
        config: Config,
        *,
        devices: Sequence[int] | None,
        resume: bool,
        before: Sequence[Trial],
        remarks: list[str],
    ) -> None:
        self._asked, self._folder, self._space, self._config = asked, folder, space, config
        self._devices, self._resume, self._source = devices, resume, source
        self._study = Study(
            asked.kernel,
            tuple(asked.objectives),
            folder.path,
            device=asked.device,
            wanted=asked.trials,
            remarks=remarks,
            space=space,
        )
        self._before = before
        self._recorded = baseline_of(config, asked.recorded_passes)
        self._compile_times = CompileTimes()
        self._began = time.monotonic()
        self._ready: float | None = None
        later: float | None = None
        for trial in reversed(before):  # of those that were done before their baseline was
            trial.baseline = later = trial.baseline or later
        for trial in before:
            self._study.add(trial, restored=True)

    def go(self, instances: Sequence[Instance], show: OnProgress, interrupt: OneInterrupt) -> Study:
        study = self._study
        study.recorded = recorded_launch(instances, self._asked.recorded_passes)
        study.as_built, study.base = instances[0].kernel.as_built, self._config.to_dict()
        if self._resume and self._finished():
            interrupt.open()
            if (store := self._open_storage()) and (problem := store.close()):
                study.remarks.append(problem)
            return study
        try:
            interrupt.open()
            self._source.restore(self._before)
            store = self._open_storage()
            interrupt.close()  # opening an executor cannot be ended, and one that nobody has yet would not be shut down
            executor = open_executor(instances, self._executor_options(self._resume))
        except KeyboardInterrupt:
            study.interrupted = True
            write_results(self._folder, study)
            return study
        except BaseException:
            if not self._resume:
                self._folder.undo()
            raise
        try:
            self._kept(instances, executor, store, show, interrupt)
        finally:
            if store is not None:
                self._close_storage(store, interrupt)
        return study

    def _kept(
        self,
        instances: Sequence[Instance],
        executor: Executor,
        store: Storage | None,
        show: OnProgress,
        interrupt: OneInterrupt,
    ) -> None:
        """Measures, and writes what there is then, whatever ended it."""
        study = self._study
        refused = False
        try:
            with _interruptible(executor), contextlib.closing(TrialLog(self._folder.trials)) as log:
                interrupt.open()
                self._measure(instances, executor, log, store, show)
        except KeyboardInterrupt:
            study.interrupted = True
        except UnsupportedError:  # an objective that the device does not tell
            refused = not self._resume and not study.count(COMPLETE)
            raise
        finally:
            interrupt.close()
            if executor.problem is not None:
                study.remarks.append(str(executor.problem))
            if refused:
                self._folder.undo()
            else:
                write_results(self._folder, study)

    def _close_storage(self, store: Storage, interrupt: OneInterrupt) -> None:
        """What it does not have yet can be waited for as long as nobody presses Ctrl-C."""
        try:
            interrupt.open()
            problem = store.close(wait=_STORAGE_PATIENCE if self._study.interrupted else None)
        except KeyboardInterrupt:
            problem = store.close(wait=0)
        interrupt.close()
        if problem:
            self._study.remarks.append(problem)
            if self._folder.summary.exists():
                write_json(self._folder.summary, self._study.summary())

    def _finished(self) -> bool:
        """Whether there is nothing left to measure; the study is as it was then."""
        try:
            summary = _json.loads(self._folder.summary.read_text(encoding="utf-8"))
            done = self._study.finished(summary, rounds=self._asked.confirm)
        except (OSError, ValueError, TypeError, KeyError):  # it was killed before, or is of another version
            return False
        return done

    def _open_storage(self) -> Storage | None:
        asked = self._asked
        if not asked.storage:
            return None
        folder = self._folder.path
        store = Storage(
            asked.storage, asked.storage_name, folder=folder, space=self._space, objectives=asked.objectives
        )
        for trial in self._before:
            store.append(trial)
        return store

    def _measure(
        self,
        instances: Sequence[Instance],
        executor: Executor,
        log: TrialLog,
        store: Storage | None,
        show: OnProgress,
    ) -> None:
        def on_trial(trial: Trial) -> None:
            self._now_ready()
            trial.baseline = self._study.baseline.begin
            is_best = self._study.add(trial)
            log.append(trial)
            if store:
                store.append(trial)
            if is_best:
                write_best(self._folder, self._study)

        def on_tick(stage: str = "search") -> None:
            if stage == "search" and self._ready is not None:
                self._study.seconds = time.monotonic() - self._ready
            show(self._study, stage)

        self._baseline(executor, "begin")
        ended = self._search(on_trial, lambda: on_tick()).run(executor)
        wanted = self._asked.trials
        self._study.exhausted = ended and (wanted is None or len(self._study.trials) < wanted)
        on_tick()
        self._conclude(instances, executor, lambda: on_tick("confirm"))

    def _search(self, on_trial: Callable[[Trial], None], on_tick: Callable[[], None]) -> Search:
        asked = self._asked
        return Search(
            self._space,
            self._source,
            self._config,
            objectives=asked.objectives,
            trials=None if asked.trials is None else max(0, asked.trials - len(self._before)),
            deadline=None if asked.timeout is None else time.monotonic() + asked.timeout,
            ahead=asked.ahead,
            prune=asked.prune,
            on_trial=on_trial,
            on_tick=on_tick,
            compile_times=self._compile_times,
        )

    def _executor_options(self, resume: bool) -> dict[str, Any]:
        named = ":" in self._asked.device or self._devices is not None
        return {
            "device": self._asked.device,
            "devices": self._devices if named else "all",
            "log": self._folder.log,
            "resume": resume,
            "weights": self._asked.weights["of"] if self._asked.weights else "equal",
            **self._asked.executor,
        }

    def _baseline(self, executor: Executor, when: str) -> Any:
        """Asks for it; the study has it when it is there."""

        def done(future: Any) -> None:
            if future.cancelled() or future.result().failure == "cancelled":  # by Ctrl-C
                return
            result: Result = future.result()
            self._now_ready()
            if result.failed:
                self._study.baseline.problem = f"{result.failure}: {result.reason}"
            else:
                setattr(self._study.baseline, when, result.time)
                self._compile_times.notice(result)

        future = executor.measure_anew(self._recorded, f"baseline at the {when}")
        future.add_done_callback(done)
        return future

    def _now_ready(self) -> None:
        if self._ready is None:
            self._ready = time.monotonic()
            self._study.seconds_before = self._ready - self._began

    def _conclude(self, instances: Sequence[Instance], executor: Executor, tick: Callable[[], None]) -> None:
        study = self._study
        if self._asked.confirm and study.best is not None:
            tick()
            if len(executor.devices) == 1:
                self._announce(executor)
            else:  # two GPUs are not alike
                executor.shutdown()
                options = self._executor_options(resume=True) | {"devices": executor.devices[:1]}
                with _interruptible(open_executor(instances, options)) as alone:
                    self._announce(alone)
                    self._baseline(alone, "end").result()
                    return
        self._baseline(executor, "end").result()

    def _announce(self, executor: Executor) -> None:
        announce(self._study, executor, self._recorded, rounds=self._asked.confirm)


def _recorded_passes(results_dir: str | os.PathLike[str] | None) -> str:
    """The baseline's pipeline in the run that goes on; what is wrong there is said when it does."""
    with contextlib.suppress(MnemeError):
        if results_dir is not None:
            return Folder(Path(results_dir)).read().recorded_passes
    return "as-built"


def open_executor(instances: Sequence[Instance], options: Mapping[str, Any]) -> Executor:
    """What measures."""
    from mneme.executor import Executor

    return Executor(list(instances), **options)


def baseline_of(config: Config, passes: str = "as-built") -> Config:
    """The launch as recorded, compiled by `passes`, timed and judged as `config` is."""
    from mneme.config import Config

    members = {**config.to_dict(), "passes": passes}
    kept = ("passes", "execution", "tolerance", "verdict")
    return Config.from_dict({name: members[name] for name in kept if name in members})


def recorded_launch(instances: Sequence[Instance], passes: str = "as-built") -> dict[str, Any]:
    """What a configuration would say of the launch as recorded, as far as `instances` are alike."""

    def alike(values: Iterable[int]) -> int | None:
        found = set(values)
        return found.pop() if len(found) == 1 else None

    return {
        "passes": passes,
        "grid": {axis: alike(one.grid[place] for one in instances) for place, axis in enumerate("xyz")},
        "block": {axis: alike(one.block[place] for one in instances) for place, axis in enumerate("xyz")},
        "shared_memory": alike(one.shared_memory for one in instances),
    }


class _interruptible:  # noqa: N801
    """Ends an executor: what is under way is given up, not waited for."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def __enter__(self) -> Executor:
        return self._executor

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


def _too_few_points(space: SearchSpace, asked: Asked) -> list[str]:
    """What there is to say of a space that is so small that points must come again."""
    if asked.trials is None or asked.sampler in ("exhaustive", "grid"):
        return []
    if space.size is None or space.size > _COUNTED:
        return []
    points = sum(1 for _ in space.points())
    if points >= asked.trials:
        return []
    return [f"the space has {points} points, fewer than {asked.trials} trials: --sampler exhaustive tries each once"]


def _source(
    sampler: str | BaseSampler, space: SearchSpace, asked: Asked, further: int, note: Callable[[str], None]
) -> Source:
    """`further` is added to the seed."""

    def of(left: SearchSpace, first: int) -> Source:
        return source_of(
            sampler,
            left,
            objectives=asked.objectives,
            seed=asked.seed + further,
            trials=asked.trials,
            first=first,
        )

    if not (space.lines and space.start) or sampler in ("exhaustive", "grid"):
        return of(space, 0)
    of(space, 0)  # what is wrong is said before anything is measured
    return Probed(space, of, most=asked.probe, note=note)


def _learns(sampler: object) -> int:
    return 0 if sampler in ("exhaustive", "grid", "random") else 1


def _shown(progress: bool | OnProgress | None) -> OnProgress:
    if progress is True:
        return Display()
    return progress if callable(progress) else lambda study, stage: None
