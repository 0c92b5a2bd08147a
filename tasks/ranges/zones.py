"""Infer zones for the command: read files, return the documents of ``cartography.zones``."""

from collections.abc import Mapping, Sequence
from typing import Any

from cartography.zones.inference import infer_zones
from cartography.zones.input_files import observe
from cartography.zones.observations import Rules
from cartography.zones.report import document
from core.errors import BadInput

_LENGTHS = range(8, 33)


def infer(files: Mapping[str, Sequence[bytes]], options: Mapping[str, Any]) -> dict[str, Any]:
    """``{targets, accounts, regions}`` from the files of each kind; raises ``BadInput``."""
    rules = rules_from(options)
    given = observe(files["samples"], files["targets"], files["rtts"], files["zone_ids"])
    if not given.samples and not given.round_trips:
        raise BadInput("give own instances (--samples), round-trip times (--rtts), or both")
    return document(infer_zones(given, rules))


def rules_from(options: Mapping[str, Any]) -> Rules:
    """Rules of inference from a command's options; raises ``BadInput``."""
    plain = Rules()
    lengths = tuple(sorted(set(options.get("prefix_length") or plain.lengths)))
    if not set(lengths) <= set(_LENGTHS):
        raise BadInput("a prefix length is 8 to 32", field="prefix-length")
    shares = [options.get(f"{m}_confidence") for m in ("proximity", "latency")]
    near, far = (
        given if given is not None else usual
        for given, usual in zip(
            shares, (plain.proximity_confidence, plain.latency_confidence), strict=True
        )
    )
    if not 0.5 <= near <= 1 or not 0.5 <= far <= 1:
        raise BadInput("a confidence is 0.5 to 1", field="confidence")
    threshold_ms = options.get("threshold_ms")
    return Rules(
        lengths=lengths,
        proximity_confidence=near,
        latency_confidence=far,
        threshold_ms=plain.threshold_ms if threshold_ms is None else threshold_ms,
        calibrate=threshold_ms is None,
        uniform_regions=frozenset(options.get("uniform_labels") or ()),
    )
