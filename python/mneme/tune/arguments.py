"""What tune() is asked, as it takes it; what is wrong raises InvalidArgumentError, which says so."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mneme import _native
from mneme.errors import InvalidArgumentError, NotFoundError
from mneme.results.statistics import LEAST_ROUNDS
from mneme.results.trials import OBJECTIVES
from mneme.tune.names import nearest
from mneme.tune.space import presets
from mneme.tune.space.parameters import Parameter
from mneme.tune.space.search_space import SearchSpace

if TYPE_CHECKING:
    from mneme.config import Config
    from mneme.database import Instance

DEFAULT_TRIALS = 100

Space = str | SearchSpace | Mapping[str, Parameter]
"""The name of a preset, a space, or only its parameters by name."""


def as_instances(instance: Instance | Sequence[Instance]) -> list[Instance]:
    """At least one."""
    several = isinstance(instance, Iterable) and not isinstance(instance, str | Mapping)
    instances: list[Any] = list(instance) if several else [instance]  # type: ignore[arg-type]
    for one in instances:
        if not hasattr(one, "kernel"):
            first_line = repr(one).partition("\n")[0] or f"a {type(one).__name__}"
            raise InvalidArgumentError(
                "tuning: instance must be a recorded launch, as mneme.Database('record-db')['scale'][0], or several "
                f"of one kernel, and is {first_line}"
            )
    if not instances:
        raise NotFoundError("tuning: there is no instance to tune")
    return instances


def as_weights(weights: str | None, instances: Sequence[Instance]) -> dict[str, Any] | None:
    """Of several instances, how their times are added; of one it is None."""
    if weights is not None and (not isinstance(weights, str) or weights not in ("program", "equal")):
        raise InvalidArgumentError(f'tuning: weights must be "program" or "equal", and is {weights!r}')
    if len(instances) == 1:
        return None
    kernel = instances[0].kernel
    if any(one.kernel.hash != kernel.hash for one in instances):
        return None  # which is refused where they are to be measured
    chosen = _native.choose_weights(kernel._native, [one.hash for one in instances], weights)
    return {"by": chosen.by, "of": list(chosen.of)} | ({"why_equal": chosen.why_equal} if chosen.why_equal else {})


def weighed(weights: Mapping[str, Any] | None) -> list[str]:
    """What there is to say of `as_weights`."""
    if weights is None:
        return []
    return [str(_native.describe_weights(weights["by"], weights["of"], weights.get("why_equal", "")))]


def as_space(space: Space, instance: Instance, kind: str, passes: str = "as-built") -> tuple[SearchSpace, str | None]:
    """The space, and the name of the presets in it; `passes` is the pipeline of the launch as recorded."""
    if isinstance(space, SearchSpace):
        return space, space.preset
    if isinstance(space, Mapping):
        return SearchSpace(space), None
    if not isinstance(space, str):
        raise InvalidArgumentError(
            f"tuning: space must be a SearchSpace, parameters by name, or the name of a preset, and is {space!r}"
        )
    made = presets.preset(space, instance, device=kind, passes=passes)
    if not made.parameters:
        raise InvalidArgumentError(f"space '{space}' has nothing to search: {'; '.join(made.notes)}")
    return made, space


def as_seed(seed: int | None) -> int:
    """One by chance where none is given."""
    if seed is None:
        return random.SystemRandom().randrange(1 << 31)
    return at_least("seed", seed, 0)


def as_trials(trials: int | None, sampler: object) -> int | None:
    """None: as many as the space has points."""
    if trials is None:
        return None if sampler in ("exhaustive", "grid") else DEFAULT_TRIALS
    return at_least("trials", trials, 1)


def as_seconds(timeout: Any) -> float | None:
    """None: no end."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise InvalidArgumentError(f"tuning: timeout must be seconds, above zero, and is {timeout!r}")
    return float(timeout)


def usual_ahead(trials: int | None) -> int:
    """How many points are proposed before their predecessors' results are known."""
    return 64 if trials is None else max(16, min(64, trials // 8))


def at_least(name: str, value: Any, least: int) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidArgumentError(f"tuning: {name} must be a whole number from {least} on, and is {value!r}")
    return value


def as_rounds(confirm: int) -> int:
    """In which winner and baseline are measured in turn; 0: not at all."""
    rounds = at_least("confirm", confirm, 0)
    if 0 < rounds < LEAST_ROUNDS:
        raise InvalidArgumentError(
            f"tuning: confirm: {rounds} {'round proves' if rounds == 1 else 'rounds prove'} nothing: "
            f"give {LEAST_ROUNDS} at least, or 0 to leave the winner unconfirmed"
        )
    return rounds


def as_objectives(objectives: str | Sequence[str], *, runs: bool = True) -> list[str]:
    """Different ones, the first of which is what is sorted by. `runs`: whether what is compiled is run."""
    words = objectives.split(",") if isinstance(objectives, str) else list(objectives)
    for word in words:
        if word not in OBJECTIVES:
            raise InvalidArgumentError(f"there is no objective '{word}'{nearest(word, OBJECTIVES)}")
        if words.count(word) > 1:
            raise InvalidArgumentError(f"objective '{word}' is there twice")
    if "time" in words and not runs:
        others = ", ".join(name for name in OBJECTIVES if name != "time")
        raise InvalidArgumentError(f"objective 'time': nothing is run where it is only compiled; there are: {others}")
    if not words:
        raise InvalidArgumentError(f"there must be an objective: of {', '.join(OBJECTIVES)}")
    return words


def as_base(config: Config | None) -> Config:
    """What every trial begins with."""
    from mneme.config import Config

    if config is not None and not isinstance(config, Config):
        raise InvalidArgumentError(f"tuning: config must be a Config, and is {config!r}")
    return Config() if config is None else config
