"""Uploads that one machine stores and another reads, through object storage, and what is left."""

import hashlib
import os
import random
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import OperationalError
from django.utils import timezone

from core.errors import BadInput, MissingData, Unavailable
from core.paths import PROJECT
from tasks.platform import leased_rows
from tasks.recommendations import latency_model
from tasks.traffic import uploads
from tests.cartography.traffic.logs import ALICE, VIRGINIA, conn, header
from webapp.store.audits import findings
from webapp.store.leases import MAX_ATTEMPTS
from webapp.store.models import Audit, StoredFile, Survey, TrafficUpload
from webapp.store.object_storage import bucket, files, nameless
from webapp.store.ranges import fetching
from webapp.store.ranges.tables import import_ranges
from webapp.store.screening import body_files
from webapp.store.surveys import drafts
from webapp.store.traffic import services
from webapp.store.vantages import network_search
from webapp.store.zones import services as zones

pytestmark = pytest.mark.django_db
MIB = 2**20
CONN = header("conn") + conn("C1", ALICE, VIRGINIA, service="ssl")


@pytest.fixture
def anna(django_user_model):
    return django_user_model.objects.create_user("anna")


@pytest.fixture
def web(machine):
    """A web server with a range table; the function that changes the machine."""
    machine("web")
    data = (PROJECT / "fixtures" / "ranges" / "aws-sample.json").read_bytes()
    import_ranges("aws", data, file_name="aws-sample.json")
    return machine


def keys():
    return {found.key for found in bucket.list_objects()}


def upload(owner, text=CONN, name="campus"):
    return services.create(owner, name, [services.SentFile("conn.log", [text.encode()])], {})


def holds(folder, text):
    files_below = (path for path in Path(folder).rglob("*") if path.is_file())
    return [path for path in files_below if text.encode() in path.read_bytes()]


def test_a_log_is_imported_by_another_machine_and_its_object_is_gone(web, anna, tmp_path):
    row = upload(anna)
    (stored,) = StoredFile.objects.filter(path__startswith="traffic-uploads")
    assert stored.key in keys()
    web("worker")
    uploads.run(row.pk)
    row.refresh_from_db()
    assert (row.state, row.error) == ("finished", "")
    assert not StoredFile.objects.filter(path__startswith="traffic-uploads").exists()
    assert keys() == set(StoredFile.objects.values_list("key", flat=True))
    assert not holds(tmp_path, ALICE)
    web("web")
    document = uploads.read_visible(row.slug, anna)
    assert document["clouds"]["aws"]["flows"] == 1
    assert uploads.log_import.read_report(row.slug, 3)["tables"] == document["tables"]
    web("second web")
    assert uploads.list_visible(anna) == [row.slug]
    assert uploads.list_visible(None) == []


def test_an_import_deleted_elsewhere_is_shown_to_nobody(web, anna, django_user_model):
    row = upload(anna)
    uploads.run(row.pk)
    web("second web")
    assert uploads.read_visible(row.slug, anna)
    services.delete(row)
    # The first web server has its copy, and no row says any more that it is private.
    web("web")
    assert (services.import_folder(row) / "report.json").is_file()
    for reader in (anna, None, django_user_model.objects.create_user("bert")):
        assert uploads.list_visible(reader) == []
        with pytest.raises(MissingData):
            uploads.read_visible(row.slug, reader)


@pytest.mark.parametrize("is_shared", [True, False])
def test_an_import_that_a_killed_process_left_stays_hidden_and_is_removed(
    web, anna, settings, is_shared
):
    settings.LAKE_URL = settings.LAKE_URL if is_shared else ""
    row = upload(anna)
    uploads.run(row.pk)
    # As if the process had been killed amid ``delete``.
    TrafficUpload.objects.all().delete()
    assert uploads.list_visible(None) == []
    with pytest.raises(MissingData):
        uploads.read_visible(row.slug, None)
    services.remove_orphans()
    assert uploads.log_import.has_import(row.slug)
    grow_old()
    services.remove_orphans()
    assert not uploads.log_import.has_import(row.slug)
    assert not services.import_folder(row).exists()


def grow_old():
    """As if all files had been written two hours ago."""
    past = time.time() - 7_200
    StoredFile.objects.update(modified_ns=past * 1e9)
    for folder in (services.imports_root(), services._uploads_root()):
        for path in folder.glob("*"):
            os.utime(path, (past, past))


def test_files_without_an_upload_and_of_ended_ones_are_erased_with_their_objects(machine, anna):
    machine("web")
    upload(anna, name="one").delete()
    second = upload(anna, name="two")
    services.UPLOADS.claim(second.pk)
    second.attempt = 1
    assert services.UPLOADS.fail(second, "no log")
    third = upload(anna, name="three")
    services.remove_orphans()
    assert len(keys()) == 3
    grow_old()
    services.remove_orphans()
    (left,) = StoredFile.objects.all()
    assert third.slug in left.path
    assert keys() == {left.key}


def refuse(*_):
    raise Unavailable("the object storage does not answer")


def test_a_storage_that_is_away_lets_an_upload_wait_and_does_not_use_up_attempts(
    web, anna, monkeypatch
):
    row = upload(anna)
    with monkeypatch.context() as outage:
        outage.setattr(bucket, "download", refuse)
        for _ in range(MAX_ATTEMPTS + 1):
            uploads.run(row.pk)
            row.refresh_from_db()
            assert (row.state, row.attempt) == ("waiting", 0)
    uploads.run(row.pk)
    row.refresh_from_db()
    assert (row.state, row.attempt) == ("finished", 1)
    late = upload(anna, name="late")
    TrafficUpload.objects.filter(pk=late.pk).update(requested_at=timezone.now() - timedelta(days=2))
    monkeypatch.setattr(bucket, "download", refuse)
    uploads.run(late.pk)
    late.refresh_from_db()
    assert (late.state, "object storage" in late.error) == ("failed", True)


def test_a_database_that_is_away_lets_an_upload_wait(web, anna, monkeypatch):
    row = upload(anna)

    def lose(*_):
        raise OperationalError("server closed the connection unexpectedly")

    with monkeypatch.context() as outage:
        outage.setattr(uploads.log_import, "write_import", lose)
        outage.setattr(leased_rows, "close_old_connections", lambda: None)
        uploads.run(row.pk)
    row.refresh_from_db()
    assert (row.state, row.attempt) == ("waiting", 0)
    uploads.run(row.pk)
    row.refresh_from_db()
    assert row.state == "finished"


def test_the_largest_upload_passes_in_bounded_memory(machine, anna, tmp_path):
    machine("web")
    pieces = (random.Random(n).randbytes(MIB) for n in range(64))
    digest = hashlib.sha256()
    before = reset_peak()
    row = services.create(anna, "large", [services.SentFile("big.pcap", pieces)], {})
    machine("worker")
    with services.open_files(row) as [(path, name)]:
        assert name == "big.pcap"
        with path.open("rb") as file:
            while piece := file.read(MIB):
                digest.update(piece)
        # No name is left that a killed worker would leave behind.
        assert not [p for p in tmp_path.rglob("*") if p.is_file()]
    assert digest.hexdigest() == row.files[0]["sha256"]
    assert peak() - before < 40 * MIB


def reset_peak():
    """Bytes in memory now, from which the peak counts again."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak():
    status = Path("/proc/self/status").read_text().splitlines()
    (line,) = (one for one in status if one.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def test_a_file_that_is_not_in_the_manifest_is_named(machine, anna):
    machine("web")
    row = upload(anna)
    files.erase(services._uploads_root() / row.slug)
    uploads.run(row.pk)
    row.refresh_from_db()
    assert (row.state, row.error) == ("failed", "the stored file conn.log is gone")


def test_reports_of_agents_are_read_on_other_machines(machine):
    machine("web")
    bodies = [body_files.compress(text) for text in (b'{"a": 1}', b'{"b": 2}')]
    places = body_files.append(7, bodies) + body_files.append(7, bodies[:1])
    machine("worker")
    assert [body_files.read_document(7, place) for place in places] == [
        {"a": 1},
        {"b": 2},
        {"a": 1},
    ]
    files.remove(body_files.folder_of(7))
    with pytest.raises((OSError, ValueError)):
        body_files.read(7, places[0])


def test_plans_and_searches_are_there_on_every_web_server(machine, monkeypatch):
    machine("web")
    key = drafts.save_draft(b"shop.example\n", "192.0.2.1")
    search = network_search.create_search({"network": "ripe-atlas"})
    machine("second web")
    assert drafts.load_draft(key) == b"shop.example\n"
    found = network_search.load(search["key"])
    network_search.save(found | {"state": network_search.READY})
    machine("web")
    assert network_search.load(search["key"])["state"] == network_search.READY
    for _ in range(drafts.MOST_OF_SENDER):
        drafts.save_draft(b"news.example\n", "192.0.2.1")
    with pytest.raises(BadInput, match="send the list again"):
        drafts.load_draft(key)
    assert StoredFile.objects.filter(folder="uploads/drafts").count() == drafts.MOST_OF_SENDER
    later = timezone.now() + drafts.KEPT + timedelta(minutes=1)
    monkeypatch.setattr(timezone, "now", lambda: later)
    machine("third web")
    drafts.save_draft(b"late.example\n", "192.0.2.2")
    assert StoredFile.objects.filter(folder="uploads/drafts").count() == 1


def test_what_another_machine_wrote_is_replaced_in_the_manifest_too(machine):
    """Observations of zones, and findings of an attempt that ended on another machine."""
    machine("web")
    survey = Survey.objects.create(slug="shops", name="shops", n_domains=1)
    source = zones.add_file(survey, "samples", "own.csv", b"a", 1)
    machine("second web")
    again = zones.add_file(survey, "samples", "own.csv", b"bb", 1)
    assert [zones.read_file(again)] == [b"bb"]
    assert source.pk == again.pk
    assert StoredFile.objects.filter(folder="zone-observations/shops").count() == 1
    audit = Audit(slug="nightly", attempt=1)
    files.write(findings.path_of(audit), b"1")
    machine("third")
    audit.attempt = 2
    files.write(findings.path_of(audit), b"2")
    findings.drop_others(audit, keep_own=True)
    (left,) = StoredFile.objects.filter(folder="audits/nightly")
    assert left.path.endswith("findings-2.parquet")


def test_results_of_range_fetching_and_the_model_of_paths_reach_the_web_servers(machine):
    machine("sweeps")
    visit = fetching.FetchResult("aws", "https://x.example", fetching.Outcome.NEW, timezone.now())
    path = fetching._state_path("visits", "aws https://x.example")
    files.write(path, fetching.json.dumps(visit.as_json()).encode())
    files.write(latency_model._path(), b"no model")
    machine("web")
    assert [found.provider for found in fetching.last_results()] == ["aws"]
    with pytest.raises(latency_model.Damaged, match="fit the model again"):
        latency_model.current_model()


def test_copies_of_everything_leave_out_what_is_read_once(machine, anna, settings):
    machine("web")
    upload(anna)
    drafts.save_draft(b"x", "a")
    settings.DATA_DIR = machine("backup").parent
    files.fetch_all(settings.DATA_DIR)
    assert [path.parent.name for path in settings.DATA_DIR.rglob("*") if path.is_file()] == [
        "drafts"
    ]


def test_a_nameless_file_can_be_written_and_read_by_its_path(tmp_path):
    with nameless.new_file(tmp_path / "new") as path:
        path.write_bytes(b"abc")
        assert path.read_bytes() == b"abc"
        assert path.stat().st_size == 3
    assert not path.exists()
    assert not list((tmp_path / "new").iterdir())
