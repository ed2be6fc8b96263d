"""Tuning: the configuration under which a recorded launch is fastest, searched, verified and confirmed.

`tune` does all of it; `mneme tune` is the same as a command. `Sampler` is for a loop of your own. Guide:
docs/guide/tune.md.
"""

from __future__ import annotations

from mneme.results.statistics import SpeedUp, speed_up
from mneme.results.trials import Trial
from mneme.tune.run import tune
from mneme.tune.search.sampler import Sampler
from mneme.tune.space import passes as passes
from mneme.tune.space.choices import Bool, Categorical
from mneme.tune.space.facts import LaunchFacts
from mneme.tune.space.numeric import Float, Int
from mneme.tune.space.parameters import Parameter
from mneme.tune.space.pipeline import Pipeline
from mneme.tune.space.presets import preset
from mneme.tune.space.search_space import SearchSpace
from mneme.tune.study import Study

__all__ = [
    "Bool",
    "Categorical",
    "Float",
    "Int",
    "LaunchFacts",
    "Parameter",
    "Pipeline",
    "Sampler",
    "SearchSpace",
    "SpeedUp",
    "Study",
    "Trial",
    "preset",
    "speed_up",
    "tune",
]
