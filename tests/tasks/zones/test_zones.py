"""Zones end to end: vantage points of accounts with permuted labels, uploads, a survey's tables.

Nothing reads a file that was prepared by hand: the campaign, the uploads and the inference go the
way of the product, and the truth is that of the emulated Internet.
"""

import csv
import json
from collections import defaultdict
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client

from core.clock import FakeClock
from core.errors import MissingData
from lake.parts import part_path, parts_of
from tasks.campaigns import scheduler, synthetic
from tasks.surveys import derived, observation
from tasks.surveys.worlds import WorldOptions, create_world
from tasks.zones import campaign, celery_tasks
from testbed.campaigns.zone_probes import EmulatedCloud
from testbed.truth.observations import zone_rows
from webapp.store.models import Campaign, Survey, VantagePoint, ZoneInference, ZoneSource
from webapp.store.surveys import label_evidence, selectors
from webapp.store.zones import services

OPTIONS = WorldOptions("imc2013", "1/1000")
ACCOUNTS = ("shop", "blog", "bank")


class World:
    """A survey of an account, the truth, and the emulated cloud with its vantage points."""

    def __init__(self) -> None:
        world = create_world(OPTIONS)
        survey = observation.observe_world(world, OPTIONS, "Zoned")
        self.ada = get_user_model().objects.create_user("ada")
        Survey.objects.filter(pk=survey.pk).update(owner=self.ada, maker=self.ada)
        self.survey = Survey.objects.get(pk=survey.pk)
        self.truth = {r["address"]: (r["region"], r["zone"]) for r in zone_rows(world)}
        self.cloud = EmulatedCloud(self.truth.values(), ACCOUNTS)
        synthetic.save_emulated_zones(self.truth)
        self.client = Client()
        self.client.force_login(self.ada)

    def join(self) -> None:
        rows = [
            VantagePoint(
                name=p.name,
                state="joined",
                source="synthetic",
                detail={
                    "cloud": {
                        "provider": "aws",
                        "region": p.region,
                        "zone": p.label,
                        "account": p.account,
                    },
                    synthetic.ZONE: p.zone,
                },
            )
            for p in self.cloud.probes()
        ]
        VantagePoint.objects.bulk_create(rows)

    def run_campaigns(self) -> None:
        clock, waiting = FakeClock(), []
        outlets = scheduler.Outlets(
            {"synthetic": lambda point, order, _: waiting.append((point.name, order))},
            lambda task, row: scheduler.store_report(row, clock),
        )
        for _ in range(200):
            scheduler.tick(clock, outlets)
            clock.sleep(20.0)
            for name, order in waiting:
                synthetic.measure(name, order.as_json())
            waiting.clear()
            if not Campaign.objects.filter(finished_at=None).exists():
                return
        raise AssertionError("the campaigns do not end")

    def upload(self, kind: str, head: tuple[str, ...], rows: list[Any]) -> Any:
        text = "\n".join(",".join(map(str, row)) for row in [head, *rows])
        return self.client.post(
            f"/api/v1/surveys/{self.survey.slug}/zones/observations",
            {"kind": kind, "name": f"{kind}.csv", "text": text},
            content_type="application/json",
        )

    def upload_all(self) -> None:
        own = self.cloud.instances(12)
        done = self.upload("samples", ("region", "account", "zone", "address"), own)
        assert done.status_code == 202, done.content
        internal = self.cloud.internal_addresses(self.truth)
        rows = [(self.truth[a][0], a, b) for a, b in internal.items()]
        done = self.upload("targets", ("region", "target", "internal"), rows)
        assert done.status_code == 202, done.content

    def infer(self) -> ZoneInference:
        celery_tasks.queue_waiting()
        celery_tasks.run(ZoneInference.objects.get(survey=self.survey).pk)
        return ZoneInference.objects.get(survey=self.survey)

    def score(self) -> tuple[int, int, int]:
        """Known targets, those with a zone, and those with a wrong one."""
        row = ZoneInference.objects.get(survey=self.survey)
        names: dict[tuple[str, str], str] = {}
        for found in row.summary["accounts"]:
            true = {
                label: zone
                for (a, r, zone), label in self.cloud.labels.items()
                if (a, r) == (found["account"], found["region"])
            }
            for label, zone in found["zones"].items():
                known = names.setdefault((found["region"], zone), true[label])
                assert known == true[label], f"{found['account']} {label} is merged wrongly"
        rows = label_evidence.zones_of(self.survey.slug, self.truth)
        placed = [r for r in rows if r["zone"]]
        wrong = [
            r for r in placed if names.get((r["region"], r["zone"])) != self.truth[r["address"]][1]
        ]
        return len(rows), len(placed), len(wrong)


@pytest.fixture
def world(db: None, settings: Any, tmp_path: Any, monkeypatch: Any) -> World:
    # There is no broker: tests run what a sweep leaves in the queue.
    monkeypatch.setattr(celery_tasks, "queue_lost", lambda *_: None)
    settings.DATA_DIR, settings.LAKE_DIR = tmp_path, tmp_path / "lake"
    settings.WORLDS_DIR, settings.UPLOADS_DIR = tmp_path / "worlds", tmp_path / "uploads"
    settings.RANGES_DIR = tmp_path / "ranges"
    return World()


def test_it_works(world: World) -> None:
    world.join()
    started = campaign.measure(world.survey, world.ada)
    assert all(row.synthetic and row.owner == world.ada for row in started)
    world.run_campaigns()
    # By round trips alone: labels of three accounts are merged, and some twelve in a hundred
    # addresses are silent.
    assert world.infer().state == "finished"
    n, placed, wrong = world.score()
    assert n == len(world.truth)
    assert placed / n >= 0.75, (placed, n)
    assert wrong / placed <= 0.01, (wrong, placed)
    # With own instances, which the accounts upload.
    world.upload_all()
    done = world.infer()
    n, placed, wrong = world.score()
    assert placed / n >= 0.87, (placed, n)
    assert wrong / placed <= 0.01, (wrong, placed)
    # The report has them, and a name's page shows the evidence with its age.
    assert selectors.report(world.survey.slug, "zone-usage").n > 0  # type: ignore[union-attr]
    # A name without an address is asked for, too.
    rows, none = (label_evidence.zones_of(world.survey.slug, a) for a in (world.truth, ()))
    by_votes = next(r for r in rows if r["zone"] and r["found"]["votes"])
    assert by_votes["found"]["prefix"].endswith(("/16", "/20", "/24"))
    assert (any(r["found"]["rtts"] for r in rows), none) == (True, [])
    page = world.client.get(f"/s/{world.survey.slug}/zones/").content.decode()
    assert "addresses have a known zone" in page
    assert "Labels of accounts" in page
    check_domains_by_zone(world)
    # A repeated campaign is new evidence; without one, nothing is inferred again.
    celery_tasks.queue_waiting()
    assert services.INFERENCES.waiting() == []
    again = started[0]
    Campaign.objects.create(
        slug="again",
        name="Again",
        maker=again.maker,
        owner=again.owner,
        synthetic=True,
        targets=again.targets,
        vantages=again.vantages,
        state="finished",
        finished_at=done.finished_at,
    )
    celery_tasks.queue_waiting()
    assert ZoneSource.objects.filter(kind="campaign", name="again").exists()
    assert services.INFERENCES.waiting() == [(done.pk, 0)]


def check_domains_by_zone(world: World) -> None:
    """The domains of each zone on page, API and in the export, beside a count of the parts."""
    slug = world.survey.slug
    # Without the index the parts are read, with it one column of it.
    crowding = world.client.get(f"/api/v1/surveys/{slug}/zones").json()["crowding"]
    derived.index_survey(world.survey)
    zone_of = {r["address"]: (r["region"], r["zone"]) for r in rows_of(slug, "zones") if r["zone"]}
    expected: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows_of(slug, "placements"):
        if row["kind"] == "cloud" and row["address"] in zone_of:
            expected[zone_of[row["address"]]].add(row["domain"])
    assert len(crowding) >= 10
    for zone in crowding[:4]:
        domains = expected[zone["region"], zone["zone"]]
        assert zone["low"] <= zone["share"] <= zone["high"]
        assert zone["domains"] == len(domains)
        place = {k: zone[k] for k in ("provider", "region", "zone")}
        found = world.client.get(f"/api/v1/surveys/{slug}/domains", place).json()
        assert found["total"] == len(domains)
        text = world.client.get(f"/api/v1/surveys/{slug}/domains.csv", place).content.decode()
        assert {row["domain"] for row in csv.DictReader(text.splitlines())} == domains
    most = crowding[0]
    link = f"?in={most['provider']}.{most['region']}%3A{most['zone']}"
    page = world.client.get(f"/s/{slug}/zones/").content.decode()
    assert "more domains than an even share" in page
    assert link in page
    listed = world.client.get(f"/s/{slug}/domains/{link}").content.decode()
    assert f"domains.csv?provider={most['provider']}" in listed
    assert f"zone {most['zone']} of {most['region']}" in " ".join(listed.split())
    # A name in the zone leads to it; others see nothing of a private survey.
    name = next(
        r["name"]
        for r in rows_of(slug, "placements")
        if zone_of.get(r["address"]) == (most["region"], most["zone"])
    )
    assert "Domains in this zone" in world.client.get(f"/s/{slug}/names/{name}/").content.decode()
    for address in (f"/s/{slug}/domains/{link}", f"/api/v1/surveys/{slug}/domains.csv"):
        assert Client().get(address).status_code == 404


def rows_of(slug: str, table: str) -> list[dict[str, Any]]:
    paths = parts_of(settings.LAKE_DIR, slug, table)
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def test_bad_files_are_refused_by_page_and_api_with_their_line(world: World) -> None:
    reply = world.upload("samples", ("account", "zone", "address"), [("a", "b", "10.1.2")])
    assert (reply.status_code, json.loads(reply.content)["detail"][:6]) == (422, "line 2")
    page = world.client.post(
        f"/s/{world.survey.slug}/zones/", {"action": "upload", "kind": "samples"}
    )
    assert page.status_code == 422
    assert "hoose a file" in page.content.decode()
    assert ZoneSource.objects.count() == 0


def test_others_read_a_published_survey_and_change_nothing(world: World) -> None:
    world.upload_all()
    address = f"/s/{world.survey.slug}/zones/"
    bob = Client()
    bob.force_login(get_user_model().objects.create_user("bob"))
    assert bob.get(address).status_code == 404
    Survey.objects.filter(pk=world.survey.pk).update(owner=None)
    page = bob.get(address).content.decode()
    assert "A file" in page
    assert "samples.csv" not in page
    assert bob.post(address, {"action": "infer"}).status_code == 403
    api = f"/api/v1/surveys/{world.survey.slug}/zones"
    assert bob.get(api).json()["sources"] == []
    assert [s["kind"] for s in world.client.get(api).json()["sources"]] == ["samples", "targets"]
    assert bob.post(f"{api}/measure").status_code in (403, 404)


def test_without_vantage_points_in_zones_the_reason_is_given(world: World) -> None:
    with pytest.raises(MissingData, match="no vantage point is in a zone"):
        campaign.measure(world.survey, world.ada)
    row = services.request(world.survey)
    celery_tasks.run(row.pk)
    row.refresh_from_db()
    assert (row.state, row.error[:9]) == ("failed", "no source")


def test_a_removed_source_goes_with_its_file_and_a_survey_with_all(world: World) -> None:
    world.upload_all()
    folder = services.folder_of(world.survey.slug)
    assert len(list(folder.iterdir())) == 2
    source = ZoneSource.objects.get(kind="targets")
    api = f"/api/v1/surveys/{world.survey.slug}/zones/observations"
    assert world.client.delete(f"{api}?source={source.pk}").status_code == 204
    assert len(list(folder.iterdir())) == 1
    assert world.client.delete(f"/api/v1/surveys/{world.survey.slug}").status_code == 204
    assert not folder.exists()
    assert not part_path(folder.parent, world.survey.slug, "zones", "x").exists()
