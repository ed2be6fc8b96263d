"""A probe before the search: values of the launch's shape are tried alone, and what fails is left out of the space.

Whether a kernel does the same under another block or grid hardly depends on how it is compiled. So the first trials
of a run are the launch as recorded but for one value, along the lines of the space: the value that is farthest from
the recorded one; where that fails, the nearest one too; and where these differ, all between them. They are trials like
others, and all that was learnt stands in them: a run that is resumed comes to the same space.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mneme.results.trials import FAILED, Params, Trial
from mneme.tune.search.samplers import NO_LESSON, Numbered, Source
from mneme.tune.space.search_space import Line, SearchSpace, key_of


class Probed(Source):
    """Proposes the probe's points, then those of the source that `go_on` makes.

    `go_on` takes the space that is left and the number of its first point. At most `most` points are the probe's.
    `note` is told what is left out, and why.
    """

    learns = True

    def __init__(
        self,
        space: SearchSpace,
        go_on: Callable[[SearchSpace, int], Source],
        *,
        most: int,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        """A space with lines has a start, from which they go."""
        self._go_on, self._note = go_on, note
        self._probe = _Probe(space, most)
        self._source: Source | None = None
        self._round: list[Numbered] = []
        self._unasked: list[Numbered] = []
        self._count = 0
        self._known: dict[int, Trial] = {}

    @property
    def waits(self) -> bool:
        """A round is proposed, and decides of the next."""
        return self._source is None and not self._unasked

    def restore(self, trials: Sequence[Trial]) -> None:
        """What was probed is not probed again."""
        self._known = {trial.number: trial for trial in trials}
        self._next_round()
        self._go()

    def propose(self, count: int) -> list[Numbered]:
        """Of the probe, then of the search."""
        if self._source is not None:
            return self._source.propose(count)
        batch, self._unasked = self._unasked[:count], self._unasked[count:]
        return batch

    def tell(self, trial: Trial) -> None:
        """The last one of a round decides of the next."""
        if self._source is not None:
            self._source.tell(trial)
            return
        self._known[trial.number] = trial
        self._go()

    def _go(self) -> None:
        while self._source is None and all(number in self._known for number, _ in self._round):
            if self._round:
                self._probe.learn([self._known[number] for number, _ in self._round])
                self._next_round()
            else:
                self._end()

    def _next_round(self) -> None:
        self._round = [(self._count + place, params) for place, params in enumerate(self._probe.ask())]
        self._unasked = [each for each in self._round if each[0] not in self._known]
        self._count += len(self._round)

    def _end(self) -> None:
        space = self._probe.left()
        for text in self._probe.notes():
            self._note(text)
        self._source = self._go_on(space, self._count)
        self._source.restore(list(self._known.values()))
        self.learns = self._source.learns


@dataclasses.dataclass
class _Walk:
    """A line, and what became of the values that were tried, by their places."""

    line: Line
    tried: dict[int, Trial] = dataclasses.field(default_factory=dict)

    def next(self) -> Iterable[int]:
        """The places that are to be tried now."""
        last = len(self.line.values) - 1
        if last not in self.tried:
            return [last]
        if self._failed(last):
            if 0 not in self.tried:
                return [0]
        elif (odd := self._odd()) is None or not self._failed(odd):
            return [odd] if odd is not None and odd not in self.tried else []
        return [] if self._all_failed() else [place for place in range(last) if place not in self.tried]

    def wrong(self) -> Sequence[Params]:
        """What fails, or would by all that is known."""
        if 0 in self.tried and self._all_failed():
            return self.line.values + self.line.beyond
        return [self.line.values[place] for place in self.tried if self._failed(place)]

    def _failed(self, place: int) -> bool:
        return place in self.tried and failed(self.tried[place])

    def _all_failed(self) -> bool:
        return all(map(failed, self.tried.values()))

    def _odd(self) -> int | None:
        """The farthest of the sizes that are no power of two: reductions in shared memory often take these only."""
        for place in range(len(self.line.values) - 2, -1, -1):
            sizes = [value for value in self.line.values[place].values() if isinstance(value, int)]
            if any(size & (size - 1) for size in sizes):
                return place
        return None


class _Probe:
    """What is tried along the lines of a space, round by round, and what is left of the space then."""

    def __init__(self, space: SearchSpace, most: int) -> None:
        self._space, self._most = space, most
        self._start = space.start[0] if space.lines else {}
        self._walks = [_Walk(line) for line in map(self._allowed, space.lines) if line.values]
        self._begun = False
        self._asked: list[tuple[_Walk, int]] = []

    def _allowed(self, line: Line) -> Line:
        """Without what a constraint forbids that the line does not know of."""
        point = {**self._start, **line.others}
        values = tuple(value for value in line.values if self._space.allows({**point, **value}))
        return dataclasses.replace(line, values=values)

    def ask(self) -> list[Params]:
        """The points of the next round, the first with the launch as recorded; none: the probe is at its end."""
        asked = [(walk, place) for walk in self._walks for place in walk.next()]
        points = [{**self._start, **walk.line.others, **walk.line.values[place]} for walk, place in asked]
        if not self._begun and points:
            points = [self._start, *points]
            if len(points) > self._most:  # too few trials for a probe
                return []
        self._begun = True
        self._asked, points = asked[: self._most], points[: self._most]
        self._most -= len(points)
        return points

    def learn(self, trials: Sequence[Trial]) -> None:
        """What became of the points of a round."""
        if len(trials) > len(self._asked) and failed(trials[0]):
            self._walks = []  # what fails as recorded fails anyhow
            return
        for (walk, place), trial in zip(self._asked, trials[len(trials) - len(self._asked) :], strict=True):
            walk.tried[place] = trial

    def left(self) -> SearchSpace:
        """The space without what fails; the whole one where there was no probe."""
        if not self._begun or not self._space.lines:
            return self._space
        wrong = self._wrong()
        keys = {key_of(value) for value in wrong}
        without: dict[str, list[Any]] = {}
        for name in self._start:
            for choice in {value[name]: None for value in wrong if name in value and value[name] != self._start[name]}:
                if all(key_of(value) in keys for value in self._values() if value.get(name) == choice):
                    without.setdefault(name, []).append(choice)
        rest = [value for value in wrong if not any(value[name] in without.get(name, ()) for name in value)]
        return self._space.narrowed(without, [_never(*group) for group in _grouped(rest)])

    def notes(self) -> list[str]:
        """What is left out, and why."""
        kinds: dict[str, dict[str, None]] = {}
        for walk in self._walks:
            for trial in filter(failed, walk.tried.values()):
                for value in walk.line.values + walk.line.beyond:
                    kinds.setdefault(key_of(value), {})[str(trial.failure)] = None
        made = []
        for others, name, values in _grouped(self._wrong()):
            why = dict.fromkeys(kind for value in values for kind in kinds[key_of({**others, name: value})])
            under = "".join(f" under {other} '{value}'" for other, value in others.items())
            made.append(f"{name}: {_listed(values)} left out{under}: {', '.join(why)} when tried alone")
        return made

    def _values(self) -> list[Params]:
        return [value for walk in self._walks for value in walk.line.values + walk.line.beyond]

    def _wrong(self) -> list[Params]:
        return [value for walk in self._walks for value in walk.wrong()]


def failed(trial: Trial) -> bool:
    """Whether the point is to blame."""
    return trial.state == FAILED and trial.failure not in NO_LESSON


_Group = tuple[Params, str, list[Any]]


def _grouped(values: Sequence[Params]) -> list[_Group]:
    """The values of the last parameter, by that and by what the others are."""
    groups: dict[str, _Group] = {}
    for value in values:
        *others, name = value
        rest = {other: value[other] for other in others}
        groups.setdefault(key_of({**rest, "": name}), (rest, name, []))[2].append(value[name])
    return [(rest, name, sorted(found)) for rest, name, found in groups.values()]


def _never(others: Params, name: str, values: Sequence[Any]) -> str:
    """A constraint.

    >>> _never({"grid": "threads"}, "block.x", [64, 128])
    "grid != 'threads' or block.x not in [64, 128]"
    """
    return " or ".join([*(f"{other} != {value!r}" for other, value in others.items()), f"{name} not in {list(values)}"])


def _listed(values: Sequence[Any]) -> str:
    if len(values) <= 4:
        return ", ".join(map(str, values))
    return f"{values[0]}, {values[1]}, …, {values[-1]} ({len(values)} values)"
