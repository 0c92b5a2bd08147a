"""Results of zone inference as the documents that the command gives out."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from cartography.zones.inference import RegionResult
from cartography.zones.verdicts import LatencyFinding, ProximityFinding, Verdict
from cartography.zones.zone_identity import Alignment


def document(results: Sequence[RegionResult]) -> dict[str, Any]:
    """``{total, targets, accounts, regions}``."""
    verdicts = [v for r in results for v in r.verdicts]
    return {
        "total": coverage(verdicts) | {"agreement": agreement(verdicts)},
        "targets": [target_row(v) for r in results for v in r.verdicts],
        "accounts": [_account_row(a) for r in results for a in r.alignments],
        "regions": [region_row(r) for r in results],
    }


def target_row(verdict: Verdict) -> dict[str, Any]:
    """One target with the evidence of both methods."""
    near, far = verdict.proximity, verdict.latency
    return {
        "target": verdict.target,
        "region": verdict.region,
        "zone": verdict.zone,
        "method": str(verdict.method),
        "confidence": _share(verdict.confidence) if verdict.confidence is not None else None,
        "reason": verdict.reason,
        "agree": near.zone == far.zone if near.zone and far.zone else None,
        "proximity": _near_row(near),
        "latency": _far_row(far),
    }


def _near_row(near: ProximityFinding) -> dict[str, Any]:
    return {
        "zone": near.zone,
        "reason": near.reason,
        "confidence": _share(near.confidence),
        "prefix": near.prefix,
        "votes": dict(near.votes),
    }


def _far_row(far: LatencyFinding) -> dict[str, Any]:
    return {
        "zone": far.zone,
        "reason": far.reason,
        "confidence": None if far.confidence is None else _share(far.confidence),
        "rtt_ms": dict(far.rtt_ms),
        "runner_up": far.runner_up,
        "margin": None if far.margin is None else round(far.margin, 3),
        "rule": far.rule,
    }


def _account_row(alignment: Alignment) -> dict[str, Any]:
    return {
        "region": alignment.region,
        "account": alignment.account,
        "basis": alignment.basis,
        "samples": alignment.samples,
        "zones": dict(alignment.zones),
        "margins": {k: round(v, 3) for k, v in alignment.margins.items() if math.isfinite(v)},
        "eliminated": list(alignment.eliminated),
        "undetermined": list(alignment.undetermined),
        "agreeing_pairs": alignment.agreeing,
        "conflicting_pairs": alignment.conflicting,
        "most_pairs": alignment.pairs_agree,
    }


def region_row(result: RegionResult) -> dict[str, Any]:
    """Coverage, zones, agreement of both methods, and what the methods rest on."""
    return {
        "region": result.region,
        **coverage(result.verdicts),
        "zones": _counts(v.zone for v in result.verdicts if v.zone),
        "agreement": agreement(result.verdicts),
        "wrong_labels": _share(result.addresses.purity.noise),
        "prefixes": dict(result.addresses.prefixes),
        "thresholds_ms": [
            {"probe": i, "other": j, "ms": t} for (i, j), t in result.thresholds_ms.items()
        ],
        "unmapped_round_trips": result.unmapped_round_trips,
    }


def coverage(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Targets identified, by which method, and the unknown ones by reason."""
    n = max(1, len(verdicts))
    known = [v for v in verdicts if v.zone]
    sure = [v.confidence for v in known if v.confidence is not None]
    return {
        "targets": len(verdicts),
        "identified": len(known),
        "coverage": _share(len(known) / n),
        "coverage_by_proximity": _share(sum(bool(v.proximity.zone) for v in verdicts) / n),
        "coverage_by_latency": _share(sum(bool(v.latency.zone) for v in verdicts) / n),
        "methods": _counts(v.method for v in known),
        "expected_error": _share(1 - sum(sure) / len(sure)) if sure else None,
        "unknown": _counts(v.reason for v in verdicts if not v.zone),
    }


def agreement(verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """Latency beside proximity, as in IMC'13: error is mismatch / (count - unknown).

    ``count`` is of the targets that proximity places and that answered a probe.
    """
    both = [v for v in verdicts if v.proximity.zone and v.latency.rtt_ms]
    pairs = Counter((str(v.proximity.zone), v.latency.zone) for v in both if v.latency.zone)
    match = sum(n for (near, far), n in pairs.items() if near == far)
    compared = pairs.total()
    return {
        "count": len(both),
        "match": match,
        "unknown": len(both) - compared,
        "mismatch": compared - match,
        "error": _share((compared - match) / compared) if compared else None,
        "matrix": [
            {"proximity": near, "latency": far, "targets": n}
            for (near, far), n in sorted(pairs.items(), key=str)
        ],
    }


def _counts(values: Iterable[str | None]) -> dict[str, int]:
    return dict(sorted(Counter(str(v) for v in values).items()))


def _share(value: float) -> float:
    return round(float(value), 6)
