"""Uploads of traffic logs by page and API: to a report, refused by field, and private."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from core.paths import PROJECT
from tasks.platform import leased_rows
from tasks.traffic import uploads
from tests.cartography.traffic.logs import ALICE, AZURE, BOB, VIRGINIA, conn, header, row
from webapp.store.access import tokens
from webapp.store.accounts import deletion, export
from webapp.store.models import TrafficUpload
from webapp.store.ranges.tables import import_ranges
from webapp.store.traffic import services

API = "/api/v1/captures"
CONN = header("conn") + "".join(
    (
        conn("C1", ALICE, VIRGINIA, service="ssl"),
        conn("C2", BOB, AZURE, service="http", resp_p=80),
        "C3\tcut\n",
    )
)
SSL = header("ssl") + row(
    "ssl", uid="C1", orig_h=ALICE, resp_h=VIRGINIA, server_name="a.shop.example"
)


@pytest.fixture
def queued(db: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What was queued, instead of a broker; with range tables of two clouds."""
    settings.DATA_DIR = tmp_path
    for provider, name, day in (
        ("aws", "aws-sample.json", None),
        ("azure", "azure-tags-sample.json", "2024-06-24"),
    ):
        data = (PROJECT / "fixtures" / "ranges" / name).read_bytes()
        as_of = uploads.date.fromisoformat(day) if day else None
        import_ranges(provider, data, as_of=as_of, file_name=name)
    found: list[int] = []
    monkeypatch.setattr(leased_rows, "queue", lambda task, pk: found.append(pk))
    return found


@pytest.fixture
def anna(db: Any) -> Any:
    return get_user_model().objects.create_user("anna")


@pytest.fixture
def own(anna: Any) -> Client:
    client = Client()
    client.force_login(anna)
    return client


def sent(**texts: str) -> list[SimpleUploadedFile]:
    """A conn.log packed by gzip, other logs plain."""
    files = {name: text.encode() for name, text in texts.items()}
    if "conn" in files:
        files["conn.log.gz"] = gzip.compress(files.pop("conn"))
    return [SimpleUploadedFile(n if "." in n else f"{n}.log", data) for n, data in files.items()]


def upload(client: Client, callbacks: Any, files: Any, path: str = API, **more: Any) -> Any:
    headers = more.pop("headers", {})
    with callbacks(execute=True):
        return client.post(path, {"files": files, **more}, headers=headers)


def test_logs_become_a_capture_and_no_address_of_a_client_is_kept(
    own: Client, queued: list[int], django_capture_on_commit_callbacks: Any, tmp_path: Path
) -> None:
    files = sent(conn=CONN, ssl=SSL)
    answer = upload(
        own, django_capture_on_commit_callbacks, files, "/traffic/new/", name="Campus, July"
    )
    assert answer.status_code == 302
    page = answer["Location"]
    assert "Waiting for a worker" in own.get(page).content.decode()
    assert "Campus, July" in own.get("/traffic/").content.decode()
    uploads.run(queued[0])
    text = own.get(page).content.decode()
    assert "shop.example" in text
    assert "1 wrong number of columns (line 10)" in text
    assert own.get(f"{page}progress/")["HX-Refresh"] == "true"
    for path in tmp_path.rglob("*"):
        if path.is_file() and "range" not in str(path):
            assert ALICE.encode() not in path.read_bytes(), path
    assert not list((tmp_path / "traffic-uploads").iterdir())


def test_by_api_it_is_polled_read_and_deleted(
    anna: Any, queued: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    secret = {"Authorization": f"Bearer {tokens.issue(anna, 'cron', 'write')[1]}"}
    headers = {**secret, "Idempotency-Key": "july"}
    client = Client()
    answers = [
        upload(
            client,
            django_capture_on_commit_callbacks,
            sent(conn=CONN),
            client_networks="10.0.0.0/8",
            headers=headers,
        )
        for _ in range(2)
    ]
    assert [a.status_code for a in answers] == [202, 202]
    first, again = (a.json() for a in answers)
    assert first["capture"] == again["capture"]
    assert first["client_networks"] == ["10.0.0.0/8"]
    other = upload(client, django_capture_on_commit_callbacks, sent(ssl=SSL), headers=headers)
    assert other.json()["type"].endswith("idempotency-key-reused")
    uploads.run(queued[0])
    state = client.get(answers[0]["Location"], headers=secret).json()
    assert (state["status"], state["progress"]) == ("finished", 1.0)
    name = first["capture"]
    found = client.get(f"{API}/{name}", headers=secret).json()
    assert found["clouds"]["aws"]["flows"] == 1
    assert found["logs"][0]["path"] == "conn.log.gz"
    assert client.get(f"{API}/{name}/tables/traffic-clouds.csv", headers=secret).status_code == 200
    assert client.get(API, headers=secret).json()["results"] == [name]
    assert client.delete(f"{API}/{name}", headers=secret).status_code == 204
    assert client.get(f"{API}/{name}", headers=secret).status_code == 404
    assert not services.imports_root().joinpath(name).exists()


def test_others_find_what_they_find_for_nothing(
    own: Client, queued: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    name = upload(own, django_capture_on_commit_callbacks, sent(conn=CONN)).json()["capture"]
    bert = Client()
    bert.force_login(get_user_model().objects.create_user("bert"))
    for is_imported in (False, True):
        if is_imported:
            uploads.run(queued[0])
        for client in (bert, Client()):
            assert name not in client.get("/traffic/").content.decode()
            assert client.get(API).json()["results"] == []
            for path in (
                "/traffic/{}/",
                "/traffic/{}/progress/",
                f"{API}/{{}}",
                f"{API}/{{}}/tables/traffic-clouds.csv",
            ):
                theirs, none = (client.get(path.format(n)) for n in (name, "none"))
                assert theirs.status_code == none.status_code == 404
                assert theirs.content.replace(name.encode(), b"none") == none.content
        assert bert.post(f"/traffic/{name}/delete/").status_code == 404
        assert bert.delete(f"{API}/{name}").status_code == 404
    assert TrafficUpload.objects.get().state == "finished"


@pytest.mark.parametrize(
    ("files", "values", "field", "words"),
    [
        ([], {}, "files", ""),
        ({"conn": CONN}, {"client_networks": "10.0.0.0/99"}, "client_networks", "10.0.0.0/99"),
        ({"conn": CONN}, {"as_of": "yesterday"}, "as_of", "yesterday"),
        ({f"l{n}.log": CONN for n in range(13)}, {}, "files", "12"),
    ],
)
def test_a_refusal_names_the_field_and_keeps_nothing(
    own: Client,
    queued: list[int],
    django_capture_on_commit_callbacks: Any,
    tmp_path: Path,
    files: Any,
    values: dict[str, str],
    field: str,
    words: str,
) -> None:
    for path in (API, "/traffic/new/"):
        given = sent(**files) if files else []
        answer = upload(own, django_capture_on_commit_callbacks, given, path, **values)
        assert answer.status_code == 422, path
        if path == API:
            assert answer.json()["field"] == field
        else:
            assert f'id="id_{field}-error"' in answer.content.decode()
        assert words in answer.content.decode()
    assert not queued
    assert not list(tmp_path.glob("traffic-uploads/*"))


def test_what_is_no_log_fails_with_its_name(
    own: Client, queued: list[int], django_capture_on_commit_callbacks: Any, tmp_path: Path
) -> None:
    noise = random.Random(1).randbytes(5_000)
    name = upload(
        own, django_capture_on_commit_callbacks, [SimpleUploadedFile("../../holiday.jpg", noise)]
    ).json()["capture"]
    uploads.run(queued[0])
    state = own.get(f"{API}/{name}/upload").json()
    assert state["status"] == "failed"
    assert "holiday.jpg" in state["error"]
    assert str(tmp_path) not in state["error"]
    assert "holiday.jpg" in own.get(f"/traffic/{name}/").content.decode()
    assert not services.import_folder(TrafficUpload.objects.get()).exists()
    assert not list((tmp_path / "traffic-uploads").iterdir())


def test_a_gzip_bomb_ends_at_the_limit(
    own: Client,
    queued: list[int],
    django_capture_on_commit_callbacks: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(uploads, "MAX_PLAIN_BYTES", 2**20)
    bomb = [
        SimpleUploadedFile(f"{n}.log.gz", gzip.compress(CONN.encode() + b"#" * 600_000))
        for n in range(2)
    ]
    upload(own, django_capture_on_commit_callbacks, bomb)
    uploads.run(queued[0])
    assert "1 MiB unpacked" in TrafficUpload.objects.get().error


def test_limits_of_an_account(
    own: Client, queued: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    for _ in range(services.MAX_OPEN):
        assert upload(own, django_capture_on_commit_callbacks, sent(conn=CONN)).status_code == 202
    refused = upload(own, django_capture_on_commit_callbacks, sent(conn=CONN))
    assert (refused.status_code, refused.json()["type"].rpartition("/")[2]) == (409, "conflict")


def test_it_is_in_the_export_of_the_account_and_goes_with_it(
    anna: Any, own: Client, queued: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    name = upload(own, django_capture_on_commit_callbacks, sent(conn=CONN)).json()["capture"]
    uploads.run(queued[0])
    found = dict(export.members(anna))
    assert json.loads(found[f"captures/{name}/upload.json"])["name"] == "conn"
    assert f"captures/{name}/report.json" in found
    folder = services.imports_root() / name
    assert folder.is_dir()
    deletion.remove_account(anna)
    assert not folder.exists()


def test_one_that_is_deleted_amid_its_import_leaves_nothing(
    own: Client,
    queued: list[int],
    django_capture_on_commit_callbacks: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    upload(own, django_capture_on_commit_callbacks, sent(conn=CONN))
    row = TrafficUpload.objects.get()
    whole = uploads.log_import.write_import

    def import_and_delete(*given: Any) -> Any:
        found = whole(*given)
        services.delete(row)
        services.import_folder(row).mkdir(parents=True)
        return found

    monkeypatch.setattr(uploads.log_import, "write_import", import_and_delete)
    uploads.run(queued[0])
    assert not services.import_folder(row).exists()
