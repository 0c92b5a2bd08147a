"""The lake in object storage: what one machine writes, another reads, checks and deletes."""

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from analysis.reporting import survey_tables
from core.errors import BadInput, Damaged, MissingData, Unavailable
from lake import parts
from tests.analysis.deployment.world_cast import CAST, SURVEY, write_lake
from tests.audits.test_evaluation import audit as evaluated
from tests.audits.test_evaluation import facts
from tests.store.s3_server import BUCKET
from webapp.store.audits import findings, lists
from webapp.store.models import Audit, StoredFile
from webapp.store.object_storage import bucket, files
from webapp.store.recommendations import services as recommendations
from webapp.store.surveys import derived, uploads

pytestmark = pytest.mark.django_db


def objects():
    return {found.key: found.size for found in bucket.list_objects()}


def run(*words):
    call_command("lake", *words)


def test_what_one_machine_wrote_is_the_report_of_another(machine):
    lake = write_lake(machine("first"), CAST)
    here = survey_tables.compute_tables(lake, SURVEY)
    there = machine("second")
    assert not there.exists()
    assert survey_tables.compute_tables(there, SURVEY) == here
    written, copied = (
        {p.relative_to(root): p.read_bytes() for p in root.rglob("*.parquet")}
        for root in (lake, there)
    )
    assert copied == written
    assert StoredFile.objects.count() == len(written) == len(objects())


def test_a_current_copy_is_not_fetched_again_and_an_older_one_is(machine, monkeypatch):
    first = machine("first")
    path = parts.part_path(first, "s", "zones", "brought")
    row = {"region": "r", "zone": "z", "method": "", "confidence": 1.0, "reason": ""}
    parts.write_part(path, "zones", [row | {"address": "192.0.2.1"}])
    second = machine("second")
    (copy,) = parts.parts_of(second, "s", "zones")
    fetched = []
    get = bucket.download
    monkeypatch.setattr(bucket, "download", lambda *a: fetched.append(a) or get(*a))
    parts.parts_of(second, "s", "zones")
    assert fetched == []
    machine("first")
    parts.write_part(path, "zones", [row | {"address": "192.0.2.2"}])
    machine("second")
    assert parts.parts_of(second, "s", "zones") == [copy]
    assert parts.read_part(copy, "zones")["address"].to_pylist() == ["192.0.2.2"]
    assert len(fetched) == 1


def test_a_damaged_object_is_refused_and_leaves_no_file(machine, server):
    write_lake(machine("first"), CAST)
    row = StoredFile.objects.filter(path__contains="/lookups/").first()
    with server.client().open_output_stream(bucket._path(row.key)) as file:
        file.write(b"x" * row.size)
    second = machine("second")
    with pytest.raises(Damaged, match=row.key):
        parts.parts_of(second, SURVEY, "lookups")
    assert not (second.parent / row.path).exists()
    run("verify")
    with pytest.raises(CommandError, match="1 of"):
        run("verify", "--contents")
    bucket.delete(row.key)
    with pytest.raises(MissingData, match=row.key):
        parts.parts_of(second, SURVEY, "lookups")
    with pytest.raises(CommandError, match="1 of"):
        run("verify")


def test_a_storage_that_is_away_keeps_nothing_half(machine, settings):
    lake = machine("first")
    settings.LAKE_URL = f"s3://{BUCKET}/x?endpoint=http://127.0.0.1:1"
    with pytest.raises(Unavailable, match="object storage"):
        write_lake(lake, CAST)
    assert not list(lake.rglob("*.parquet"))
    assert not StoredFile.objects.exists()


def test_garbage_is_what_no_row_has_named_for_the_grace(machine):
    lake = write_lake(machine("first"), CAST)
    kept = StoredFile.objects.exclude(folder__endswith="/lookups")
    files.unregister(lake / SURVEY / "lookups")
    now, before = timezone.now(), objects()
    assert files.collect_garbage(now).objects == 0
    assert objects() == before
    removed = files.collect_garbage(now + files.GRACE + timedelta(minutes=1))
    assert removed.objects == len(before) - kept.count() > 0
    assert set(objects()) == set(kept.values_list("key", flat=True))
    assert list(files.find_faults(with_contents=True)) == []


def test_a_folder_that_was_there_before_is_uploaded_once(machine, settings, capsys):
    url, settings.LAKE_URL = settings.LAKE_URL, ""
    parts.set_storage()
    lake = write_lake(machine("first"), CAST)
    uploads.save_entries("spring", [])
    (lake / ".derived").mkdir()
    (lake / ".derived" / "made-again").write_text("x")
    with pytest.raises(CommandError, match="NEPHOSCOPE_LAKE_URL"):
        run("status")
    settings.LAKE_URL = url
    parts.set_storage(files)
    n = len(list(lake.rglob("*.parquet"))) + 1
    run("push", "--json")
    assert json.loads(capsys.readouterr().out) == {"uploaded": n}
    run("push", "--json")
    assert json.loads(capsys.readouterr().out) == {"uploaded": 0}
    shutil.rmtree(lake)
    run("fetch")
    assert len(list(lake.rglob("*.parquet"))) == n - 1


@pytest.mark.parametrize(
    "url", ["http://bucket", "s3://", "s3://b?endpoint=host:1", "s3://k:s@b", "s3://b?zone=x"]
)
def test_a_setting_that_names_no_bucket_is_refused(url):
    with pytest.raises(BadInput, match="NEPHOSCOPE_LAKE_URL"):
        bucket.Location.parse(url)


def test_without_the_setting_nothing_is_asked(settings, tmp_path):
    settings.LAKE_URL, settings.DATA_DIR = "", tmp_path
    files.publish(Path("nowhere"), tmp_path / "x")
    files.fetch(tmp_path / "x")
    files.unregister(tmp_path / "x")
    assert not StoredFile.objects.exists()


def test_a_folder_of_derived_files_is_built_once_for_all_machines(machine):
    machine("first")
    place = derived.Derived(derived.root() / "spring" / "index-1")
    assert not place.is_ready
    with place.build() as folder:
        (folder / "part").mkdir()
        (folder / "part" / "names").write_text("a")
    machine("second")
    there = derived.Derived(derived.root() / "spring" / "index-1")
    assert there.folder != place.folder
    assert not there.folder.exists()
    assert there.is_ready
    assert (there.folder / "part" / "names").read_text() == "a"
    files.unregister(derived.root() / "spring")
    machine("third")
    assert not derived.Derived(derived.root() / "spring" / "index-1").is_ready


def test_files_of_audits_lists_and_recommendations_need_no_shared_folder(
    machine, django_user_model
):
    owner = django_user_model.objects.create_user("oregon")
    machine("first")
    saved = lists.create_list(owner, "shops", b"shop.example\n")
    row = recommendations.create({"latency": b"vantage,region,ms\n"}, {"k": 1})
    machine("second")
    assert lists.read_list(saved) == b"shop.example\n"
    (path,) = recommendations.paths_of(row).values()
    assert path.read_bytes() == b"vantage,region,ms\n"
    lists.delete_list(saved)
    recommendations.delete(row)
    assert not StoredFile.objects.exists()


def test_findings_are_read_where_they_were_not_written(machine):
    audit = Audit(slug="nightly", attempt=1, fail_on="high")
    machine("first")
    findings.write(audit, evaluated(facts()))
    written = findings.read_document(audit)
    machine("second")
    findings._file.cache_clear()
    assert not findings.folder_of("nightly").exists()
    assert findings.read_document(audit) == written
    findings.drop_others(audit, keep_own=False)
    assert not StoredFile.objects.exists()
