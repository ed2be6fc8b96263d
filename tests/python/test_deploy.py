"""mneme.deploy: folders of results become a file of code; what is not confirmed is left out, and said."""

from __future__ import annotations

import json
from pathlib import Path

import mneme
import pytest
from mneme import errors


def test_what_was_found_is_written_and_what_is_written_can_be_added(swept: Path, tmp_path: Path) -> None:
    first = tmp_path / "first.tuned"
    assert mneme.deploy(swept, first, unconfirmed=True) == [mneme.Deployed(swept, "scale(int*, int, int)", None)]
    assert first.read_bytes()[:8] == b"MNEMETUN"
    assert mneme.deploy([first], tmp_path / "second.tuned") == []
    assert (tmp_path / "second.tuned").read_bytes() == first.read_bytes()


def test_what_cannot_be_deployed_says_why(swept: Path, tmp_path: Path) -> None:
    best = json.loads((swept / "best.json").read_text())
    best["configuration"]["passes"] = "nonsense"
    (swept / "best.json").write_text(json.dumps(best))
    (outcome,) = mneme.deploy(swept, tmp_path / "app.tuned", unconfirmed=True)
    assert outcome.left_out is not None and "nonsense" in outcome.left_out
    assert not (tmp_path / "app.tuned").exists()


def test_a_state_of_the_cache_is_for_a_gpu(swept: Path, tmp_path: Path) -> None:
    (outcome,) = mneme.deploy(swept, tmp_path / "app.tuned", unconfirmed=True, l2="warm")
    assert outcome.left_out is not None and "execution.l2 'warm' has no effect on the device cpu" in outcome.left_out
    (outcome,) = mneme.deploy(swept, tmp_path / "app.tuned", unconfirmed=True, l2="as_it_comes")
    assert outcome.left_out is None


def test_bad_input_is_told(swept: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="names no folder of results and no file"):
        mneme.deploy([], tmp_path / "app.tuned")
    results: object
    for results in (5, None, b"found", {"found": 1}):
        with pytest.raises(errors.InvalidArgumentError, match="deploying: 'results' is to be a path or several, not "):
            mneme.deploy(results, tmp_path / "app.tuned")  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidArgumentError, match="deploying: 'results': a path is expected, not 5"):
        mneme.deploy([swept, 5], tmp_path / "app.tuned")  # type: ignore[list-item]
    with pytest.raises(errors.InvalidArgumentError, match="deploying: 'output': a path is expected, not None"):
        mneme.deploy(swept, None)  # type: ignore[arg-type]
    with pytest.raises(errors.NotFoundError, match="has no results"):
        mneme.deploy(tmp_path, tmp_path / "app.tuned")
    with pytest.raises(errors.NotFoundError):
        mneme.deploy(swept, tmp_path / "nowhere" / "app.tuned")
    with pytest.raises(errors.InvalidArgumentError, match=f"writing {tmp_path}: Is a directory: name a file in it"):
        mneme.deploy(swept, tmp_path)
    with pytest.raises(errors.InvalidArgumentError, match="l2: 'hot' is none of as_it_comes, cold, warm"):
        mneme.deploy(swept, tmp_path / "app.tuned", l2="hot")
    damaged = tmp_path / "damaged.tuned"
    damaged.write_bytes(b"MNEMETUN and no more")
    with pytest.raises(errors.CorruptError, match="this is no file of"):
        mneme.deploy(damaged, tmp_path / "app.tuned")
    (swept / "best.json").unlink()
    with pytest.raises(errors.NotFoundError, match=r"has no best\.json"):
        mneme.deploy(swept, tmp_path / "app.tuned")
