"""Fills the data folder of the environment with the cast: ``python -m tests.pages.fill``."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command


def campaign_of(name: str, password: str) -> Any:
    """A campaign that somebody alone sees."""
    from django.contrib.auth import get_user_model

    from tests.pages.campaigns import campaign_cast
    from webapp.store.models import Campaign, VantagePoint

    grace = get_user_model().objects.create_user(name, password=password)
    rows = [campaign_cast.sample("v-one", "us-east-1", [12.5, 13.5])]
    made = campaign_cast.campaign("between-us-0123456789", rows, "Between us two")
    Campaign.objects.filter(pk=made.pk).update(owner=grace, maker=grace)
    # The page of vantage points has to be seen empty as well.
    VantagePoint.objects.all().delete()
    return made


def of_an_account() -> dict[str, str]:
    """What only an account opens: its session, and one of each of its objects."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    from tests.tasks.schedules import cast
    from webapp.store.access import accounts, domain_claims
    from webapp.store.audits import lists
    from webapp.store.traffic import services as uploads

    owner = get_user_model().objects.create_user("ida")
    client = Client(SERVER_NAME="localhost")
    client.force_login(owner)
    nightly = cast.schedule(owner, "Shops every night")
    pager = cast.endpoint(owner, "https://alerts.example.com/hook", name="Pager")
    for day, after in enumerate(("us-east-1", "ap-southeast-2")):
        cast.happen(nightly, day, cast.change("shop.example", after=after))
    saved = lists.create_list(owner, "Shops", b"shop.example\nnot a domain\n")
    domain_claims.fail(domain_claims.claim(owner, "shop.example"), "there is no TXT record")
    domain_claims.approve(owner, "news.example")
    who, key = accounts.issue_invitation(accounts.create_account("invited"))
    answers = recommendations_of(owner, client)
    pending, failed = (upload_of(owner, name) for name in ("Campus, July", "Holiday"))
    uploads.UPLOADS.claim(failed.pk)
    failed.attempt = 1
    uploads.UPLOADS.fail(failed, "no row of a Zeek log in holiday.jpg: no header above (1)")
    return {
        "upload_waiting": pending.slug,
        "upload_failed": failed.slug,
        "session": client.cookies["sessionid"].value,
        "nightly": nightly.slug,
        "pager": pager.slug,
        "saved_list": saved.slug,
        "invited": who,
        "key": key,
        "opt_out": domain_claims.request_opt_out("shop.example").token,
        "beacon": beacon_of(owner),
        "pool": pool_and_vantage(owner),
        "organisation": organisation_of(owner, answers["answer"]),
        **answers,
    }


def pool_and_vantage(owner: Any) -> str:
    """A public pool of two machines, and a vantage point that the account alone may use."""
    import random
    import time

    from tests.pages.screening import screening_cast
    from webapp.store.access.visibility import OPERATOR
    from webapp.store.models import VantagePoint

    VantagePoint.objects.create(name="ida-oslo", owner=owner, state="joined", city="Oslo")
    pool = screening_cast.make_pool(OPERATOR, "Web servers")
    rng, begun = random.Random(3), time.time() - 300
    kinds = {"web-1": "quiet", "web-2": "steal"}
    host = {"provider": "aws", "region": "eu-west-1", "instance_type": "m5.large"}
    reports = [
        screening_cast.build_report(n, kind, begun, rng, **host) for n, kind in kinds.items()
    ]
    screening_cast.send(pool, reports)
    return str(pool.key)


def organisation_of(owner: Any, token: str) -> str:
    """An organisation with two members, a recommendation and an open invitation."""
    from webapp.store.access import accounts, organisations

    made = organisations.create(owner, "Umbrella Research")
    mine = organisations.find_membership(owner, made.slug)
    assert mine is not None
    organisations.accept(accounts.create_account("jon"), organisations.invite(mine, "member")[1])
    organisations.invite(mine, "viewer", "Auditors")
    organisations.add_object(mine, "recommendation", token)
    return made.slug


def recommendations_of(owner: Any, client: Any) -> dict[str, str]:
    """Two answers of an account, the first with a share link."""
    from tasks.recommendations import celery_tasks
    from webapp.store.models import Recommendation
    from webapp.store.recommendations import services

    for audience in ("DE 40\nJP 60", "DE 70\nJP 30"):
        client.post("/recommendations/clients/", {"audience": audience})
    rows = list(Recommendation.objects.filter(owner=owner).order_by("pk"))
    for row in rows:
        if not row.result:
            celery_tasks.solve(row.pk)
    first, second = rows
    return {"answer": first.token, "other": second.token, "link": services.share(first)}


def upload_of(owner: Any, name: str) -> Any:
    """An upload of traffic logs that waits."""
    from webapp.store.traffic import services

    return services.create(owner, name, [services.SentFile("conn.log", [b"#path\tconn\n"])], {})


def beacon_of(owner: Any) -> str:
    """A beacon with a median, and a country with too few round trips."""
    from webapp.store.recommendations import beacons

    targets = {"aws/eu-west-1": "https://eu.example.com/empty"}
    row = beacons.create(owner, beacons.Settings("Shop", targets, ["https://www.example.com"]))
    for country in (*["DE"] * beacons.MIN_ROUND_TRIPS, "FR"):
        beacons.count(row, country, [("aws/eu-west-1", 20.0)])
    return row.key


def capture() -> None:
    """An imported capture of connection logs."""
    from django.conf import settings

    from tests.pages.traffic.test_captures import document

    folder = Path(settings.DATA_DIR) / "packets" / "spring"
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(json.dumps(document(True)))


def fill() -> dict[str, str]:
    """Migrate and store the whole cast; each one's slug by name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    call_command("migrate", verbosity=0)
    from tasks.surveys import derived
    from tests.pages import cast
    from tests.pages.audits import audit_cast
    from tests.pages.campaigns import pairs
    from tests.pages.simulations import simulation_cast

    everyone = cast.everyone()
    everyone["later"] = pairs.after()
    for campaign in everyone.values():
        campaign.refresh_from_db()
    derived.compare_surveys(everyone["atlas"], everyone["later"])
    derived.index_survey(everyone["edges"])
    everyone["measured"] = campaign_of("grace", "a walnut on the shelf")
    slugs = {name: campaign.slug for name, campaign in everyone.items()}
    audits = audit_cast.everyone(everyone["atlas"], everyone["later"])
    slugs |= {name: audit.slug for name, audit in audits.items()}
    capture()
    return slugs | simulation_cast.everyone() | of_an_account()


def main() -> None:
    """Store the whole cast, and say each one's slug as JSON."""
    sys.stdout.write(json.dumps(fill()))


if __name__ == "__main__":
    main()
