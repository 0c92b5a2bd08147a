"""Fills the data folder of the environment with one object of each kind that the API serves.

``python -m tests.api.objects`` prints their names, and tokens of an operator and of a tenant who
owns the pool, the campaign and the recommendation, as JSON.
"""

import json
import random
import sys
import time
from typing import Any

from tests.pages import fill

CAPTURE = "spring"
SURVEYS = ["top-domains-of-march-2013", "a-year-later"]


def accounts() -> dict[str, Any]:
    """An operator and a tenant, each with a token that may write."""
    from django.contrib.auth import get_user_model

    from webapp.store.access import tokens

    make = get_user_model().objects.create_user
    people = {"operator": make("olga", is_staff=True), "tenant": make("anna")}
    return {name: (user, tokens.issue(user, "tests", "write")[1]) for name, user in people.items()}


def campaigns(owner: Any) -> list[str]:
    """Two public campaigns of the same pairs, changed by the tenant alone."""
    from tests.pages.campaigns import campaign_cast
    from webapp.store.models import Campaign

    for slug, factor in (("spring-latency", 1.0), ("autumn-latency", 1.2)):
        rows = [
            campaign_cast.sample(name, region, [ms * factor, ms * factor + 1], round=n)
            for name, region, ms in (("v-one", "us-east-1", 90.5), ("v-one", "eu-west-1", 24.5))
            for n in range(2)
        ]
        made = campaign_cast.campaign(slug, rows)
        Campaign.objects.filter(pk=made.pk).update(maker=owner)
    return ["spring-latency", "autumn-latency"]


def recommendation(owner: Any) -> str:
    """A recommendation of two regions."""
    from tasks.recommendations import celery_tasks
    from webapp.store.recommendations.services import Origin

    rng = random.Random(4)
    rows = [
        f"{n},c{client},{region},{rng.randint(20, 200)}"
        for region in ("eu-central-1", "eu-west-1", "us-east-1")
        for client in range(6)
        for n in range(4)
    ]
    text = "\n".join(["round,client,region,value", *rows, ""])
    made = celery_tasks.create(
        {"samples": text.encode()}, {"k": "1..2"}, None, at_once=True, origin=Origin(owner)
    )
    return str(made.token)


def simulation(owner: Any) -> str:
    """A finished run of an experiment."""
    from tests.pages.simulations.simulation_cast import finished_run

    return str(finished_run(owner, kind="fat-tree", k=4).token)


def beacon(owner: Any) -> str:
    """A beacon with a median of one country and region."""
    from webapp.store.recommendations import beacons

    targets = {"aws/eu-central-1": "https://probe.example.com/empty"}
    row = beacons.create(owner, beacons.Settings("Shop", targets, ["https://www.example.com"]))
    for n in range(beacons.MIN_ROUND_TRIPS):
        beacons.count(row, "DE", [("aws/eu-central-1", 20.0 + n)])
    return str(row.key)


def capture() -> str:
    """The report of a small capture, as an import leaves it."""
    from tasks.traffic import log_import
    from tests.pages.surveys.test_traffic import document

    folder = log_import.root() / CAPTURE
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(json.dumps(document(sized=True)))
    return CAPTURE


def existing(audit: str) -> dict[str, Any]:
    """Make everything, and name it; ``audit`` is a public one of nobody."""
    from tests.pages.screening import screening_cast
    from webapp.store.models import Audit, RangeTable, Survey, VantagePoint
    from webapp.store.screening import selectors

    people = accounts()
    tenant = people["tenant"][0]
    rng, now = random.Random(5), time.time()
    pool = screening_cast.make_pool(tenant, "Frontends", wanted=1, price=0.096, currency="USD")
    kinds = ("steal", "quiet", "doubt")
    sent = [screening_cast.make_report(f"web-{kind}", kind, now - 300, rng) for kind in kinds]
    screening_cast.send(pool, sent)
    machine = selectors.list_instances(pool)[0]
    made = campaigns(tenant)
    VantagePoint.objects.create(name="vp-invited", city="Oslo", country="NO")
    Survey.objects.filter(slug__in=SURVEYS).update(maker=tenant)
    Audit.objects.filter(slug=audit).update(maker=tenant)
    return {
        "audit": audit,
        "tokens": {name: token for name, (_, token) in people.items()},
        "surveys": SURVEYS,
        "indexed": "the-wide-the-long-and-the-foreign",
        "measurements": made,
        "pool": pool.key,
        "instance": machine.id,
        "report_id": selectors.list_reports(pool, machine.id, 1)[0].report_id,
        "recommendation": recommendation(tenant),
        "simulation": simulation(tenant),
        "beacon": beacon(tenant),
        "capture": capture(),
        "vantage_points": ["v-one", "vp-invited"],
        "range_tables": RangeTable.objects.count(),
    }


def main() -> None:
    """Fill the folder with the pages' cast and these objects."""
    slugs = fill.fill()
    sys.stdout.write(json.dumps(existing(slugs["audited"])))


if __name__ == "__main__":
    main()
