"""Sentences about a recommended set: finding, uncertainty and impact.

Every sentence has its figure; modelled and synthetic figures are labelled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.wording import number
from webapp.pages.ui import formatting

Result = Mapping[str, Any]
_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
# A change below this share is reported as no change.
LEAST_CHANGE = 0.005


@dataclass(frozen=True, slots=True)
class Asked:
    """What an answer is to: the size, the unit of its values, its percentile, and its source."""

    k: int
    unit: str
    percentile: float | None = None
    is_modelled: bool = False
    is_worst_country: bool = False


def number_word(count: int) -> str:
    """A small number as a word that begins a sentence."""
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def amount(value: float | None, unit: str) -> str:
    """A value with its unit."""
    if value is None:
        return formatting.NONE
    text = (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}").replace("-", "−")
    return f"{text}{formatting.THIN}{unit}" if unit else text


def headline(chosen: Result | None, current: Result | None, asked: Asked) -> str:
    """Return the finding in one sentence; a gain within the interval is not called one."""
    if chosen is None:
        plural = "s" if asked.k != 1 else ""
        return f"No set of {_low(asked.k)} region{plural} keeps to these constraints"
    k, value, unit = chosen["k"], chosen["value"], asked.unit
    regions = f"{number_word(k)} region{'s' if k != 1 else ''}"
    here = current["value"] if current else None
    if here is None:
        return _without_comparison(regions, k != 1, amount(value, unit), asked)
    if current and set(chosen["regions"]) == set(current["regions"]):
        return f"Your deployment is the best of its size already: {amount(value, unit)}"
    now = len(current["regions"]) if current else 0
    ends = chosen.get("interval")
    if ends and ends[0] <= here <= ends[1]:
        return _as_good(regions, k, now, asked)
    if now > k and (value < here if unit else value > here):
        ends = f"{amount(value, unit)} instead of {amount(here, unit)}"
        return f"{regions} {'beats' if k == 1 else 'beat'} your {_low(now)}: {ends}"
    return _change(regions, k != 1, (here, value), asked)


def _as_good(regions: str, k: int, now: int, asked: Asked) -> str:
    """The interval of the set holds the present value: only the number of regions differs."""
    what = f"about the same {'latency' if asked.unit else 'throughput'}"
    what += " (modelled)" if asked.is_modelled else ""
    if now > k:
        return f"You could run {regions.lower()} instead of {_low(now)} at {what}"
    verb = "gives" if k == 1 else "give"
    return f"{regions} {verb} your clients {what} as the {_low(now)} you have"


def _without_comparison(regions: str, many: bool, value: str, asked: Asked) -> str:
    unit, percentile = asked.unit, asked.percentile
    serve = "serve" if many else "serves"
    if asked.is_worst_country:
        return f"{regions} {serve} every country {'within' if unit else 'at'} {value} on average"
    if percentile is not None:
        limit = "within" if unit else "at"
        more = "" if unit else " or faster"
        return f"{regions} {serve} {percentile:g} % of requests {limit} {value}{more}"
    return f"{regions} {serve} your clients {'in' if unit else 'at'} {value} on average"


def _low(count: int) -> str:
    return number_word(count).lower()


def _change(regions: str, many: bool, ends: tuple[float, float], asked: Asked) -> str:
    before, after = ends
    unit, percentile = asked.unit, asked.percentile
    share = (after - before) / before if before else 0.0
    better = share < 0 if unit else share > 0
    what = "round-trip time" if unit else "throughput"
    if percentile is not None:
        what = f"{'median' if percentile == 50 else f'p{percentile:g}'} {what}"
    if abs(share) < LEAST_CHANGE:
        return f"{regions} {'give' if many else 'gives'} your clients what they have now"
    who = "the worst-served country" if asked.is_worst_country else "your clients"
    if better:
        verb = ("cut" if many else "cuts") if unit else ("raise" if many else "raises")
        owner = "the worst-served country’s" if asked.is_worst_country else "your clients’"
        return f"{regions} {verb} {owner} {what} by {formatting.share(abs(share))}"
    cost = "cost" if many else "costs"
    if unit:
        return f"{regions} {cost} {who} {formatting.share(abs(share))} more time than now"
    return f"{regions} {cost} {who} {formatting.share(abs(share))} of their throughput"


def steps(chosen: Result, current: Result | None) -> dict[str, list[str]]:
    """Which regions to add, to keep and to leave."""
    here = list(current["regions"]) if current else []
    best = list(chosen["regions"])
    return {
        "add": [name for name in best if name not in here],
        "keep": [name for name in best if name in here],
        "leave": [name for name in here if name not in best],
    }


def sentences(
    chosen: Result | None, rows: Sequence[Result], outlook: Result | None, unit: str
) -> list[str]:
    """Return further sentences, the most important first."""
    if chosen is None:
        return []
    found = [_worst_country(chosen, unit), _certainty(chosen), _next(chosen, rows, unit)]
    if outlook:
        found += [
            _worst(outlook, "region", "fails", unit),
            _worst(outlook, "provider", "fails as a whole", unit),
            _worst(outlook, "isp", "stops carrying traffic", unit),
            _hours(outlook),
            _modelled(outlook),
        ]
    return [text for text in found if text]


def _worst_country(chosen: Result, unit: str) -> str:
    rows = chosen.get("countries")
    if not rows:
        return ""
    worst = rows[0]
    clients = f"n = {number(worst['clients'], 'client')}"
    countries = number(len(rows), "country", "countries")
    text = f"Of {countries}, {worst['country']} is served worst"
    text += f": {amount(worst['value'], unit)} on average ({clients})"
    if worst["after_loss"] is None:
        return f"{text}."
    return f"{text}, {amount(worst['after_loss'], unit)} after the loss that is worst for it."


def _certainty(chosen: Result) -> str:
    wins = chosen.get("wins") or []
    own = next((w for w in wins if set(w["regions"]) == set(chosen["regions"])), None)
    if own is None:
        return ""
    share = _of_hundred(own["share"])
    text = f"In {share} resamples of clients and rounds, this set was the best"
    rivals = "" if chosen.get("wins_complete") else ", of the sets that come near it"
    return f"{text}{rivals}."


def _of_hundred(share: float) -> str:
    count = round(share * 100)
    return "all" if count == 100 else f"{count} % of"


def _next(chosen: Result, rows: Sequence[Result], unit: str) -> str:
    after = next((r for r in rows if r["k"] == chosen["k"] + 1 and r["value"] is not None), None)
    gain = after.get("gain") if after else None
    if after is None or not gain:
        return ""
    low, high = (amount(v, unit) for v in gain["interval"])
    more = abs(chosen["value"] - after["value"])
    noise = "" if gain["beyond_noise"] else ", which is not significant"
    return f"One more region would gain {amount(more, unit)} ({low} to {high}){noise}."


def _worst(outlook: Result, kind: str, verb: str, unit: str) -> str:
    """The failure of this kind that costs most: clients lost first, then time added to all."""
    known = [f for f in outlook["failures"] if f["kind"] == kind]
    if not known or (kind == "provider" and len(known) == 1 and known[0]["lost"] >= 0.9995):
        return _without_suffix(known[0]["name"]) if known else ""
    worst = max(known, key=lambda f: (round(f["lost"], 3), f["moved"] * (f["added"] or 0.0)))
    name = formatting.provider_name(worst["name"]) if kind == "provider" else worst["name"]
    if worst["lost"] >= 0.0005:
        return (
            f"If {name} {verb}, {formatting.share(worst['lost'])} of the clients’ traffic is lost."
        )
    if worst["added"] is None:
        return f"If {name} {verb}, no client notices."
    change = "more" if unit else "less"
    added = amount(abs(worst["added"]), unit)
    return (
        f"If {name} {verb}, {formatting.share(worst['moved'])} of the traffic moves and takes "
        f"{added} {change}; no client is lost."
    )


def _without_suffix(name: str) -> str:
    who = formatting.provider_name(name)
    return f"All regions are of {who}: if {who} fails, no client is served."


def _hours(outlook: Result) -> str:
    minutes = outlook["availability"]["minutes_lost_per_month"]
    assumed = any(a["source"] != "given" for a in outlook["availability"]["regions"])
    basis = "by the providers’ service agreements" if assumed else "by the availabilities given"
    time = f"{minutes:,.1f} minutes" if minutes >= 0.1 else "a few seconds at most"
    return f"Expected downtime: {time} a month, {basis}."


def _modelled(outlook: Result) -> str:
    found = outlook.get("modelled")
    if not found:
        return ""
    mean = amount(found["mean_ms"], "ms")
    where = f"{found['populations']} places without samples"
    return f"Modelled, and not part of any other figure: {where} would get {mean} on average."
