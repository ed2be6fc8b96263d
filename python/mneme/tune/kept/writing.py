"""What a run leaves in its folder when it ends."""

from __future__ import annotations

from mneme.results.files import write_json
from mneme.results.trials import write_parquet
from mneme.tune.kept.asked import Folder
from mneme.tune.kept.findings import Findings

# Begin and end of the baseline that differ by more make the other times doubtful.
_MUCH_DRIFT = 0.05
# Trials of which a table takes longer than whoever pressed Ctrl-C waits.
_MANY = 10_000


def write_best(folder: Folder, study: Findings) -> None:
    """best.json, where there is a best one."""
    document = study.best_document()
    if document is not None:
        write_json(folder.best, document)


def write_results(folder: Folder, study: Findings) -> None:
    """Everything that is written at the end; what is to be said of the run becomes remarks of the study's."""
    _remark(study)
    if study.speed_up is not None or (study.best is not None and study.best.result is not None):
        write_best(folder, study)
    if study.interrupted and len(study.trials) > _MANY:
        study.remarks.append(f"no {folder.table.name} of so many trials after Ctrl-C; --resume writes it")
    elif not write_parquet(folder.table, study.trials):
        study.remarks.append(f"no {folder.table.name}, which needs pyarrow; trials.jsonl has the same")
    write_json(folder.summary, study.summary())


def _remark(study: Findings) -> None:
    if study.interrupted and not study.trials:
        study.remarks.append("interrupted before anything was measured")
    if study.baseline.drift > _MUCH_DRIFT:
        study.remarks.append(
            f"the baseline took {100 * study.baseline.drift:.0f} % longer at one end than at the other: "
            "times of the search are no better than that"
        )
    if study.baseline.problem:
        study.remarks.append(f"the launch as recorded could not be measured: {study.baseline.problem}")
    unsteady = "the launch as recorded" if study.baseline.problem.startswith("wrong_result") else study.unsteady
    if unsteady:
        study.remarks.append(
            f"{unsteady} does not give the recorded memory here: `mneme check` tells whether the kernel is "
            "deterministic, and proposes the --tolerance that accepts what it does"
        )
