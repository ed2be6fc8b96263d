"""A study in one of Optuna's storages, beside the results: for its dashboard, and for whoever reads such studies.

Trials are written there when they are done, in batches, on a thread: the search never waits for a data base, whatever
the sampler.
"""

from __future__ import annotations

import queue
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mneme.errors import InvalidArgumentError, UnavailableError
from mneme.results.trials import Trial
from mneme.tune.extras import need
from mneme.tune.names import nearest
from mneme.tune.search.samplers import coordinates, distributions, optuna_trial
from mneme.tune.space.search_space import SearchSpace

_WORDS = ("journal", "sqlite")


class Storage:
    """Writes trials into a study.

    `journal` and `sqlite` are files in the folder of results; anything else is a URL of Optuna's.
    """

    def __init__(self, storage: str, name: str, *, folder: Path, space: SearchSpace, objectives: Sequence[str]) -> None:
        """Makes the study, or goes on with it. Raises UnavailableError with Optuna's words where that fails."""
        check_storage(storage)
        optuna = need("optuna", f"storage '{storage}'")
        self._space, self._objectives = space, tuple(objectives)
        self._axes = distributions(space)
        verbosity = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            self._study = optuna.create_study(
                storage=_open(optuna, storage, folder),
                study_name=name,
                directions=["minimize"] * len(self._objectives),
                load_if_exists=True,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it is experimental
                self._study.set_metric_names(list(self._objectives))
            self._known = {trial.user_attrs.get("number") for trial in self._study.get_trials(deepcopy=False)}
        except Exception as error:  # of whatever Optuna opens it with
            raise UnavailableError(f"storage '{storage}': {error}") from error
        finally:
            optuna.logging.set_verbosity(verbosity)
        self._queue: queue.SimpleQueue[Trial | None] = queue.SimpleQueue()
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._write, name="mneme-tune-storage", daemon=True)
        self._thread.start()

    def append(self, trial: Trial) -> None:
        """Has it written, unless the study has it already."""
        if trial.number not in self._known:
            self._queue.put(trial)

    def close(self, *, wait: float | None = None) -> str | None:
        """Writes what is left, for `wait` seconds at most.

        Returns what went wrong: the results are whole without it.
        """
        self._queue.put(None)
        self._thread.join(wait)
        if self._thread.is_alive():
            return "not all trials are in the storage yet; --resume writes the others"
        return None if self._problem is None else f"the storage could not be written: {self._problem}"

    def _write(self) -> None:
        while (trial := self._queue.get()) is not None:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    params = coordinates(self._space, trial.params)
                    self._study.add_trial(optuna_trial(trial, params, self._axes, self._objectives))
            except Exception as error:
                self._problem = error
                return


def check_storage(storage: str | None) -> None:
    """Raises InvalidArgumentError for what is neither a word that is known nor a URL."""
    if storage is not None and storage not in _WORDS and "://" not in storage:
        raise InvalidArgumentError(
            f"storage '{storage}' is neither {' nor '.join(_WORDS)} nor a URL of Optuna's{nearest(storage, _WORDS)}"
        )


def _open(optuna: Any, storage: str, folder: Path) -> Any:
    if storage == "journal":
        from optuna.storages.journal import JournalFileBackend

        return optuna.storages.JournalStorage(JournalFileBackend(str(folder / "optuna.journal")))
    if storage == "sqlite":
        return f"sqlite:///{folder.resolve()}/optuna.db"
    return storage
