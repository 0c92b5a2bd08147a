"""Every part of the demo is made once, goes on where it was interrupted, and shows on its page."""

from typing import Any

import pytest
from django.test import Client

from core.errors import BadInput
from tasks.demo import answers, campaign, parts, pool, surveys, traffic
from tasks.demo.parts import Part
from tasks.surveys import observation, worlds
from tasks.surveys.worlds import WorldOptions
from webapp.store.models import Audit, Pool, Recommendation, Survey
from webapp.store.surveys import comparison

OPTIONS = WorldOptions("imc2013", "1/2000")
# What each page of the demo says that no empty one does.
PAGES = {
    "/": "?fail=",
    "/wide-area/eighty-cities/best-sets/": "region",
    "/wide-area/eighty-cities/suitability/": "suitable for games",
    "/traffic/emulated-campus-week/": "Emulated",
    "/screening/pools/": pool.NAME,
    "/recommendations/": answers.TITLE.removeprefix("Sample: "),
    "/audits/": answers.AUDIT_NAME,
}


def crawl(world: Any) -> str:
    """The survey as workers would have made it."""
    return observation.observe_world(world, OPTIONS, surveys.NAME).name


@pytest.mark.django_db
def test_it_works(client: Client, settings: Any, tmp_path: Any, monkeypatch: Any) -> None:
    settings.DATA_DIR, settings.LAKE_DIR = tmp_path, tmp_path / "lake"
    settings.WORLDS_DIR = tmp_path / "worlds"
    monkeypatch.setattr(pool, "_HOURS", 2)
    assert parts.is_wanted()
    world = worlds.create_world(OPTIONS)

    def fail() -> str:
        raise BadInput("the broker is away")

    made = {part.name: part for part in parts.list_parts(OPTIONS)}
    made["survey"] = Part("survey", lambda: crawl(world))
    made["campaign"] = Part("campaign", lambda: str(campaign.build_demo(12)))
    broken = {**made, "pool": Part("pool", fail)}
    lines = list(parts.build([*broken.values()]))
    assert [line for line in lines if "was not made" in line] == [
        "pool was not made: the broker is away"
    ]
    assert parts.is_wanted()
    # What is there is not made again; what is missing is.
    assert list(parts.build([*made.values()])) == [f"{pool.NAME}: a pool with verdicts"]
    assert list(parts.build([*made.values()])) == []
    assert Pool.objects.get().reports.count() > 2 * len(pool.MACHINES)
    assert Audit.objects.get().survey == Survey.objects.get(name=surveys.NAME)
    for path, words in PAGES.items():
        reply = client.get(path)
        assert reply.status_code == 200, path
        assert words in reply.content.decode(), path
    for row in Recommendation.objects.all():
        assert client.get(f"/recommendations/{row.token}/").status_code == 200
    _check_surveys(client, world)
    assert traffic.NAME in client.get("/traffic/").content.decode()


def _check_surveys(client: Client, world: Any) -> None:
    """Zones and customers are known, and the comparison finds the moves, and no other."""
    before, after = (Survey.objects.get(name=name) for name in (surveys.EARLIER_NAME, surveys.NAME))
    page = client.get(f"/s/{after.slug}/reports/customers/").content.decode()
    assert "other country" in page or "another country" in page
    assert (after.finished_at - before.finished_at).days > 180
    moves = surveys.earlier_world(world)[1]
    compared = comparison.comparison(before, after)
    assert moves
    assert compared
    into_cloud = compared.flow("providers", "outside", "aws")
    came = [move for move in moves if move.before == ("", "") and move.after[0] == "aws"]
    assert (into_cloud["names"] if into_cloud else 0) == sum(len(move.names) for move in came)
    in_zones = sum(len(m.names) for m in moves if m.before[0])
    assert compared.sums["zones"]["changed"] <= in_zones
    assert compared.sums["regions"]["changed"] == sum(
        len(m.names) for m in moves if m.before[0] and m.before[0] == m.after[0]
    )


@pytest.mark.django_db
def test_a_store_with_other_data_stays_as_it_is(settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path
    Survey.objects.create(slug="own", name="Own", list_sha256="0" * 64, n_domains=1)
    assert not parts.is_wanted()
