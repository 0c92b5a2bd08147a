"""Sentences and links of an audit's pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils import timezone

from webapp.pages.ui import formatting
from webapp.store.access.visibility import SharedReader, visible
from webapp.store.models import Audit, Campaign, Survey

SEVERITIES = ("critical", "high", "medium", "low", "info")
# What the groups of rows are called on pages, with what is below the heading.
CATEGORIES = {
    "finding": ("Findings", ""),
    "not-judged": (
        "Could not be judged",
        "The observations do not suffice for a claim. This never counts as a pass.",
    ),
    "suppressed": ("Accepted", "Suppressed by the policy or by an account, with reason and end."),
    "stale": (
        "Still open, not judged this time",
        "Findings of the audit before whose rule could not be judged again.",
    ),
    "resolved": ("Resolved since the last audit", ""),
}

# The same in a word.
KINDS = {
    "finding": "Finding",
    "not-judged": "Not evaluated",
    "suppressed": "Accepted",
    "stale": "Stale",
    "resolved": "Resolved",
}


def headline(row: Audit) -> str:
    """One sentence with the outcome of an ended audit."""
    counts = row.report
    n, failing = counts["summary"]["domains"], counts["domains_failing"]
    unjudged = counts["domains_not_judged"]
    policy = f"the {row.policy_name} policy"
    if failing:
        verb = "fails" if failing == 1 else "fail"
        text = f"{failing:,} of {_domains(n)} {verb} {policy}"
    elif unjudged == n:
        text = f"None of {_domains(n)} could be judged by {policy}"
    elif unjudged:
        text = f"No domain fails {policy}; {unjudged:,} of {n:,} could not be evaluated in full"
    else:
        text = f"None of {_domains(n)} fails {policy}"
    new = counts["summary"]["new"]
    if new:
        # Without an audit before, a client sent the findings to compare with.
        before = _day(row.previous.created_at) if row.previous else "the baseline"
        text += f"; {new:,} finding{' is' if new == 1 else 's are'} new since {before}"
    return text


def _domains(n: int) -> str:
    return f"{n:,} domain{'' if n == 1 else 's'}"


def _day(at: datetime) -> str:
    return f"{at.day} {at:%b}"


def severities(row: Audit) -> list[dict[str, Any]]:
    """Severities that have open findings, most severe first; high and medium always."""
    counts = row.report["summary"]["by_severity"]
    new: dict[str, int] = {}
    for group in row.groups:
        if group["category"] == "finding":
            new[group["severity"]] = new.get(group["severity"], 0) + group["new"]
    return [
        {"name": name, "n": counts.get(name, 0), "new": new.get(name, 0)}
        for name in SEVERITIES
        if counts.get(name) or name in ("high", "medium")
    ]


@dataclass(frozen=True, slots=True)
class Reader:
    """Where evidence of an audit leads for its reader; nowhere where they may not open it."""

    survey: str = ""
    campaign: str = ""

    @classmethod
    def of(cls, row: Audit, user: Any) -> "Reader":
        """The addresses that this user may open."""
        if isinstance(user, SharedReader):
            return cls()
        survey = row.survey.slug if row.survey and is_open(row.survey, user) else ""
        campaign = row.campaign.slug if row.campaign and is_open(row.campaign, user) else ""
        return cls(survey, campaign)


def is_open(thing: Audit | Campaign | Survey, user: Any) -> bool:
    """Whether the user may open a thing that an audit names; visitors of a link may not."""
    if isinstance(user, SharedReader):
        return False
    return visible(type(thing)._default_manager.filter(pk=thing.pk), user).exists()


def shown_finding(finding: Mapping[str, Any], reader: Reader) -> dict[str, Any]:
    """A stored finding as templates show it."""
    evidence = [shown_evidence(item, reader) for item in finding.get("evidence", ())]
    return {
        **finding,
        "evidence": evidence,
        "confidence": confidence(finding),
        "is_new": finding.get("state") == "new",
        "kind": KINDS[finding["category"]],
    }


def shown_evidence(item: Mapping[str, str], reader: Reader) -> dict[str, str]:
    """One raw observation in words, with the page that shows it."""
    prefix = f"({item['prefix']} of {item.get('as_of', '')})" if item.get("prefix") else ""
    where = " ".join(part for part in (item.get("name"), item.get("address"), prefix) if part)
    ends = f"{item['vantage']} to {item.get('region', '')}" if item.get("vantage") else ""
    parts = (where, item.get("detail", ""), ends, item.get("at", ""))
    text = ", ".join(part for part in parts if part)
    return {
        "text": text or item["domain"],
        "href": _evidence_page(item, reader),
        "table": item["table"],
    }


def _measurement_page(item: Mapping[str, str], campaign: str) -> str:
    """The raw measurements between two ends; the campaign where evidence names no ends."""
    if not item.get("vantage") or not item.get("region"):
        return reverse("campaign", args=[campaign])
    name = "campaign-samples" if item["table"] == "samples" else "campaign-routes"
    page = reverse(name, args=[campaign, item["vantage"], item["region"]])
    return f"{page}?round={item['round']}" if item.get("round") else page


def _evidence_page(item: Mapping[str, str], reader: Reader) -> str:
    if item["table"] in ("paths", "samples"):
        return _measurement_page(item, reader.campaign) if reader.campaign else ""
    if not reader.survey:
        return ""
    name = item.get("name", "")
    # Name servers, zones' transfers and records are on the page of the domain.
    if not name or item["table"] in ("servers", "domains", "audit_lookups"):
        return reverse("domain", args=[reader.survey, item["domain"]])
    return reverse("name", args=[reader.survey, name])


def confidence(finding: Mapping[str, Any]) -> str:
    """``97 %, n = 31, 2 hours old``."""
    parts = []
    if finding.get("outcome") != "not-judged":
        value = float(finding.get("confidence", 1))
        parts.append("certain" if value >= 1 else formatting.share(value))
    parts.append(f"n = {finding.get('n', 0):,}")
    observed = finding.get("observed_at")
    if observed:
        parts.append(formatting.age(datetime.fromisoformat(observed), timezone.now()))
    return ", ".join(parts)
