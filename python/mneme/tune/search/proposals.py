"""Points ahead of the measurements: a thread that asks the source while the device works.

A source that does not learn is asked as long as there are not too many without a result. One that learns is asked for a
batch when all results of the batch that lies `ahead` points back are there, and is told those first, in the order of
their numbers: what it proposes depends on values, not on which result came first. Only a straggler of which everything
else waits is told later; a source that waits is told of all.
"""

from __future__ import annotations

import collections
import queue
import threading
from collections.abc import Callable

from mneme.results.trials import Trial
from mneme.tune.search.samplers import Numbered, Source

BATCH = 8
# Without a result, of a source that does not learn.
_MANY = 512
# Seconds after which it is not waited for a straggler while nothing else is measured.
_PATIENCE = 0.1


class _Stopped(Exception):  # noqa: N818
    pass


class Proposals:
    """Asks a source for `count` points; one that learns, `ahead` points before results at most.

    `put` is called on the thread with each batch; with None behind the last one; or with the exception that ended the
    source.
    """

    def __init__(
        self, source: Source, *, count: int | None, ahead: int, put: Callable[[list[Numbered] | Exception | None], None]
    ) -> None:
        """Nothing begins before `start`."""
        self._source = source
        self._left = count
        self._depth = max(1, ahead // BATCH)
        self._put = put
        self._told: queue.SimpleQueue[Trial | None] = queue.SimpleQueue()
        self._open: collections.deque[set[int]] = collections.deque()  # batches, oldest first
        self._late: set[int] = set()
        self._asked = 0
        self._done: dict[int, Trial] = {}
        self._thread = threading.Thread(target=self._run, name="mneme-tune", daemon=True)

    def start(self) -> None:
        """Begins to ask."""
        self._thread.start()

    def tell(self, trial: Trial) -> None:
        """What became of a point."""
        self._told.put(trial)

    def stop(self) -> None:
        """Ends soon; what is asked just now is put yet."""
        self._told.put(None)

    def _run(self) -> None:
        try:
            while self._left is None or self._left > 0:
                self._make_room()
                if self._source.waits:
                    self._close_all()
                batch = self._source.propose(BATCH if self._left is None else min(BATCH, self._left))
                if not batch:
                    break
                if self._left is not None:
                    self._left -= len(batch)
                self._open.append({number for number, _ in batch})
                self._asked += len(batch)
                self._put(batch)
            self._put(None)
        except _Stopped:
            self._put(None)
        except Exception as error:
            self._put(error)

    def _make_room(self) -> None:
        if self._source.learns:
            while len(self._open) >= self._depth:
                self._close_oldest()
        else:
            while self._asked - len(self._done) >= _MANY:
                self._collect(None)

    def _close_oldest(self) -> None:
        oldest = self._open[0]
        while not oldest <= self._done.keys():
            if not self._collect(_PATIENCE if self._all_wait_for_it() else None):
                break
        self._open.popleft()
        self._late |= oldest
        while not self._told.empty():
            self._collect(None)
        self._tell()

    def _close_all(self) -> None:
        self._late = self._late.union(*self._open)
        self._open.clear()
        while not self._late <= self._done.keys():
            self._collect(None)
        self._tell()

    def _tell(self) -> None:
        told = sorted(self._late & self._done.keys())
        self._late -= set(told)
        for number in told:
            self._source.tell(self._done[number])

    def _all_wait_for_it(self) -> bool:
        others = list(self._open)[1:]
        late = len(self._late - self._done.keys())
        return bool(others) and late < self._depth * BATCH and all(batch <= self._done.keys() for batch in others)

    def _collect(self, patience: float | None) -> bool:
        try:
            trial = self._told.get(timeout=patience)
        except queue.Empty:
            return False
        if trial is None:
            raise _Stopped
        self._done[trial.number] = trial
        return True
