"""Template context of a recommendation's answer.

The same for the owner, for readers of a share link, and for print.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webapp.pages.recommendations.constraints import controls
from webapp.pages.recommendations.curve import draw_curve
from webapp.pages.recommendations.limits import country_choices, region_choices
from webapp.pages.recommendations.sentences import Asked, amount, headline, sentences, steps
from webapp.pages.recommendations.service_map import map_data, served_by
from webapp.pages.ui import formatting

UNITS = {"latency": "ms", "throughput": ""}
# Figure 16 of IMC'13: mean latency in ms of the best k of EC2's regions, for k from 1 up.
PUBLISHED_MS = (184, 143, 123, 111, 102, 96, 90, 85)
# The first row of the table of failures, to compare with.
NOTHING = "nothing"
FAILURES = {"zone": "Zone", "region": "Region", "provider": "Provider", "isp": "Downstream ISP"}
LEAST_GAIN = 0.05
# Of one kind, such as ISPs.
MOST_FAILURES = 12
Part = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AnswerView:
    """What the reader has selected: a size, a failure and the options."""

    k: int
    fail: str = ""
    options: Part = field(default_factory=dict)


def choose_size(result: Part, asked: str) -> int:
    """Return the size to show: the requested one, else the last with a significant gain.

    A gain is significant where it exceeds noise and a twentieth of the value of one region. A set
    worse than the present deployment is suggested only where no size is as good.
    """
    rows = result["results"]
    if asked.isdecimal() and int(asked) in [row["k"] for row in rows]:
        return int(asked)
    solved = [row for row in rows if row["regions"]]
    if not solved:
        return int(rows[0]["k"]) if rows else 1
    least = LEAST_GAIN * abs(solved[0]["value"])
    good = [row for row in solved if _is_as_good(row, result)] or solved
    best = good[0]
    for row in good[1:]:
        gain = abs(row["value"] - best["value"])
        if not (row.get("gain") or {}).get("beyond_noise", True) or gain < least:
            break
        best = row
    return int(best["k"])


def _is_as_good(row: Part, result: Part) -> bool:
    """Whether a set serves as well as the deployment as it is; any does where there is none."""
    here = (result.get("current") or {}).get("value")
    if here is None:
        return True
    is_less_better = bool(UNITS[str(result["objective"]["measure"])])
    return bool(row["value"] <= here if is_less_better else row["value"] >= here)


@dataclass(frozen=True, slots=True)
class SelectedSet:
    """The chosen set with its impact, and that of the present deployment."""

    chosen: Part | None
    outlook: Part | None
    before: Part | None
    inputs: Part
    unit: str
    is_modelled: bool = False


def answer_context(
    result: Part, look: AnswerView, source: Part, files: Collection[str] = ()
) -> dict[str, Any]:
    """Return the template context of one answer; ``files`` names the tables of the question."""
    scene = _select_set(result, look, is_modelled=source.get("kind") == "modelled")
    return {
        "result": result,
        "domains": result.get("domains"),
        "front": result.get("front"),
        "joint": result.get("joint"),
        "prices": result.get("prices"),
        "carbon": _carbon(result, look.k),
        "client_rounds": result["n_clients"] * result["n_rounds"],
        "look": look,
        **_finding(result, look, scene),
        **_sizes(result, look, scene),
        **_impact(look, scene),
        **_choices(look, scene.inputs, files),
        **_origin(source),
    }


def _carbon(result: Part, k: int) -> list[Part]:
    """Return the carbon intensities of the regions of the selected set."""
    chosen = {n for row in result["results"] if row["k"] == k for n in row["regions"]}
    return [row for row in result.get("carbon") or () if row["region"] in chosen]


def _select_set(result: Part, look: AnswerView, *, is_modelled: bool) -> SelectedSet:
    chosen = next((r for r in result["results"] if r["k"] == look.k and r["regions"]), None)
    consequences = result["consequences"] or {"sets": [], "inputs": {}}
    sets = {str(part["set"]): part for part in consequences["sets"]}
    return SelectedSet(
        chosen,
        outlook=sets.get(str(look.k)) if chosen else None,
        before=sets.get("current"),
        inputs=consequences["inputs"],
        unit=UNITS[str(result["objective"]["measure"])],
        is_modelled=is_modelled,
    )


def _finding(result: Part, look: AnswerView, scene: SelectedSet) -> dict[str, Any]:
    """The finding in a sentence, in several, and in short facts."""
    chosen, current, unit = scene.chosen, result["current"], scene.unit
    asked = next((r for r in result["results"] if r["k"] == look.k), None)
    aim = result["objective"]
    is_worst_country = bool(aim.get("worst_country"))
    about = Asked(look.k, unit, aim["percentile"], scene.is_modelled, is_worst_country)
    return {
        "headline": headline(chosen, current, about),
        "steps": steps(chosen, current) if chosen else None,
        "summary": sentences(chosen, result["results"], scene.outlook, unit),
        "chips": _key_figures(chosen, scene.outlook, unit, result["objective"]),
        "reason": asked["reason"] if asked and not chosen else "",
    }


def _sizes(result: Part, look: AnswerView, scene: SelectedSet) -> dict[str, Any]:
    """Every size of set, and the regions of the chosen one."""
    rows, current = result["results"], result["current"]
    return {
        "rows": with_published(rows, result["objective"]),
        "curve": draw_curve(rows, look.k, current["value"] if current else None),
        "slider": size_slider(result, look.k),
        "unchecked": any(row["certificate"] and not row["certificate"]["checked"] for row in rows),
        "chosen": scene.chosen,
        "members": _members(scene.chosen, scene.outlook, scene.inputs, scene.unit),
        "unit": scene.unit,
        "measure": "round-trip time" if scene.unit else "throughput",
    }


def _impact(look: AnswerView, scene: SelectedSet) -> dict[str, Any]:
    """Who gains, what fails, and the map of both."""
    inputs, outlook, before = scene.inputs, scene.outlook, scene.before
    failure, failures = _failure(outlook, look.fail), _by_kind(outlook, look.fail)
    down = _regions_down(failure, outlook, inputs)
    return {
        "inputs": inputs,
        "outlook": outlook,
        "before": before,
        "gains": _gains(outlook, before, served_by(inputs, outlook, down)),
        "failure": failure,
        "failures": failures,
        "nothing_fails": next(
            (f for f in (outlook["failures"] if outlook else ()) if f["kind"] == NOTHING), None
        ),
        "failures_left_out": sum(group["left_out"] for group in failures),
        "map": map_data(inputs, outlook, before, down, scene.unit),
    }


def _choices(look: AnswerView, inputs: Part, files: Collection[str]) -> dict[str, Any]:
    """What constraints can be tried, and on which regions."""
    places = inputs.get("places", [])
    names = [place["region"] for place in places]
    return {
        "controls": controls(look.options, places, files),
        "names": names,
        "regions": region_choices(names),
        "countries": country_choices({place.get("country") or "" for place in places}),
    }


def _origin(source: Part) -> dict[str, Any]:
    """Where the samples come from, and what of the deployment has none."""
    return {
        "source": source,
        "basis": _basis(source),
        "is_modelled": source.get("kind") == "modelled",
        "is_synthetic": bool(source.get("synthetic")),
        "absent": [p for p in source.get("deployment", ()) if not p["name"]],
    }


# What round trips rest on, in the words of the page; {} is "measured" or "synthetic".
_BASIS = {
    "measured": "{} in the client’s city, network or country",
    "measured-in-country": "{} elsewhere in its country",
    "modelled": "Modelled, not measured",
    "left-out": "Left out: no place is known",
}


def _basis(source: Part) -> dict[str, Any] | None:
    """How much of the clients' weight is measured, and each client; None without any given."""
    found = source.get("basis")
    if not found or not found["n_clients"]:
        return None
    kind = "Synthetic" if source.get("synthetic") else "Measured"
    texts = {name: text.format(kind) for name, text in _BASIS.items()}
    shares = found["shares"]
    away = shares["modelled"] + shares["left-out"]
    return {
        "measured": shares["measured"] + shares["measured-in-country"],
        "modelled": shares["modelled"],
        "left_out": shares["left-out"],
        "is_mixed": shares["modelled"] < 1,
        "has_away": source.get("kind") != "modelled" and away > 0,
        "kind": kind.lower(),
        "parts": [
            {"text": text, "share": shares[name]} for name, text in texts.items() if shares[name]
        ],
        "n_clients": found["n_clients"],
        "clients": [{**row, "text": texts[row["basis"]]} for row in found.get("clients", ())],
    }


def with_published(rows: Sequence[Part], objective: Part) -> list[dict[str, Any]]:
    """Each size beside Figure 16, both as shares of the value at the first size."""
    first = rows[0]["value"] if rows and rows[0]["k"] == 1 else None
    found = []
    for row in rows:
        k, value = row["k"], row["value"]
        share = value / first if first and value is not None else None
        is_alike = objective["measure"] == "latency" and not objective.get("worst_country")
        known = is_alike and k <= len(PUBLISHED_MS)
        was = PUBLISHED_MS[k - 1] / PUBLISHED_MS[0] if known and share is not None else None
        found.append({**row, "share": share, "published_share": was})
    return found


def _members(
    chosen: Part | None, outlook: Part | None, inputs: Part, unit: str
) -> list[dict[str, Any]]:
    """Each chosen region: provider, place, share of the clients, and gain."""
    places = {place["region"]: place for place in inputs.get("places", ())}
    shares = outlook["shares"] if outlook else {}
    found = []
    for member in chosen["members"] if chosen else ():
        name = member["region"]
        provider = places.get(name, {}).get("provider") or ""
        found.append(
            {
                **member,
                "code": name.rpartition("/")[2],
                "provider": provider,
                "provider_name": formatting.provider_name(provider) if provider else "",
                "country": places.get(name, {}).get("country") or "",
                "share": shares.get(name),
                "worth_text": None if member["worth"] is None else amount(member["worth"], unit),
            }
        )
    return found


def _key_figures(
    chosen: Part | None, outlook: Part | None, unit: str, objective: Part
) -> list[dict[str, str]]:
    """Short facts: what was answered, runner-up, and the worst that a lost region does to all."""
    if chosen is None:
        return []
    found = [_answered(chosen, unit, objective)] if chosen["unanswered"] else []
    other = chosen["runner_up"]
    if other and other["value"] is not None:
        apart = abs(other["value"] - chosen["value"])
        sign = "+" if unit else "−"
        text = f"{sign}{amount(apart, unit)}" if apart >= 0.05 else "as good, to a tenth"
        found.append({"text": f"runner-up {text}", "title": ", ".join(other["regions"])})
    if after := _after_loss(outlook, unit):
        found.append({"text": after, "title": ""})
    return found


def _after_loss(outlook: Part | None, unit: str) -> str:
    """What all get after the loss that hurts most; empty where some client is served no more."""
    lost = [f for f in outlook["failures"] if f["kind"] == "region"] if outlook else []
    ends = [f["value"] for f in lost if f["value"] is not None]
    if len(lost) < 2 or len(ends) < len(lost) or any(f["lost"] > 0.0005 for f in lost):
        return ""
    return f"any one region lost: {amount(max(ends) if unit else min(ends), unit)}"


def size_slider(result: Part, chosen: int) -> dict[str, Any] | None:
    """Return the sizes that have a set, with what each gives, costs and survives, as text.

    ``place`` is that of the chosen size; None below two sizes.
    """
    unit = UNITS[str(result["objective"]["measure"])]
    consequences = result["consequences"] or {"sets": []}
    outlooks = {str(part["set"]): part for part in consequences["sets"]}
    currency = (result.get("prices") or {}).get("currency", "")
    sizes = []
    for row in result["results"]:
        if not row["regions"]:
            continue
        k, outlook = row["k"], outlooks.get(str(row["k"]))
        total = outlook["cost"]["total"] if outlook and outlook["cost"] else None
        parts = [
            f"{k} region{'' if k == 1 else 's'}",
            amount(row["value"], unit),
            "" if total is None else f"{total:,.2f} {currency} a month".replace("  ", " "),
            _after_loss(outlook, unit) or ("survives no loss" if k == 1 else ""),
        ]
        sizes.append({"k": k, "text": " · ".join(part for part in parts if part)})
    if len(sizes) < 2:
        return None
    place = next((n for n, one in enumerate(sizes) if one["k"] == chosen), 0)
    return {"sizes": sizes, "place": place, "last": len(sizes) - 1, "text": sizes[place]["text"]}


def _answered(chosen: Part, unit: str, objective: Part) -> dict[str, str]:
    """The share of client-rounds that the set answered, and what the others cost."""
    text = f"answered {formatting.share(1 - chosen['unanswered_share'])}"
    if objective["penalty"] is None:
        return {"text": text, "title": "The others are left out."}
    cost = amount(objective["penalty"], unit)
    return {"text": text, "title": f"The others count at {cost} each."}


def _gains(
    outlook: Part | None, before: Part | None, by: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Countries by weight, each before and after."""
    found = []
    for row in outlook["countries"] if outlook else ():
        then = row.get("before", {}).get("p50") if before else None
        now = row["p50"]
        change = (now - then) / then if now is not None and then else None
        found.append(
            {
                **row,
                "then": then,
                "change": change,
                "fall": max(0.0, -(change or 0.0)),
                "rise": min(1.0, max(0.0, change or 0.0)),
                "server": by.get(row["country"] or "", ""),
            }
        )
    return sorted(found, key=lambda row: -row["share"])


def _by_kind(outlook: Part | None, fail: str) -> list[dict[str, Any]]:
    """Failures by what fails, each with its address; of many ISPs those that cost most."""
    groups = []
    for kind, label in FAILURES.items():
        rows = [
            {**f, "key": f"{kind}:{f['name']}", "is_on": f"{kind}:{f['name']}" == fail}
            for f in (outlook["failures"] if outlook else ())
            if f["kind"] == kind
        ]
        if kind == "isp":
            rows.sort(key=lambda f: (-f["lost"], -f["moved"] * (f["added"] or 0.0)))
        shown = [f for n, f in enumerate(rows) if n < MOST_FAILURES or f["is_on"]]
        if rows:
            left_out = len(rows) - len(shown)
            groups.append({"kind": kind, "label": label, "rows": shown, "left_out": left_out})
    return groups


def _failure(outlook: Part | None, fail: str) -> dict[str, Any] | None:
    kind, _, name = fail.partition(":")
    known = outlook["failures"] if outlook and kind in FAILURES else ()
    found = next((f for f in known if f["kind"] == kind and f["name"] == name), None)
    return {**found, "label": FAILURES[kind]} if found else None


def _regions_down(failure: Part | None, outlook: Part | None, inputs: Part) -> list[str]:
    """The regions of the set that a failure takes away whole."""
    if failure is None or outlook is None:
        return []
    if failure["kind"] == "provider":
        owners = {p["region"]: p["provider"] for p in inputs.get("places", ())}
        return [name for name in outlook["regions"] if owners.get(name) == failure["name"]]
    is_whole = failure["kind"] == "region" or "the only zone" in failure.get("note", "")
    return [failure["name"]] if is_whole else []
