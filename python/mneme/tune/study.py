"""Study: what `tune` returns."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from mneme.errors import InvalidArgumentError
from mneme.results.trials import rows
from mneme.tune.extras import need
from mneme.tune.kept.findings import Findings
from mneme.tune.search.samplers import optuna_study
from mneme.tune.shown.plot import figure_of
from mneme.tune.shown.summary import best_table, summary_lines, summary_text

if TYPE_CHECKING:
    import optuna
    import pandas
    import plotly.graph_objects


class Study(Findings):
    """What was found: `trials` in the order in which they were done, the `best` of them, and its speed-up.

    `best` is the fastest right one (with another first objective, the smallest of that). `speed_up` is that of its
    configuration over the baseline, both measured anew in turn, and `time` its median in ns then; None where that
    was not done. `interrupted`: Ctrl-C ended it. `exhausted`: the space has no more points. `seconds` is the search
    itself, from when the device was ready; `seconds_before` until then. `unsteady` says what was right, and was wrong
    when it was measured again. `remarks` are for a person.

    `str()` is the table that `mneme tune` prints; a notebook shows the same.
    """

    def dataframe(self) -> pandas.DataFrame:
        """A pandas table with a row for each trial; parameters are columns "params.<name>".

        Raises UnavailableError without pandas.
        """
        frame: pandas.DataFrame = need("pandas", "a table of trials").DataFrame(rows(self.trials))
        return frame

    def __str__(self) -> str:
        """The table that `mneme tune` prints."""
        return summary_text(self)

    def _repr_html_(self) -> str:
        table = best_table(self)
        below = "<br>".join(html.escape(line) for line in summary_lines(self)[1:])
        return f"{'' if table is None else table.html()}<p>{below}</p>"

    def plot(self) -> plotly.graph_objects.Figure:
        """A figure of Plotly's: the time of each trial as it was done, the best so far, and the launch as recorded.

        Raises UnavailableError without Plotly (the extra "report").
        """
        return figure_of(self)

    def optuna_study(self) -> optuna.Study:
        """A study of Optuna's with all trials, in memory: for its plots, importances and dashboard.

        A failure is a trial that was pruned, and says why in its attributes. Raises UnavailableError without Optuna,
        and InvalidArgumentError for a study that has no space.
        """
        if self.space is None:
            raise InvalidArgumentError("a study of Optuna's needs the search space, which this study does not have")
        return optuna_study(self.space, self.trials, self.objectives)
