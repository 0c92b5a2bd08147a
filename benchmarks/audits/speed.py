"""What an audit of a large finished survey takes, from the request to its pages.

The real server (one process) gets ``POST /api/v1/audits``; this process then does what a worker
does, so that its CPU clock is that of the audit. Pages are requested like those of surveys
(``benchmarks.pages.serve``). Rules about further records are left out: no name server
answers here.

    python -m benchmarks.audits.speed DATA_FOLDER [SURVEY]
"""

import argparse
import json
import os
import random
import resource
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django

from benchmarks.pages.serve import SEED, TARGET_MS, Server, measure, serving, show

# Measured addresses are of any age, and every domain is judged.
HEAD = """version = 1
name = "speed"
[data]
max_age_days = 100000
max_failed_share = 1
min_names = 0
"""
PARAMETERS = {"residency": 'allowed = ["eea"]', "slow-country": 'countries = ["DE"]'}
TARGET_S = 10.0


def policy_text() -> str:
    """Every rule but those about records that a survey does not ask for."""
    from audits.rules.registry import RULES, THIN_DATA  # noqa: PLC0415  (after Django's setup)
    from tasks.audits.audit import RECORD_RULES  # noqa: PLC0415

    rules = [rule for rule in RULES if rule not in RECORD_RULES and rule != THIN_DATA.id]
    return HEAD + "".join(f"[rules.{rule}]\n{PARAMETERS.get(rule, '')}\n" for rule in rules)


def post(server: Server, survey: str) -> str:
    """Ask for the audit; its id."""
    body = {"survey": survey, "policy_document": policy_text(), "previous": "none"}
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}/api/v1/audits",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    started_s, before_ms = time.perf_counter(), server.cpu_ms()
    with urllib.request.urlopen(request, timeout=60) as reply:
        slug = str(json.load(reply)["id"])
    took_ms = (time.perf_counter() - started_s) * 1e3
    print(f"POST /api/v1/audits: {took_ms:.0f} ms, {server.cpu_ms() - before_ms:.0f} CPU ms")
    return slug


def work(slug: str) -> Any:
    """Judge as a worker does and print what it took; the row of the audit."""
    from tasks.audits import stored_audit  # noqa: PLC0415
    from webapp.store.audits import services  # noqa: PLC0415
    from webapp.store.models import Audit  # noqa: PLC0415

    started_s, before_s = time.perf_counter(), time.process_time()
    row = services.claim(Audit.objects.get(slug=slug).pk)
    if row is None or not stored_audit.run(row, in_worker=True):
        raise SystemExit(Audit.objects.get(slug=slug).error or "the audit was not claimed")
    cpu_s, wall_s = time.process_time() - before_s, time.perf_counter() - started_s
    row.refresh_from_db()
    counts = row.report["summary"]
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(
        f"{counts['domains']:,} domains, {counts['findings']:,} findings, "
        f"{counts['not_judged']:,} not judged: {cpu_s:.1f} CPU s, {wall_s:.1f} s, "
        f"{peak_mb:,.0f} MB{'  MISSED' if cpu_s > TARGET_S else ''}"
    )
    return row


def pages_of(row: Any) -> dict[str, Callable[[], str]]:
    """Kinds of page by name, each with a maker of addresses."""
    dice, base = random.Random(SEED), f"/audits/{row.slug}/"
    n = sum(group["n"] for group in row.groups)
    api = f"/api/v1/audits/{row.slug}"
    return {
        "audit": lambda: base,
        "findings": lambda: f"{base}findings/?page={dice.randrange(1, 50)}",
        "findings of a domain": lambda: f"{base}findings/?subject={dice.randrange(10, 100)}",
        "finding": lambda: f"{base}findings/{dice.randrange(n)}/",
        "list of audits": lambda: "/audits/",
        "embed": lambda: f"{base}embed/",
        "badge": lambda: f"{base}badge.svg",
        "API: audit": lambda: api,
        "API: 200 findings": lambda: f"{api}/findings?cursor={dice.randrange(n)}",
    }


def main() -> int:
    """Measure and print; 1 where an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("survey", nargs="?")
    chosen = parser.parse_args()
    os.environ["NEPHOSCOPE_DATA"] = str(chosen.data.resolve())
    os.environ["REDIS_URL"] = "redis://127.0.0.1:1/0"
    os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
    django.setup()
    from webapp.store.models import Survey  # noqa: PLC0415

    survey = chosen.survey or Survey.objects.filter(finished_at__isnull=False).latest("pk").slug
    with serving(chosen.data.resolve()) as server:
        slug = post(server, survey)
    row = work(slug)
    # Another server, which has not read anything of the audit.
    with serving(chosen.data.resolve()) as server:
        figures = [measure(server, page, paths) for page, paths in pages_of(row).items()]
    show(figures)
    return int(any(figure.cpu_p95_ms > TARGET_MS for figure in figures))


if __name__ == "__main__":
    raise SystemExit(main())
