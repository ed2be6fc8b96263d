"""Where points come from: in order, by chance, from Optuna; ahead of results, and the same for the same seed."""

import contextlib
import copy
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from mneme.errors import InvalidArgumentError, UnavailableError
from mneme.results.trials import Trial
from mneme.tune import Bool, Categorical, Float, Int, Pipeline, SearchSpace
from mneme.tune.extras import TUNE
from mneme.tune.names import closest, nearest
from mneme.tune.search.proposals import BATCH, Proposals
from mneme.tune.search.samplers import FromTpe, Numbered, Source, distributions, source_of
from mneme.tune.space.search_space import key_of

SPACE = SearchSpace(
    {
        "block.x": Categorical(list(range(32, 1025, 32)), ordered=True),
        "level": Int(0, 3),
        "flag": Bool(),
        "scale": Float(0.0, 1.0),
        "passes": Pipeline(["a", "b", "c"], max_length=3, first=["x", "y"]),
    },
    constraints=["block.x != 512"],
    start=[{"block.x": 128, "level": 3, "flag": False, "scale": 0.5, "passes": ("x",)}],
)
# The same, with values that can be counted.
COUNTED = SearchSpace(
    {name: parameter for name, parameter in SPACE.parameters.items() if name != "scale"},
    constraints=["block.x != 512"],
    start=[{"block.x": 128, "level": 3, "flag": False, "passes": ("x",)}],
)
LEARNING = ["tpe", "cmaes", "nsga2"]


def value(params: dict[str, Any]) -> float:
    return float(100 + abs(params["block.x"] - 256) / 32 + 3 * params["level"] + len(params["passes"]))


def trial_of(number: int, params: dict[str, Any]) -> Trial:
    """A synthetic measurement: some fail."""
    if params["flag"] and params["level"] == 0:
        return Trial(number, params, state="failed", failure="wrong_result")
    return Trial(number, params, state="complete", time=value(params), registers=64 - 8 * params["level"])


def run(
    source: Source, count: int, order: Callable[[list[Numbered]], list[Numbered]] = lambda batch: batch
) -> list[Numbered]:
    """All points of a source, told in batches; `order` is that in which results come."""
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    proposals = Proposals(source, count=count, ahead=2 * BATCH, put=events.put)
    proposals.start()
    points: list[Numbered] = []
    while (batch := events.get(timeout=60)) is not None:
        assert not isinstance(batch, Exception), batch
        points += batch
        for number, params in order(batch):
            proposals.tell(trial_of(number, params))
    return points


def keys(points: list[Numbered]) -> list[tuple[int, str]]:
    return [(number, key_of(params)) for number, params in points]


@pytest.mark.parametrize("space", [SPACE, COUNTED], ids=["any", "counted"])
@pytest.mark.parametrize("name", ["random", *LEARNING])
def test_same_seed_same_trials(name: str, space: SearchSpace) -> None:
    first = run(source_of(name, space, objectives=["time"], seed=7), 60)
    again = run(source_of(name, space, objectives=["time"], seed=7), 60, order=lambda batch: batch[::-1])
    other = run(source_of(name, space, objectives=["time"], seed=8), 60)
    assert [number for number, _ in first] == list(range(60))
    assert keys(first) == keys(again)
    assert keys(first) != keys(other)
    assert first[0][1] == space.start[0]
    assert all(space.allows(params) for _, params in first)


@pytest.mark.parametrize("space", [SPACE, COUNTED], ids=["any", "counted"])
def test_tpe_learns(space: SearchSpace) -> None:
    points = run(source_of("tpe", space, objectives=["time"], seed=3), 200)
    values = [value(params) for _, params in points]
    assert sum(values[150:]) / 50 < sum(values[:50]) / 50 - 5


@pytest.mark.parametrize("name", ["tpe", "nsga2"])
def test_several_objectives(name: str) -> None:
    for space in (SPACE, COUNTED):
        points = run(source_of(name, space, objectives=["time", "registers"], seed=3), 60)
        assert len(points) == 60


def faulting(number: int, params: dict[str, Any]) -> Trial:
    """Two thirds of the points fault."""
    if params["grid"] != "threads":
        return Trial(number, params, state="failed", failure="device_fault")
    return Trial(number, params, state="complete", time=100.0 + params["level"])


@pytest.mark.parametrize(("name", "most"), [("tpe", 0.3), ("nsga2", 0.5)])
def test_samplers_keep_away_from_what_fails(name: str, most: float) -> None:
    grids = ["threads", "more threads", "recorded"]
    space = SearchSpace({"grid": Categorical(grids), "level": Int(0, 99), "flag": Bool()})
    shares = {}
    for sampler in ("random", name):
        source = source_of(sampler, space, objectives=["time"], seed=3, trials=200)
        failed = []
        for _ in range(25):
            for number, params in source.propose(BATCH):
                trial = faulting(number, params)
                failed.append(trial.state == "failed")
                source.tell(trial)
        shares[sampler] = sum(failed[100:]) / 100
    assert shares["random"] > 0.5 and shares[name] < most, shares


def test_cmaes_keeps_away_from_what_fails() -> None:
    space = SearchSpace({"a": Int(0, 99), "b": Int(0, 99)})
    source = source_of("cmaes", space, objectives=["time"], seed=3)
    failed = []
    for _ in range(25):
        for number, params in source.propose(BATCH):
            failed.append(params["a"] + params["b"] > 60)
            if failed[-1]:
                source.tell(Trial(number, params, state="failed", failure="invalid_launch"))
            else:
                source.tell(Trial(number, params, state="complete", time=100.0 + params["b"]))
    assert sum(failed[100:]) < 50


@pytest.mark.parametrize("name", LEARNING)
def test_samplers_go_on_where_all_fails(name: str) -> None:
    source = source_of(name, SPACE, objectives=["time"], seed=3)
    for _ in range(8):
        for number, params in source.propose(BATCH):
            source.tell(Trial(number, params, state="failed", failure="compile_error"))


@pytest.mark.parametrize("name", ["nsga2", "cmaes"])
@pytest.mark.parametrize("restored", [False, True])
def test_a_failure_is_scored_from_the_worst(name: str, restored: bool) -> None:
    space = SearchSpace({"a": Int(0, 99), "b": Int(0, 99)})
    source: Any = source_of(name, space, objectives=["time"], seed=3)
    trials = []
    for (number, params), time in zip(source.propose(4), (300.0, 1000.0, 200.0, None), strict=True):
        state = {"state": "complete", "time": time} if time else {"state": "failed", "failure": "device_fault"}
        trials.append(Trial(number, params, **state))
    if restored:
        source = source_of(name, space, objectives=["time"], seed=3)
        source.restore(trials)
    else:
        for trial in trials:
            source.tell(trial)
    values = [trial.value for trial in source._study.trials if trial.state.name == "COMPLETE"]
    assert values == [300.0, 1000.0, 200.0, 2000.0]


@pytest.mark.parametrize(("failure", "states"), [("worker_lost", "FAIL"), ("device_fault", "COMPLETE")])
def test_what_says_nothing_of_a_point_teaches_nothing(failure: str, states: str) -> None:
    source: Any = source_of("nsga2", SPACE, objectives=["time"], seed=3)
    ((number, params),) = source.propose(1)
    trial = Trial(number, params, state="failed", failure=failure)
    source.tell(trial)
    again: Any = source_of("nsga2", SPACE, objectives=["time"], seed=3)
    again.restore([trial])
    assert [source._study.trials[0].state.name, again._study.trials[-1].state.name] == [states, states]


@pytest.mark.parametrize("restored", [False, True])
def test_what_was_given_up_has_no_value_but_its_time(restored: bool) -> None:
    source: Any = source_of("nsga2", SPACE, objectives=["time"], seed=3)
    points = source.propose(2)
    trials = [
        Trial(number, params, state="pruned", time=time)
        for (number, params), time in zip(points, (5.0, None), strict=True)
    ]
    if restored:
        source = source_of("nsga2", SPACE, objectives=["time"], seed=3)
        source.restore(trials)
    else:
        for trial in trials:
            source.tell(trial)
    assert [(trial.state.name, trial.intermediate_values) for trial in source._study.trials] == [
        ("PRUNED", {0: 5.0}),
        ("PRUNED", {}),
    ]


def test_exhaustive_is_every_point_in_order() -> None:
    space = SearchSpace({"a": Int(0, 2), "b": Bool()}, constraints=["a != 1 or b"])
    points = source_of("grid", space, objectives=["time"], seed=0).propose(100)
    assert points == [
        (0, {"a": 0, "b": False}),
        (1, {"a": 0, "b": True}),
        (2, {"a": 1, "b": True}),
        (3, {"a": 2, "b": False}),
        (4, {"a": 2, "b": True}),
    ]


@pytest.mark.parametrize("high", [0.7, 0.75])
@pytest.mark.parametrize("name", ["exhaustive", "random", *LEARNING])
def test_steps_do_not_lead_past_the_end(name: str, high: float) -> None:
    level = {} if name == "exhaustive" else {"level": Int(0, 3)}
    # 0.1 + 6 * 0.1 is above 0.7.
    space = SearchSpace({"scale": Float(0.1, high, step=0.1), **level})

    def measure(number: int, params: dict[str, Any]) -> Trial:
        assert space.contains(params)
        return Trial(number, params, state="complete", time=2.0 - params["scale"])

    source = source_of(name, space, objectives=["time"], seed=1)
    seen = set()
    for _ in range(10):
        for number, params in source.propose(8):
            seen.add(params["scale"])
            source.tell(measure(number, params))
    assert seen <= {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7}
    assert 0.7 in seen


def test_optuna_has_the_axes_as_they_are() -> None:
    space = SearchSpace(
        {
            "log": Float(1e-3, 1.0, log=True),
            "steps": Float(0.0, 1.1, step=0.25),
            "whole, log": Int(1, 1000, log=True),
            "whole, steps": Int(1, 12, step=5),
        }
    )
    axes: dict[str, Any] = distributions(space)
    assert {name: (type(axis).__name__, axis.low, axis.high, axis.step, axis.log) for name, axis in axes.items()} == {
        "log": ("FloatDistribution", 1e-3, 1.0, None, True),
        "steps": ("FloatDistribution", 0.0, 1.0, 0.25, False),
        "whole, log": ("IntDistribution", 1, 1000, 1, True),
        "whole, steps": ("IntDistribution", 1, 11, 5, False),
    }


def test_random_ends_when_all_was_there() -> None:
    space = SearchSpace({"a": Int(0, 4), "b": Bool()})
    points = run_listed("random", space, 100)
    assert len(points) == 10 and len({key_of(params) for _, params in points}) == 10


def test_listed_sources_go_on_behind_what_is_done() -> None:
    space = SearchSpace({"a": Int(0, 99)})
    whole = run_listed("random", space, 40)
    source = source_of("random", space, objectives=["time"], seed=5)
    source.restore([Trial(number, params) for number, params in whole[:20] if number % 3])
    assert source.propose(27) == [point for point in whole if point[0] % 3 == 0 or point[0] >= 20]


def test_optuna_learns_from_what_an_earlier_run_has_done() -> None:
    points = run(source_of("tpe", SPACE, objectives=["time"], seed=3), 40)
    source = source_of("tpe", SPACE, objectives=["time"], seed=4)
    source.restore([trial_of(number, params) for number, params in points])
    more = run(source, 80)
    assert [number for number, _ in more] == list(range(40, 120))
    values = [value(params) for _, params in more[40:]]
    assert sum(values) / len(values) < sum(value(params) for _, params in points) / 40


@pytest.mark.parametrize("name", LEARNING)
def test_start_points_are_tried_once(name: str) -> None:
    starts = [{**SPACE.start[0], "level": level} for level in range(3)]
    space = SearchSpace(SPACE.parameters, start=starts)
    first = source_of(name, space, objectives=["time"], seed=3).propose(2)
    assert [params for _, params in first] == starts[:2]
    again = source_of(name, space, objectives=["time"], seed=4)
    again.restore([trial_of(number, params) for number, params in first])
    points = [params for _, params in again.propose(BATCH)]
    assert points[0] == starts[2] and starts[0] not in points and starts[1] not in points


def test_tpe_of_an_optuna_whose_parts_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(source_of("tpe", SPACE, objectives=["time"], seed=7), FromTpe)
    monkeypatch.delitem(sys.modules, "mneme.tune.search.batched_tpe", raising=False)
    monkeypatch.delattr("optuna.samplers._tpe.sampler.default_gamma_multiobjective")
    source = source_of("tpe", SPACE, objectives=["time"], seed=7)
    assert not isinstance(source, FromTpe)
    assert len(run(source, 24)) == 24


@pytest.mark.parametrize(
    "other",
    [
        ("_split_trials", lambda study, trials, n_below, constraints_enabled: None),
        ("_log_gauss_mass", lambda left, right: left - right),
    ],
)
def test_tpe_of_an_optuna_whose_parts_are_others(monkeypatch: pytest.MonkeyPatch, other: tuple[str, Any]) -> None:
    monkeypatch.setattr(f"mneme.tune.search.batched_tpe.{other[0]}", other[1])
    assert not isinstance(source_of("tpe", SPACE, objectives=["time"], seed=7), FromTpe)


def estimates() -> tuple[Any, dict[str, Any]]:
    """One of Optuna's kind of each sort of axis, whose values can be counted."""
    from mneme.tune.search.batched_tpe import BatchedTPESampler, TabledEstimator
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    space = {
        "label": CategoricalDistribution(("a", "b", "c")),
        "whole": IntDistribution(0, 40, step=4),
        "log": IntDistribution(1, 20, log=True),
        "real": FloatDistribution(0.25, 1.0, step=0.25),
    }
    source = numpy.random.RandomState(1)
    seen = {
        "label": source.randint(0, 3, 30).astype(float),
        "whole": 4.0 * source.randint(0, 11, 30),
        "log": source.randint(1, 21, 30).astype(float),
        "real": 0.25 * source.randint(1, 5, 30),
    }
    return TabledEstimator(seen, space, BatchedTPESampler()._parzen_estimator_parameters), seen


def test_tables_are_optunas_estimate() -> None:
    from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator

    estimate, seen = estimates()
    assert estimate._is_tabled
    numpy.testing.assert_allclose(estimate.log_pdf(seen), _ParzenEstimator.log_pdf(estimate, seen), rtol=1e-9)


@pytest.mark.parametrize(
    ("axes", "is_tabled"),
    [
        ([Int(1, 64), Int(1, 64, log=True)], True),
        ([Int(1, 64), Int(1, 65, log=True)], False),
        ([Float(0.0, 12.7, step=0.1)], True),
        ([Float(0.0, 12.8, step=0.1)], False),
        ([Float(0.0, 1.0)], False),
        ([Int(0, 1 << 40)], False),
        ([Categorical(list(range(500))), Int(0, 3)], True),  # of labels Optuna has tables itself
    ],
)
def test_tables_are_of_few_numbers(axes: list[Any], is_tabled: bool) -> None:
    space = SearchSpace({str(place): axis for place, axis in enumerate(axes)})
    source = source_of("tpe", space, objectives=["time"], seed=1)
    for _ in range(3):
        for number, params in source.propose(8):
            source.tell(Trial(number, params, state="complete", time=1.0 + number))
    assert isinstance(source, FromTpe)
    estimate: Any = source._sampler._estimate
    assert [each._is_tabled for each in estimate] == [is_tabled, is_tabled]
    points = estimate[0].sample(numpy.random.RandomState(1), 4)
    assert {name: len(values) for name, values in points.items()} == dict.fromkeys(space.parameters, 4)


def test_what_is_drawn_from_tables_is_as_likely_as_what_optuna_draws() -> None:
    from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator

    estimate, _ = estimates()
    ours = estimate.sample(numpy.random.RandomState(2), 20_000)
    theirs = _ParzenEstimator.sample(estimate, numpy.random.RandomState(3), 20_000)
    for name in ours:
        values, counts = numpy.unique(ours[name], return_counts=True)
        expected, their_counts = numpy.unique(theirs[name], return_counts=True)
        numpy.testing.assert_array_equal(values, expected)
        numpy.testing.assert_allclose(counts / 20_000, their_counts / 20_000, atol=0.02)


def test_tpe_of_a_space_of_one_point() -> None:
    space = SearchSpace({"a": Int(3, 3), "b": Categorical(["x"])})
    source = source_of("tpe", space, objectives=["time"], seed=1)
    for _ in range(3):
        for number, params in source.propose(BATCH):
            assert params == {"a": 3, "b": "x"}
            source.tell(Trial(number, params, state="complete", time=1.0))


def test_tpe_learns_from_what_was_given_up() -> None:
    """What was pruned is behind all that is complete, the fastest first; what failed is never among the good."""
    source: Any = source_of("tpe", COUNTED, objectives=["time"], seed=1)
    states = [("complete", 9.0), ("pruned", 5.0), ("failed", None), ("pruned", 3.0), ("pruned", None)] * 4
    for (number, params), (state, time) in zip(source.propose(20), states, strict=True):
        failure = "device_fault" if state == "failed" else None
        source.tell(Trial(number, params, state=state, time=time, failure=failure))
    told = [(trial.state.name, trial.values, dict(trial.intermediate_values)) for trial in source._study.trials[:5]]
    assert told == [
        ("COMPLETE", [9.0], {}),
        ("PRUNED", None, {0: 5.0}),
        ("PRUNED", None, {}),
        ("PRUNED", None, {0: 3.0}),
        ("PRUNED", None, {}),
    ]
    assert len(source.propose(BATCH)) == BATCH


def test_an_estimate_is_made_anew_when_a_sixteenth_more_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    from mneme.tune.search.batched_tpe import BatchedTPESampler

    made: list[int] = []
    estimate = BatchedTPESampler._estimate_of

    def noted(sampler: Any, study: Any, space: Any, trials: Any) -> Any:
        made.append(len(trials))
        return estimate(sampler, study, space, trials)

    source = source_of("tpe", COUNTED, objectives=["time"], seed=1)
    monkeypatch.setattr(BatchedTPESampler, "_estimate_of", noted)
    for _ in range(30):
        for number, params in source.propose(BATCH):
            source.tell(trial_of(number, params))
    assert made == [*range(16, 137, 8), *range(152, 240, 16)]


def studied(count: int, right: int) -> tuple[Any, Any, dict[str, Any]]:
    """TPE, and a study of so many trials, of which so many are complete and the others failed."""
    import optuna
    from mneme.tune.search.batched_tpe import BatchedTPESampler
    from optuna.distributions import CategoricalDistribution, IntDistribution

    space: dict[str, Any] = {"a": IntDistribution(0, 9), "b": CategoricalDistribution(("x", "y", "z"))}
    study = optuna.create_study()
    for number in range(count):
        params = {"a": number % 10, "b": "xyz"[number % 3]}
        told: dict[str, Any] = {"value": float(number * 7 % count)}
        if number >= right:
            told = {"state": optuna.trial.TrialState.PRUNED}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, **told))
    return BatchedTPESampler(seed=1), study, space


@pytest.mark.parametrize(("count", "right", "best"), [(200, 200, 20), (40, 1, 1), (40, 40, 4)])
def test_an_estimate_is_of_the_best_and_of_the_latest_others(
    monkeypatch: pytest.MonkeyPatch, count: int, right: int, best: int
) -> None:
    sampler, study, space = studied(count, right)
    made: list[tuple[bool, list[int]]] = []
    build = sampler._build_parzen_estimator

    def noted(study: Any, space: Any, trials: Any, handle_below: bool) -> Any:
        made.append((handle_below, [trial.number for trial in trials]))
        return build(study, space, trials, handle_below)

    monkeypatch.setattr(sampler, "_build_parzen_estimator", noted)
    assert len(list(sampler.candidates(study, space, 3))) == 3
    good = sorted(range(right), key=lambda number: number * 7 % count)[:best]
    assert made == [(True, sorted(good)), (False, [number for number in range(count) if number not in good][-128:])]


def test_of_the_candidates_for_a_point_the_most_promising_is_first() -> None:
    sampler, study, space = studied(40, 40)
    points = [list(each) for each in sampler.candidates(study, space, 4)]
    good, bad = sampler._estimate
    assert [len(each) for each in points] == [12] * 4
    for each in points:
        rows = {name: numpy.array([axis.to_internal_repr(row[name]) for row in each]) for name, axis in space.items()}
        gains = good.log_pdf(rows) - bad.log_pdf(rows)
        assert (numpy.diff(gains) <= 1e-9).all() and gains[0] > gains[-1]


@pytest.mark.parametrize("name", LEARNING)
def test_shared_axes_give_the_same_points(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    points = run(source_of(name, SPACE, objectives=["time"], seed=7), 60)
    monkeypatch.setattr("mneme.tune.search.shared_axes.shared", lambda axes: axes)
    assert keys(points) == keys(run(source_of(name, SPACE, objectives=["time"], seed=7), 60))


def test_shared_axes_are_not_copied_and_as_equal_as_others() -> None:
    from mneme.tune.search.samplers import distributions
    from mneme.tune.search.shared_axes import shared

    axes, others = shared(distributions(SPACE)), shared(distributions(SPACE))
    for name, axis in axes.items():
        assert copy.deepcopy(axis) is axis and axis is not others[name]
        assert axis == others[name] and hash(axis) == hash(others[name])
        assert repr(axis) == repr(distributions(SPACE)[name])
    assert axes["level"] != axes["block.x"]


def test_sampler_of_optuna() -> None:
    import optuna

    assert len(run(source_of(optuna.samplers.RandomSampler(seed=1), SPACE, objectives=["time"], seed=1), 20)) == 20


def test_what_hardly_ever_meets_the_constraints_is_drawn() -> None:
    space = SearchSpace(
        {"a": Int(0, 999), "flag": Bool(), "level": Int(1, 1), "block.x": Int(0, 0), "passes": Int(0, 0)},
        constraints=["a % 97 == 5"],
    )
    source = source_of("tpe", space, objectives=["time"], seed=1)
    for number, params in source.propose(16):
        assert params["a"] % 97 == 5
        source.tell(Trial(number, params, state="complete", time=float(params["a"])))


def test_unknown_sampler_names_the_nearest() -> None:
    with pytest.raises(InvalidArgumentError) as error:
        source_of("tpee", SPACE, objectives=["time"], seed=0)
    assert str(error.value) == "there is no sampler 'tpee'; the nearest is 'tpe'"
    with pytest.raises(InvalidArgumentError, match="sampler 3 is neither a name nor a sampler of Optuna's"):
        source_of(3, SPACE, objectives=["time"], seed=0)  # type: ignore[arg-type]


def test_of_words_that_only_their_case_tells_apart_the_first_is_named() -> None:
    assert closest("tpee", ["TPE", "tpe"]) == "TPE" and closest("tpee", ["tpe", "TPE"]) == "tpe"
    assert nearest("tpee", iter(["a", "tpe"])) == "; the nearest is 'tpe'"
    assert nearest("bayes", iter(["a", "tpe"])) == "; there are: a, tpe" and nearest("bayes", []) == ""


def test_cmaes_has_one_objective() -> None:
    with pytest.raises(InvalidArgumentError) as error:
        source_of("cmaes", SPACE, objectives=["time", "registers"], seed=0)
    assert str(error.value) == "sampler 'cmaes' has one objective, and 2 are asked for: tpe and nsga2 take several"


@pytest.mark.parametrize(("name", "package", "install"), [("tpe", "optuna", TUNE), ("gp", "torch", "torch scipy")])
def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, name: str, package: str, install: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UnavailableError) as error:
        source_of(name, SPACE, objectives=["time"], seed=0)
    assert str(error.value).startswith(f"sampler '{name}' needs the package {package}, which cannot be imported (")
    assert str(error.value).endswith(f"): pip install {install}")


class Counting(Source):
    """A source that notes what it is told."""

    learns = True

    def __init__(self) -> None:
        self.told: list[int] = []
        self.asked_after: list[list[int]] = []
        self._next = 0

    def restore(self, trials: Any) -> None:
        raise AssertionError

    def propose(self, count: int) -> list[Numbered]:
        self.asked_after.append(list(self.told))
        self._next += count
        return [(number, {}) for number in range(self._next - count, self._next)]

    def tell(self, trial: Trial) -> None:
        self.told.append(trial.number)


def test_batches_are_asked_for_ahead_and_told_in_order() -> None:
    source = Counting()
    run_empty(source, 5 * BATCH)
    # Two batches ahead: the third is asked for when the first is told.
    assert source.asked_after == [list(range(max(0, batch - 1) * BATCH)) for batch in range(5)]


def test_a_straggler_is_told_when_it_comes() -> None:
    source = Counting()
    run_empty(source, 5 * BATCH, late={3})
    assert source.asked_after[2] == [number for number in range(BATCH) if number != 3]
    assert 3 in source.asked_after[4]


@pytest.mark.parametrize(("ahead", "batches"), [(BATCH, 1), (2 * BATCH, 7)])
def test_it_does_not_go_on_without_results(ahead: int, batches: int) -> None:
    """Of each second batch there is never a result: two batches may be late, or none where one is asked at a time."""
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    proposals = Proposals(Counting(), count=None, ahead=ahead, put=events.put)
    proposals.start()
    heard = 0
    with contextlib.suppress(queue.Empty):
        while heard < 20:
            batch = events.get(timeout=3)
            if heard % 2 == 0 and ahead > BATCH:
                for number, _ in batch:
                    proposals.tell(Trial(number, {}))
            heard += 1
    proposals.stop()
    assert heard == batches


@pytest.mark.parametrize("count", [1, BATCH - 1, BATCH + 1, 3 * BATCH + 5])
def test_as_many_are_asked_for_as_are_wanted(count: int) -> None:
    source = Counting()
    run_empty(source, count)
    assert source._next == count


def test_of_a_source_that_does_not_learn_so_many_are_open_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mneme.tune.search.proposals._MANY", 3 * BATCH)

    class Unlearning(Counting):
        learns = False

    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    source = Unlearning()
    proposals = Proposals(source, count=5 * BATCH, ahead=BATCH, put=events.put)
    proposals.start()
    numbers = [number for _ in range(3) for number, _ in events.get(timeout=60)]
    assert numbers == list(range(3 * BATCH)) and source._next == 3 * BATCH
    proposals.tell(Trial(5, {}))  # one is enough for another batch
    numbers = [number for number, _ in events.get(timeout=60)]
    assert numbers == list(range(3 * BATCH, 4 * BATCH)) and source._next == 4 * BATCH
    for number in range(2 * BATCH):
        proposals.tell(Trial(number, {}))
    assert len(events.get(timeout=60)) == BATCH and events.get(timeout=60) is None
    proposals._thread.join(60)
    assert source.told == []


def test_what_ends_a_source_is_heard() -> None:
    class Broken(Counting):
        def propose(self, count: int) -> list[Numbered]:
            raise ValueError("no more")

    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    Proposals(Broken(), count=8, ahead=8, put=events.put).start()
    assert isinstance(events.get(timeout=60), ValueError)


def test_stopping_ends_the_thread() -> None:
    before = set(threading.enumerate())
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    proposals = Proposals(Counting(), count=None, ahead=8, put=events.put)
    proposals.start()
    assert len(events.get(timeout=60)) == BATCH
    proposals.stop()
    assert events.get(timeout=60) is None
    proposals._thread.join(60)
    assert set(threading.enumerate()) <= before  # threads of other tests may end meanwhile


def run_listed(name: str, space: SearchSpace, count: int) -> list[Numbered]:
    return source_of(name, space, objectives=["time"], seed=5).propose(count)


def run_empty(source: Source, count: int, late: frozenset[int] | set[int] = frozenset()) -> None:
    """Tells all but the late ones at once, and those when everything else waits for them."""
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    proposals = Proposals(source, count=count, ahead=2 * BATCH, put=events.put)
    proposals.start()
    held: list[int] = []
    batches = 0
    while (batch := events.get(timeout=60)) is not None:
        batches += 1
        if batches == 3:  # it went on without them
            for number in held:
                proposals.tell(Trial(number, {}))
        for number, _ in batch:
            if number in late:
                held.append(number)
            else:
                proposals.tell(Trial(number, {}))
