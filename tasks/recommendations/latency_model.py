"""The model of paths that an installation has fitted, for clients without measurements.

It is one file in the data folder, replaced by each fit. Without it, the stated model is used.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings

from analysis.campaigns.importers.public_matrices import read_errors_as_bad_input
from analysis.impact.latency_models.pair_files import read_latency_pairs, read_places
from analysis.impact.latency_models.pair_matrices import Pairs, join_pairs
from analysis.impact.latency_models.path_model import PathModel, cross_validate, fit_paths
from analysis.impact.latency_models.stated_model import STATED, LatencyModel
from analysis.impact.places import Point
from core.errors import BadInput, Damaged
from core.files import open_text, replace_file
from webapp.store.object_storage import files as stored_files

_FILE = "latency-model.npz"
_ARRAYS = ("curve", "sources", "targets", "coefficients")
# Names of unknown places that a report lists.
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model, and what is shown of it: kind, accuracy, inputs, time."""

    model: LatencyModel
    about: Mapping[str, Any]


STATED_MODEL = Fitted(STATED, {"kind": "distance", **asdict(STATED)})


def current_model() -> Fitted:
    """Return the fitted model of this installation, else the stated one; raises Damaged."""
    path = _path()
    stored_files.fetch(path)
    try:
        changed_ns = path.stat().st_mtime_ns
    except FileNotFoundError:
        return STATED_MODEL
    return _load(path, changed_ns)


def read_places_file(path: Path) -> dict[str, Point]:
    """Read a CSV of places, plain, gzip or xz; raise BadInput naming the line."""
    with read_errors_as_bad_input(path), open_text(path) as stream:
        return read_places(stream)


def fit_model(
    files: Sequence[Path], places: Mapping[str, Point], campaigns: Mapping[str, Pairs]
) -> dict[str, Any]:
    """Fit a model to files of pairs and to campaigns, store it, and return what is shown of it.

    Raise BadInput naming the file and line, MissingData where there are too few pairs.
    """
    parts: list[Pairs] = []
    inputs: list[dict[str, Any]] = []
    for path in files:
        with read_errors_as_bad_input(path), open_text(path) as stream:
            found = read_latency_pairs(stream, places, path.name)
        parts.append(found.pairs)
        unknown = {"unknown": found.unknown[:_SHOWN]}
        inputs.append(_describe("file", path.name, found.pairs) | unknown)
    for slug, pairs in campaigns.items():
        parts.append(pairs)
        inputs.append(_describe("campaign", slug, pairs))
    if not parts:
        raise BadInput("name a file of round-trip times, or a campaign")
    pairs = join_pairs(parts)
    model, accuracy = fit_paths(pairs), cross_validate(pairs)
    about = {
        "kind": "paths",
        "fitted_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "inputs": inputs,
        "impossible": accuracy.impossible,
        "held_out": asdict(accuracy.model),
        "stated_held_out": asdict(accuracy.stated),
        "held_out_pairs": asdict(accuracy.seen),
        "stated_held_out_pairs": asdict(accuracy.seen_stated),
        "continents": {name: asdict(found) for name, found in accuracy.continents.items()},
        "low": accuracy.low,
        "high": accuracy.high,
    }
    _save(model, about)
    return about


def _describe(kind: str, name: str, pairs: Pairs) -> dict[str, Any]:
    return {"kind": kind, "name": name, "sources": len(pairs.sources), "pairs": pairs.n_pairs}


def _path() -> Path:
    return Path(settings.DATA_DIR) / _FILE


def _save(model: PathModel, about: Mapping[str, Any]) -> None:
    arrays = {name: getattr(model, name) for name in _ARRAYS}
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with replace_file(_path()) as temporary:
        with temporary.open("wb") as stream:
            np.savez_compressed(stream, about=text, **arrays)
        stored_files.publish(temporary, _path())


@lru_cache(maxsize=1)
def _load(path: Path, changed_ns: int) -> Fitted:
    """Read the file; ``changed_ns`` is part of the key, so that a new fit is read."""
    try:
        with np.load(path, allow_pickle=False) as found:
            about = json.loads(found["about"].tobytes())
            arrays = {name: found[name] for name in _ARRAYS}
    except (OSError, ValueError, KeyError) as error:
        raise Damaged(f"{path.name} is damaged ({error}); fit the model again") from error
    return Fitted(PathModel(**arrays), about)
