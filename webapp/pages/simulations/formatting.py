"""Figures of runs as rows of tables, and a headline that states how many are within tolerance."""

from collections.abc import Mapping
from typing import Any

from webapp.store.models import Simulation


def number(value: float | None) -> str:
    """Four significant digits, without an exponent."""
    if value is None:
        return "no data"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    digits = max(0, 3 - len(str(int(abs(value)))) + (abs(value) < 1)) if abs(value) >= 0.001 else 6
    return f"{value:,.{digits}f}"


# Ends of names of parameters with the unit, which pages write beside.
_UNITS = ("_ms", "_us", "_gbps", "_mbps", "_kbps", "_percent", "_bytes", "_kb", "_mb")
_CAPITALS = {
    "cpu": "CPU",
    "cubic": "CUBIC",
    "dctcp": "DCTCP",
    "rtt": "round-trip time",
    "ecmp": "ECMP",
    "mptcp": "MPTCP",
    "nic": "NIC",
    "l1": "L1",
    "l4": "L4",
}


def label_of(name: str) -> str:
    """The name of a parameter or figure in words."""
    plain = name.replace("p99_9", "p99.9")
    for unit in _UNITS:
        plain = plain.removesuffix(unit)
    words = [_CAPITALS.get(word, word) for word in plain.split("_")]
    return " ".join(words)


def parameter_rows(
    experiment: Mapping[str, Any], given: Mapping[str, Any], errors: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Parameters with their present value, whether it differs from the paper's, and an error."""
    return [
        {
            **parameter,
            "value": given.get(parameter["name"], parameter["default"]),
            "changed": str(given.get(parameter["name"], parameter["default"]))
            != str(parameter["default"]),
            "error": errors.get(parameter["name"], ""),
            "label": label_of(parameter["name"]),
        }
        for parameter in experiment["parameters"]
    ]


def describe_results(row: Simulation) -> dict[str, Any]:
    """Rows of the table of results, and the counts of the headline."""
    results = (row.result or {}).get("results", [])
    compared = [one for one in results if one["within"] is not None]
    return {
        "results": [_result(one) for one in results],
        "n_compared": len(compared),
        "n_within": sum(one["within"] for one in compared),
        "is_published_setting": bool(compared),
    }


def _result(one: Mapping[str, Any]) -> dict[str, Any]:
    interval, tolerance = one["interval"], one["tolerance"]
    return {
        "name": label_of(one["name"]),
        "value": number(one["value"]),
        "unit": one["unit"],
        "interval": f"{number(interval[0])} to {number(interval[1])}" if interval else "",
        "published": number(one["published"]) if one["published"] is not None else "",
        "tolerance": f"{number(tolerance[0])} to {number(tolerance[1])}" if tolerance else "",
        "within": one["within"],
        "note": one["note"],
    }
