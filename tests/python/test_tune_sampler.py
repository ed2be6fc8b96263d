"""The sampler that is asked and told in a loop of one's own."""

from typing import Any

import mneme
import pytest
from mneme.errors import InvalidArgumentError, UnsupportedError
from mneme.tune import Int, Sampler, SearchSpace, Trial

from fake_executor import SPACE, FakeResult, measure


@pytest.mark.parametrize("name", ["exhaustive", "random", "tpe", "cmaes", "nsga2"])
def test_a_sampler_is_asked_and_told_in_any_order(name: str) -> None:
    sampler = Sampler(SPACE, name, seed=5, config=mneme.Config(shared_memory=64))
    for _ in range(4):
        asked = sampler.ask(5)
        for trial in reversed(asked):
            assert trial.config is not None and trial.config.to_dict()["shared_memory"] == 64
            result: Any = FakeResult(trial.config, measure(trial.config))
            assert sampler.tell(trial, result) is trial and trial.state in ("complete", "failed")
    assert sorted(trial.number for trial in sampler.trials) == list(range(20))
    best = sampler.best
    assert best is not None and best.time == min(trial.time for trial in sampler.trials if trial.time)


def test_a_sampler_says_when_there_are_no_more_points_and_what_it_did_not_ask() -> None:
    sampler = Sampler({"codegen.level": Int(1, 3)}, "exhaustive")
    trials = sampler.ask(8)
    assert len(trials) == 3 and sampler.ask() == [] and sampler.best is None
    assert trials[0].config is not None
    result: Any = FakeResult(trials[0].config, 5.0)
    sampler.tell(trials[0], result)
    for wrong in (trials[0], Trial(1, {}), None):
        with pytest.raises(InvalidArgumentError, match="it is none that it asked for, or was told of it"):
            sampler.tell(wrong, result)  # type: ignore[arg-type]
    result.object_size = None
    with pytest.raises(UnsupportedError, match="objective 'object_size': the device does not tell it"):
        other = Sampler({"codegen.level": Int(1, 3)}, "exhaustive", objectives="object_size")
        other.tell(other.ask()[0], result)
    with pytest.raises(InvalidArgumentError, match="a sampler's space must be a SearchSpace"):
        Sampler("launch")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="there is no sampler 'tpi'; the nearest is 'tpe'"):
        Sampler(SPACE, "tpi")


def test_a_sampler_learns_from_what_it_is_told() -> None:
    space = SearchSpace({"codegen.level": Int(0, 3), "shared_memory": Int(0, 40)})
    sampler = Sampler(space, "tpe", seed=2)
    for _ in range(8):
        for trial in sampler.ask(8):
            assert trial.config is not None
            result: Any = FakeResult(trial.config, 100.0 + trial.params["shared_memory"])
            sampler.tell(trial, result)
    last = [trial.params["shared_memory"] for trial in sampler.trials[-16:]]
    assert sum(last) / len(last) < 10


def test_a_sampler_is_asked_for_one_and_told_how_many_there_will_be() -> None:
    source: Any = Sampler(SPACE, "nsga2", trials=200)._source
    assert source._study.sampler._population_size == 20
    assert len(Sampler(SPACE, "random", trials=1).ask()) == 1
    for count in (0, True):
        with pytest.raises(InvalidArgumentError, match="count must be a whole number from 1 on"):
            Sampler(SPACE, "random").ask(count)
        with pytest.raises(InvalidArgumentError, match="trials must be a whole number from 1 on"):
            Sampler(SPACE, "random", trials=count)


def test_what_an_object_took_to_compile_is_the_most_that_was_told() -> None:
    sampler = Sampler(SPACE, "exhaustive", objectives="compile_time")
    times: list[Any] = []
    for trial, (code, took) in zip(sampler.ask(4), [("a", 5e6), ("a", 0.0), ("b", 1e6), (None, 2e6)], strict=True):
        assert trial.config is not None
        result: Any = FakeResult(trial.config, 5.0)
        result.object_hash, result.compile_time = code, took
        times.append(sampler.tell(trial, result).compile_time)
    assert times == [5e6, 5e6, 1e6, 2e6]
