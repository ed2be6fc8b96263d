"""Tuning: the configuration under which a recorded launch is fastest, searched, verified and confirmed.

`tune` does all of it; `mneme tune` is the same as a command. `Sampler` is for a loop of your own. Guide:
docs/guide/tune.md.
"""

from __future__ import annotations

from mneme.tune.choices import Bool, Categorical
from mneme.tune.facts import LaunchFacts
from mneme.tune.numeric import Float, Int
from mneme.tune.parameters import Parameter
from mneme.tune.pipeline import Pipeline
from mneme.tune.presets import preset
from mneme.tune.run import tune
from mneme.tune.sampler import Sampler
from mneme.tune.space import SearchSpace
from mneme.tune.statistics import SpeedUp, speed_up
from mneme.tune.study import Study
from mneme.tune.trials import Trial

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
