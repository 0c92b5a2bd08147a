"""The export of an account has all of its data and none of another account."""

import io
import json
import zipfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tests.pages import cast
from tests.tasks.schedules import cast as schedule_cast
from webapp.store.access import sharing, tokens
from webapp.store.models import (
    AlertEndpoint,
    Campaign,
    Pool,
    PoolInstance,
    PoolReport,
    Recommendation,
    Survey,
)
from webapp.store.recommendations import services as recommendation_services
from webapp.store.screening import body_files, services
from webapp.store.screening.services import PoolSettings
from webapp.store.surveys.uploads import save_entries

pytestmark = [
    pytest.mark.django_db,
    # The test client is no server that waits for nobody.
    pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume"),
]


@pytest.fixture
def anna(settings: Any, tmp_path: Path) -> Any:
    settings.LAKE_DIR, settings.UPLOADS_DIR = tmp_path / "lake", tmp_path / "uploads"
    settings.DATA_DIR = tmp_path
    return get_user_model().objects.create_user("anna", password="a walnut on the shelf")


@pytest.fixture
def survey(anna: Any) -> Survey:
    mine = cast.atlas("Mine")
    Survey.objects.filter(pk=mine.pk).update(owner=anna, maker=anna)
    save_entries(mine.slug, [])
    return mine


@pytest.fixture
def answer(anna: Any) -> Recommendation:
    origin = recommendation_services.Origin(owner=anna)
    return recommendation_services.create({"samples": b"1,c,a,5\n"}, {}, origin)


@pytest.fixture
def pool(anna: Any) -> Pool:
    """With two reports, of which one is lost."""
    made = Pool.objects.get(pk=services.create_pool(anna, PoolSettings(name="Mine")).id)
    machine = PoolInstance.objects.create(pool=made, name="m")
    body = body_files.append(made.pk, [body_files.compress(b'{"stalls": 3}')])[0]
    for number, place in enumerate((body, replace(body, pack="lost.pack"))):
        PoolReport.objects.create(
            pool=made,
            instance=machine,
            report_id=f"r{number}",
            started_at=cast.THEN,
            received_at=cast.THEN,
            **asdict(place),
        )
    return made


def take_out(user: Any) -> zipfile.ZipFile:
    client = Client()
    client.force_login(user)
    assert client.get("/account/archive/").status_code == 405
    given = client.post("/account/archive/", headers={"Accept-Encoding": "gzip"})
    assert not given.has_header("Content-Encoding")
    assert "attachment" in given["Content-Disposition"]
    archive = zipfile.ZipFile(io.BytesIO(b"".join(given)))
    assert archive.testzip() is None
    return archive


def test_all_that_is_somebodys_comes_along(
    anna: Any, survey: Survey, answer: Recommendation, pool: Pool
) -> None:
    measured = Campaign.objects.create(slug="hers", name="Hers", maker=anna)
    for thing in (survey, measured):
        sharing.issue(anna, thing)
    archive = take_out(anna)
    names, base = archive.namelist(), f"surveys/{survey.slug}"
    assert {"account.json", f"{base}/survey.json", f"{base}/{survey.slug}.csv"} <= {*names}
    assert any(n.startswith(f"{base}/lake/") and n.endswith(".parquet") for n in names)
    assert archive.read(f"recommendations/{answer.token}/files/samples.csv") == b"1,c,a,5\n"
    assert archive.read(f"pools/{pool.key}/reports/r0.json") == b'{"stalls": 3}'
    assert b"lost" in archive.read(f"pools/{pool.key}/reports/r1.json")
    assert "campaigns/hers/campaign.json" in names
    links = json.loads(archive.read("account.json"))["links"]
    opened = [(link.get("campaign"), link.get("survey")) for link in links]
    assert opened == [("hers", None), (None, survey.slug)]
    assert not {"seed", "sha256"} & {key for link in links for key in link}


def test_alerts_come_along_without_their_secrets(anna: Any) -> None:
    schedule = schedule_cast.schedule(anna)
    hook = "https://hooks.example.com/services/T1/secret-path"
    endpoint = schedule_cast.endpoint(anna, hook, format="slack")
    AlertEndpoint.objects.update(previous_seed="seed-before")
    endpoint.refresh_from_db()
    schedule_cast.happen(schedule, 0, schedule_cast.change())
    archive = take_out(anna)
    kept = json.loads(archive.read(f"schedules/{schedule.slug}.json"))
    assert kept["request"]["domains"] == "alder.test\nbirch.test\n"
    assert [run["state"] for run in kept["runs"]] == ["compared"]
    assert [event["subject"] for event in kept["events"]] == ["alder.test"]
    text = archive.read(f"alert-endpoints/{endpoint.slug}.json").decode()
    (delivery,) = json.loads(text)["deliveries"]
    assert "alder.test" in json.dumps(delivery["payload"])
    for secret in ("secret-path", endpoint.seed, "seed-before"):
        assert secret not in text
    other = get_user_model().objects.create_user("bert")
    assert take_out(other).namelist() == ["account.json"]


def test_neither_keys_nor_others_things_are_in_it(
    anna: Any, survey: Survey, answer: Recommendation
) -> None:
    link, secret = recommendation_services.share(answer), tokens.issue(anna, "export", "read")[1]
    other = cast.atlas("Of others")
    archive = take_out(anna)
    assert not [n for n in archive.namelist() if other.slug in n]
    held = b"".join(archive.read(n) for n in archive.namelist() if n.endswith(".json"))
    answer.refresh_from_db()
    for word in (link, secret, answer.share_sha256, answer.share_seed, anna.password):
        assert word.encode() not in held
    assert Client().post("/account/archive/")["Location"].startswith("/sign-in/")
