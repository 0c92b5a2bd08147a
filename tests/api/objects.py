"""Fills the data folder of the environment with one object of each kind that the API serves.

``python -m tests.api.objects`` prints their names, and tokens of an operator and of a tenant, as
JSON. Both own objects of each kind that an account has (``owned``); the pool, the campaign and the
recommendation of the tenant are named at the top too.
"""

import json
import random
import sys
import time
from typing import Any

from tests.pages import fill

# Of the cast of the pages.
CAPTURE = "spring"
SURVEYS = ["top-domains-of-march-2013", "a-year-later"]
SURVEYS_OF_OPERATOR = ["nothing-in-a-cloud", "the-wide-the-long-and-the-foreign"]
CAMPAIGNS = {
    "tenant": ("spring-latency", "autumn-latency"),
    "operator": ("winter-latency", "summer-latency"),
}


def accounts() -> dict[str, Any]:
    """An operator and a tenant, each with a token that may write."""
    from django.contrib.auth import get_user_model

    from webapp.store.access import tokens

    make = get_user_model().objects.create_user
    people = {"operator": make("olga", is_staff=True), "tenant": make("anna")}
    return {name: (user, tokens.issue(user, "tests", "write")[1]) for name, user in people.items()}


def campaigns(owner: Any, *slugs: str) -> list[str]:
    """Public campaigns of the same pairs, changed by their owner alone."""
    from tests.pages.campaigns import campaign_cast
    from webapp.store.models import Campaign

    for slug, factor in zip(slugs, (1.0, 1.2), strict=False):
        rows = [
            campaign_cast.sample(name, region, [ms * factor, ms * factor + 1], round=n)
            for name, region, ms in (("v-one", "us-east-1", 90.5), ("v-one", "eu-west-1", 24.5))
            for n in range(2)
        ]
        made = campaign_cast.campaign(slug, rows)
        Campaign.objects.filter(pk=made.pk).update(maker=owner)
    return list(slugs)


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


def pool(owner: Any) -> dict[str, Any]:
    """A pool with three machines, a log, a token and a share link."""
    from tests.pages.screening import screening_cast
    from webapp.store.screening import logs, selectors, services

    rng, now = random.Random(5), time.time()
    made = screening_cast.make_pool(owner, "Frontends", wanted=1, price=0.096, currency="USD")
    kinds = ("steal", "quiet", "doubt")
    sent = [screening_cast.build_report(f"web-{kind}", kind, now - 300, rng) for kind in kinds]
    screening_cast.send(made, sent)
    machine = selectors.list_instances(made)[0]
    return {
        "pool": made.key,
        "instance": machine.id,
        "report_id": selectors.list_reports(made, machine.id, 1)[0].report_id,
        "log": logs.add_log(made, "fio", b"x", [{"kind": "csv"}]),
        "pool_token": services.create_token(made, "web")[0],
        "pool_secret": services.share_pool(made),
    }


POLICY = 'version = 1\nname = "ours"\n[rules.single-region]\n'


def documents(owner: Any) -> dict[str, Any]:
    """A saved domain list, a policy and a suppression."""
    from webapp.store.audits import lists, policies

    suppression = {
        "rule": "no-ipv6",
        "subject": "example.com",
        "reason": "static pages",
        "owner": "platform team",
        "expires": "2099-01-01",
    }
    return {
        "domain_list": lists.create_list(owner, "Suppliers", b"example.com\nexample.org\n").slug,
        "policy": policies.create_policy(owner, "Ours", POLICY.encode()).slug,
        "suppression": policies.create_suppression(owner, suppression).pk,
    }


def recurring(owner: Any) -> dict[str, Any]:
    """A schedule with a run and an event, and an endpoint with a delivery."""
    from tests.tasks.schedules import cast
    from webapp.store.models import AlertDelivery

    schedule = cast.schedule(owner)
    endpoint = cast.endpoint(owner, "https://alerts.example.com/hook")
    cast.happen(schedule, 0, cast.change())
    (delivery,) = AlertDelivery.objects.filter(endpoint=endpoint)
    return {
        "schedule": schedule.slug,
        "endpoint": endpoint.slug,
        "message_id": delivery.message_id,
    }


def owned(owner: Any, name: str) -> dict[str, Any]:
    """One object of each kind that an account has, by the word for it."""
    return {
        **pool(owner),
        **documents(owner),
        **recurring(owner),
        "recommendation": recommendation(owner),
        "beacon": beacon(owner),
        "simulation": simulation(owner),
        "upload": fill.upload_of(owner, "July").slug,
        "measurements": campaigns(owner, *CAMPAIGNS[name]),
    }


def packaged() -> str:
    """A survey of a small world with its observations, which has a package."""
    from tasks.surveys import observation
    from tasks.surveys.worlds import WorldOptions, create_world

    options = WorldOptions(name="audits", scale="1/60")
    return str(observation.observe_world(create_world(options), options, "Packaged").slug)


def search() -> str:
    """A search of a public network that a worker has answered."""
    from webapp.store.vantages import network_search

    wanted = {"network": "globalping", "country": "DE", "city": "", "asn": 0, "count": 20}
    made = network_search.create_search(wanted)
    network_search.save(made | {"state": network_search.READY})
    return str(made["key"])


def existing(slugs: dict[str, str]) -> dict[str, Any]:
    """Make everything, and name it; ``slugs`` are those of the pages' cast."""
    from core.records import DomainEntry
    from webapp.store.models import Audit, RangeTable, Survey, VantagePoint
    from webapp.store.surveys.uploads import save_entries

    people = accounts()
    VantagePoint.objects.filter(name="v-one").update(state=VantagePoint.State.JOINED)
    for survey in Survey.objects.all():
        # The cast has its lists as rows alone.
        save_entries(survey.slug, [DomainEntry("linkedin.com", 1, 1)])
    VantagePoint.objects.create(name="vp-invited", city="Oslo", country="NO")
    audits = {"tenant": slugs["audited"], "operator": slugs["audited_before"]}
    everyones = {"tenant": SURVEYS, "operator": SURVEYS_OF_OPERATOR}
    things = {}
    for name, (user, _) in people.items():
        Survey.objects.filter(slug__in=everyones[name]).update(maker=user)
        Audit.objects.filter(slug=audits[name]).update(maker=user)
        shown = {"surveys": everyones[name], "audit": audits[name]}
        things[name] = {**owned(user, name), **shown}
    return {
        **things["tenant"],
        "owned": things,
        "tokens": {name: token for name, (_, token) in people.items()},
        "indexed": "the-wide-the-long-and-the-foreign",
        "experiment": "topology",
        "packaged": packaged(),
        "search": search(),
        "capture": CAPTURE,
        "vantage_points": ["v-one", "vp-invited"],
        "range_tables": RangeTable.objects.count(),
    }


def main() -> None:
    """Fill the folder with the pages' cast and these objects."""
    sys.stdout.write(json.dumps(existing(fill.fill())))


if __name__ == "__main__":
    main()
