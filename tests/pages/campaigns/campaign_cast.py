"""Measurement campaigns as they come and at their edges: ``python -m
tests.pages.campaigns.campaign_cast``.

``demo`` is the synthetic one; ``one`` holds one sample, ``dead`` only failures, ``none`` nothing,
``probed`` runs of HTTP, calls and game queries, ``alone`` one region seen from places with long and
right-to-left names, ``running`` no table yet.
"""

import json
import os
import sys

import django
from django.core.management import call_command

PASSWORD = "a walnut on the shelf"
LONG = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch"
RTL = "القاهرة"


def everyone(rounds=8):
    """All campaigns by name."""
    from tasks.demo.campaign import build_demo

    made = {"demo": build_demo(rounds)}
    made["one"] = campaign("one-sample", [sample("v-one", "us-east-1", [12.5])])
    made["dead"] = campaign(
        "all-failed",
        [
            sample("v-one", region, [], status=status)
            for region in ("us-east-1", "eu-west-1")
            for status in ("TIMEOUT", "REFUSED", "SOMETHING_NEW")
        ],
    )
    made["none"] = campaign("nothing", [])
    made["alone"] = campaign(
        "one-region",
        [
            sample(name, "us-east-1", [30.0 + n, 31.0], round=n)
            for n in range(3)
            for name in ("v-cairo", "v-long", "v-unknown")
        ],
        name=f"<b>{RTL}</b> & others",
    )
    made["running"] = campaign("running", [], state="running")
    again = [
        sample(r["vantage"], r["region"], [r["p50"] * 1.1])
        for r in _medians(made["demo"])
        if r["p50"] is not None
    ]
    made["probed"] = campaign("probed", [r for n in range(100) for r in _probed(n)])
    # One of two pairs is 9 ms slower from round 60 on.
    moved = (
        (n, region, 9.0 if n >= 60 and region == "us-east-1" else 0.0)
        for n in range(90)
        for region in ("us-east-1", "eu-west-1")
    )
    made["moved"] = campaign(
        "moved",
        [sample("v-one", r, [30.0 + n % 3 + more, 31.0 + more], round=n) for n, r, more in moved],
    )
    made["later"] = campaign("a-year-later", again)
    return made


def _probed(number):
    """One run each of HTTP, of a call and of game queries."""
    steps = {"dns_ms": 2.0, "connect_ms": 20.0, "wait_ms": 30.0 + number, "read_ms": 2.0}
    runs = (("http", [150.0], steps), ("jitter", [40.0] * 50, {"jitter_ms": 1.0}))
    for probe, values, fields in (*runs, ("game-query", [120.0] * 60, {})):
        text = json.dumps(fields)
        yield sample("v-one", "eu-west-1", values, round=number, probe=probe, detail=text)


def _medians(demo):
    from webapp.store.campaigns import selectors

    return selectors.read_table(demo, "latency-grid", ["vantage", "region", "p50"]).to_pylist()


def places():
    """Vantage points of the odd campaigns; ``v-unknown`` has none."""
    from webapp.store.models import VantagePoint

    rows = [
        ("v-one", "Oslo", "NO", 59.9, 10.8),
        ("v-cairo", RTL, "EG", 30.0, 31.2),
        ("v-long", LONG, "GB", 53.2, -4.2),
    ]
    for name, city, country, lat, lon in rows:
        VantagePoint.objects.get_or_create(
            name=name,
            defaults={"city": city, "country": country, "lat": lat, "lon": lon, "state": "joined"},
        )


def sample(vantage, region, values, status="OK", round=0, **more):
    """One row of samples."""
    return {
        "round": round,
        "vantage": vantage,
        "target": f"{region}.example",
        "provider": "aws",
        "region": region,
        "zone": f"{region}a",
        "at": 1_700_000_000_000_000,
        "probe": "tcp-ping",
        "status": status,
        "sent": max(1, len(values)),
        "values": values,
        **more,
    }


def campaign(slug, rows, name="", state="finished"):
    """A campaign that measured these rows, with its tables."""
    from datetime import UTC, datetime

    from analysis.campaigns.tables.tables import build_tables
    from lake.campaigns import table_of
    from lake.parts import part_path, write_part
    from webapp.store.campaigns import selectors
    from webapp.store.models import Campaign, CampaignUnit

    places()
    began = datetime(2026, 11, 1, tzinfo=UTC)
    regions = sorted({r["region"] for r in rows})
    found = Campaign.objects.create(
        slug=slug,
        name=name or slug.replace("-", " ").capitalize(),
        state=state,
        schedule={"round_s": 900.0, "rounds": 3, "activities": []},
        targets=[
            {"name": r, "host": r, "provider": "aws", "region": r, "zone": ""} for r in regions
        ],
        vantages=sorted({r["vantage"] for r in rows}),
        started_at=began,
        finished_at=None if state == "running" else began,
    )
    if rows:
        table = table_of("samples", rows)
        write_part(part_path(selectors.lake_root(), slug, "samples", "all"), "samples", table)
        CampaignUnit.objects.create(
            campaign=found,
            key="all",
            activity="ping",
            vantage="v-one",
            round=0,
            starts_s=0,
            ends_s=1,
            slots=len(rows),
            state="done",
            rows={"samples": len(rows)},
            part="all",
        )
        built = build_tables(selectors.parts(found, "samples"))
        selectors.save_tables(found, built.reports, built.files)
    return found


def main():
    """Migrate, store everyone, and say each one's slug as JSON."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    call_command("migrate", verbosity=0)
    from django.contrib.auth.models import User

    User.objects.create_user("chief", password=PASSWORD, is_staff=True)
    sys.stdout.write(json.dumps({k: m.slug for k, m in everyone().items()}))


if __name__ == "__main__":
    main()
