"""A survey's raw data as one file: what is in it, what is not, and what a hostile one leaves."""

import hashlib
import io
import json
import re
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.conf import settings as site
from django.contrib.auth import get_user_model
from django.db import transaction

from core.errors import BadInput, Damaged, MissingData, Unavailable
from core.release import VERSION
from lake.packages import member_of, write_package
from lake.schemas import SCHEMAS
from tasks.surveys import export, observation, study
from tasks.surveys.packages import packing, rebuilding
from tasks.surveys.worlds import WorldOptions, create_world
from webapp.store.access import sharing, tokens
from webapp.store.models import RangeTable, Report, Shard, Survey
from webapp.store.ranges import tables
from webapp.store.surveys import external

SECRETS = (
    "anna.secret",
    "contact-secret@example.net",
    "203.0.113.77",
    "/srv/secret/words.txt",
    "secret-key-of-a-request",
    "secret-host:4711",
    "import-secret.txt",
)
FOLDERS = ("LAKE_DIR", "UPLOADS_DIR", "RANGES_DIR", "WORLDS_DIR")


@pytest.fixture(scope="module")
def whole(django_db_setup, django_db_blocker, tmp_path_factory):
    """The package of a survey of an account with secrets of all kinds; its rows are gone again."""
    folder, before = tmp_path_factory.mktemp("origin"), [getattr(site, name) for name in FOLDERS]
    for name in FOLDERS:
        setattr(site, name, folder / name)
    try:
        with django_db_blocker.unblock(), transaction.atomic():
            options = WorldOptions(name="audits", scale="1/30")
            survey = observation.observe_world(create_world(options), options, "Spring")
            study.attach_customers(survey.slug, b"domain,country\nd1.example,DE\n")
            plant_secrets(survey)
            package = packing.open_package(survey)
            data = b"".join(package.chunks())
            assert len(data) == package.size
            report = export.report_json(export.survey_document(survey.slug))
            names = "".join(export.names_csv(survey.slug))
            transaction.set_rollback(True)
    finally:
        for name, path in zip(FOLDERS, before, strict=True):
            setattr(site, name, path)
    return data, report, names


def plant_secrets(survey):
    anna = get_user_model().objects.create_user("anna.secret", password="s", email=SECRETS[1])
    tokens.issue(anna, "anna.secret", "write")
    Survey.objects.filter(pk=survey.pk).update(
        maker=anna,
        idempotency_key="secret-key-of-a-request",
        options={
            **survey.options,
            "contact": "contact-secret@example.net",
            "name_servers": ["203.0.113.77"],
            "allowed_networks": ["203.0.113.77/32"],
            "imports": ["/srv/secret/import-secret.txt"],
            "wordlist": ["/srv/secret/words.txt"],
            "ct_server": "https://anna.secret:pw@203.0.113.77/",
        },
    )
    survey.refresh_from_db()
    sharing.issue(anna, survey)
    counters = {**survey.shards.get().counters, "waits": "secret-host:4711"}
    survey.shards.update(worker="secret-host:4711", counters=counters)


@pytest.fixture
def empty(settings, tmp_path, db):
    """An installation without surveys or range tables; returns its folder."""
    for name in FOLDERS:
        setattr(settings, name, tmp_path / name)
    return tmp_path


def rebuild(data, **more):
    return rebuilding.rebuild(io.BytesIO(data), **more)


def members_of(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive}


def change(data, **files):
    """The package with other files, and a manifest that agrees with them."""
    found = members_of(data) | {name: content for name, content in files.items() if content}
    document = json.loads(found["manifest.json"])
    for row in document["files"]:
        content = found[row["path"]]
        row |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return repack(found, document)


def repack(files, document):
    text = json.dumps(document, sort_keys=True, indent=1) + "\n"
    found = {name: files[name] for name in sorted(files) if name != "manifest.json"}
    members = [member_of("manifest.json", text.encode())]
    return b"".join(write_package(members + [member_of(*item) for item in found.items()]))


def part_of(data, table="domains"):
    return next(name for name in members_of(data) if name.startswith(f"observations/{table}/"))


def traces(folder):
    """All that a rebuild could leave: rows and files."""
    models = (Survey, Shard, Report, RangeTable)
    files = sorted(str(p) for p in Path(folder).rglob("*") if p.is_file())
    return [model.objects.count() for model in models], files


def test_a_rebuilt_survey_has_the_same_report_and_the_same_package(whole, empty):
    data, report, names = whole
    found = rebuild(data)
    assert (found.slug, found.differences, found.made_by) == ("spring", (), VERSION)
    assert export.report_json(export.survey_document("spring")) == report
    assert "".join(export.names_csv("spring")) == names
    survey = Survey.objects.get()
    assert (survey.maker, survey.owner) == (None, None)
    assert b"".join(packing.open_package(survey).chunks()) == data
    study.recompute(survey)
    assert export.report_json(export.survey_document("spring")) == report


def test_nothing_of_accounts_or_machines_is_in_a_package(whole, tmp_path):
    files = members_of(whole[0])
    texts = {name: data for name, data in files.items() if not name.endswith(".parquet")}
    for name, data in files.items():
        if name.endswith(".parquet"):
            texts[name] = json.dumps(pq.read_table(pa.BufferReader(data)).to_pylist(), default=str)
            texts[name] = (
                texts[name].encode() + pq.read_schema(pa.BufferReader(data)).to_string().encode()
            )
    for secret in SECRETS:
        assert [name for name, text in texts.items() if secret.encode() in text] == []
    assert b"secret" not in b"".join(texts.values())
    # What would be found, is: the search sees every file.
    assert all(b"example" in texts[name] for name in ("domains.csv", "report.json"))


def test_the_manifest_says_what_each_file_is(whole):
    files = members_of(whole[0])
    document = json.loads(files.pop("manifest.json"))
    assert document["software"] == {"name": "nephoscope", "version": VERSION}
    assert set(document["tables"]) == set(SCHEMAS)
    assert {row["path"] for row in document["files"]} == set(files)
    for row in document["files"]:
        content = files[row["path"]]
        assert row["sha256"] == hashlib.sha256(content).hexdigest()
        if row["rows"] is not None:
            assert pq.read_table(pa.BufferReader(content)).num_rows == row["rows"]
    providers = {(t["provider"], t["as_of"]) for t in document["range_tables"]}
    assert {provider for provider, _ in providers} == {"aws", "azure", "google"}


def test_ranges_of_a_package_are_in_force_for_no_other_survey(whole, empty):
    rebuild(whole[0])
    assert RangeTable.objects.count() == 3
    for origin in ("", "audits@1/30#1"):
        with pytest.raises(MissingData):
            tables.tables_in_force(origin)
    assert {t.origin for t in RangeTable.objects.all()} == {f"{external.PACKAGED}audits@1/30#1"}


def test_ranges_that_are_here_are_used(whole, empty):
    world = create_world(WorldOptions(name="audits", scale="1/30"))
    from tasks.surveys.worlds import publish

    publish(world, WorldOptions(name="audits", scale="1/30"))
    rebuild(whole[0])
    assert RangeTable.objects.count() == 3
    assert Survey.objects.get().range_tables.filter(origin="audits@1/30#1").count() == 3


def test_a_name_that_is_taken_needs_another(whole, empty):
    rebuild(whole[0])
    before = traces(empty)
    with pytest.raises(BadInput, match="--slug"):
        rebuild(whole[0])
    assert traces(empty) == before
    owner = get_user_model().objects.create_user("bert")
    found = rebuild(whole[0], slug="spring-again", owner=owner)
    assert (found.slug, found.differences) == ("spring-again", ())
    assert Survey.objects.get(slug="spring-again").owner == owner


@pytest.mark.parametrize("slug", ["../up", ".derived", "drafts", "A b", "x" * 121])
def test_a_name_that_is_no_folder_of_a_survey_is_refused(whole, empty, slug):
    with pytest.raises(BadInput, match="slug"):
        rebuild(whole[0], slug=slug)
    assert traces(empty) == ([0] * 4, [])


def test_a_report_that_is_another_is_said_and_kept(whole, empty):
    document = json.loads(members_of(whole[0])["report.json"])
    document["tables"]["regions"]["headline"] = "Something else"
    document["world"] = "elsewhere"
    changed = json.dumps(document, indent=1, sort_keys=True).encode()
    found = rebuild(change(whole[0], **{"report.json": changed}))
    assert found.differences == ("regions", "world")
    assert Survey.objects.count() == 1


def entry(name, kind=tarfile.REGTYPE, size=0, link=""):
    head = tarfile.TarInfo(name)
    head.type, head.size, head.linkname = kind, size, link
    return head.tobuf(tarfile.PAX_FORMAT if len(name) > 100 else tarfile.USTAR_FORMAT)


def after_manifest(data):
    size = json.loads(json.dumps(len(members_of(data)["manifest.json"])))
    return 512 + size + -size % 512


def with_second(data, head):
    """The package with another header in the place of the second member's."""
    at = after_manifest(data)
    return data[:at] + head + data[at + 512 :]


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (entry("../../etc/passwd", size=9), r"domains.csv.*a file '\.\./\.\./etc/passwd'"),
        (entry("/etc/passwd", size=9), "domains.csv.*'/etc/passwd'"),
        (entry("domains.csv", tarfile.SYMTYPE, link="/etc/passwd"), "a symbolic link"),
        (entry("domains.csv", tarfile.LNKTYPE, link="manifest.json"), "a hard link"),
        (entry("domains.csv", tarfile.CHRTYPE), "a device"),
        (entry("domains.csv", tarfile.DIRTYPE), "a folder"),
        (entry("domains.csv", tarfile.GNUTYPE_LONGNAME, size=8**10), "another kind"),
        (entry("domains.csv", tarfile.XHDTYPE, size=8**10), "another kind"),
        (entry("domains.csv", size=8**10), "of 1,073,741,824 bytes"),
        (b"\0" * 512, "something that is no file"),
        (b"\xff" * 512, "something that is no file"),
    ],
)
def test_an_archive_of_other_entries_is_refused_and_nothing_is_left(whole, empty, head, words):
    with pytest.raises(BadInput, match=words):
        rebuild(with_second(whole[0], head[:512]))
    assert traces(empty) == ([0] * 4, [])
    assert not list(empty.parent.glob("etc"))


def test_a_cut_package_is_refused_at_every_member(whole, empty):
    data = whole[0]
    for at in [0, 1, 511, 512, 700, *range(1_000, len(data), len(data) // 12), len(data) - 1]:
        with pytest.raises(BadInput, match=r"cut off|package"):
            rebuild(data[:at])
    with pytest.raises(BadInput, match="more than its manifest"):
        rebuild(data + b"\0" * 512)
    assert traces(empty) == ([0] * 4, [])


def test_a_changed_byte_of_any_file_is_named(whole, empty):
    data, at = whole[0], after_manifest(whole[0])
    for name, content in members_of(data).items():
        if name == "manifest.json":
            continue
        place = at + 512 + len(content) // 2
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises(BadInput, match=f"{re.escape(name)}: is damaged"):
            rebuild(changed)
        at += 512 + len(content) + -len(content) % 512
    assert traces(empty) == ([0] * 4, [])


def parquet(table, **more):
    sink = io.BytesIO()
    pq.write_table(table, sink, write_page_checksum=True, **more)
    return sink.getvalue()


def read_part(data, name):
    return pq.read_table(pa.BufferReader(members_of(data)[name]))


def test_a_foreign_column_is_named(whole, empty):
    name = part_of(whole[0])
    table = read_part(whole[0], name)
    for changed, words in (
        (table.append_column("password", pa.array(["x"] * len(table))), "'password', unknown"),
        (table.set_column(1, "rank", pa.array(["x"] * len(table))), "'rank' is string"),
        (table.slice(1), "9 rows instead of 10"),
    ):
        with pytest.raises(BadInput, match=f"{re.escape(name)}: .*{words}"):
            rebuild(change(whole[0], **{name: parquet(changed)}))
    with pytest.raises(BadInput, match="no sound Parquet file"):
        rebuild(change(whole[0], **{name: b"PAR1 but not really PAR1"}))
    assert traces(empty) == ([0] * 4, [])


def test_a_part_that_unpacks_to_too_much_is_refused(whole, empty):
    name = part_of(whole[0])
    table = read_part(whole[0], name)
    # 40 MB of one letter for each row: some kilobytes in the file.
    bomb = table.set_column(0, "domain", pa.array(["a" * 40_000_000] * len(table)))
    packed = parquet(bomb, compression="zstd")
    assert len(packed) < 200_000
    with pytest.raises(BadInput, match=f"{re.escape(name)}: (its rows are larger|unpacks to)"):
        rebuild(change(whole[0], **{name: packed}))
    assert traces(empty) == ([0] * 4, [])


def edited(data, edit):
    document = json.loads(members_of(data)["manifest.json"])
    edit(document)
    return repack(members_of(data), document)


def put(*path_and_value):
    *path, last, value = path_and_value

    def edit(document):
        for step in path:
            document = document[step]
        document[last] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (put("format", "zip"), "format"),
        (put("version", 2), "version 2"),
        (put("survey", "slug", "../../up"), "survey.slug"),
        (put("survey", "slug", ".derived"), "survey.slug"),
        (put("survey", "owner", 1), "survey.owner"),
        (put("survey", "n_domains", -1), "survey.n_domains"),
        (put("survey", "n_domains", 11), "domains.csv: has 10 domains"),
        (put("survey", "state", "running"), "survey.state"),
        (put("files", 0, "path", "../domains.csv"), "not a file of a package"),
        (put("files", 0, "bytes", 10**15), "files.0.bytes"),
        (put("files", 0, "sha256", "00"), "files.0.sha256"),
        (put("files", []), "not among the files"),
        (put("shards", 0, "key", "../x"), "shards.0.key"),
        (put("shards", 0, "rows", "domains", 99), "not a file of a package"),
        (put("shards", 0, "last", 2_000), "behind the end"),
        (put("range_tables", 0, "provider", "../aws"), "range_tables.0.provider"),
        (put("range_tables", 0, "provider", "nimbus"), "not a file of a package"),
        (put("range_tables", 0, "sha256", "ab" * 32), "not a file of a package"),
        (put("extra", 1), "extra"),
    ],
)
def test_a_manifest_that_lies_is_refused_by_its_field(whole, empty, edit, words):
    with pytest.raises(BadInput, match=words):
        rebuild(edited(whole[0], edit))
    assert traces(empty) == ([0] * 4, [])


@pytest.mark.parametrize("text", [b"", b"{", b"[" * 100_000, b"\xff", b"null", b'{"format": 1}'])
def test_a_manifest_that_is_none_is_refused(empty, text):
    data = b"".join(write_package([member_of("manifest.json", text)]))
    with pytest.raises(BadInput, match="manifest.json"):
        rebuild(data)
    assert traces(empty) == ([0] * 4, [])


def test_other_files_are_no_package(empty):
    for data in (b"", b"hello", b"PK\x03\x04" + b"\0" * 600, entry("a", size=9) + b"x" * 600):
        with pytest.raises(BadInput):
            rebuild(data)
    huge = entry("manifest.json", size=8**11 - 1)
    with pytest.raises(BadInput, match=r"manifest.json: is larger"):
        rebuild(huge)


def test_lines_of_the_list_and_ranges_are_checked(whole, empty):
    domains = members_of(whole[0])["domains.csv"]
    second = domains.replace(b"d1.example", b"d1.ex<b>ple", 1)
    for changed in (second, domains.replace(b"1,", b"one,", 1), domains + b"11,x.example\r\n"):
        with pytest.raises(BadInput, match=r"domains\.csv: line \d+: "):
            rebuild(change(whole[0], **{"domains.csv": changed}))
    report = b'{"tables": []}'
    with pytest.raises(BadInput, match=r"report\.json"):
        rebuild(change(whole[0], **{"report.json": report}))
    assert traces(empty) == ([0] * 4, [])


def test_room_on_the_disk_is_looked_at_first(whole, empty, settings):
    settings.MIN_FREE_MB = 10**9
    with pytest.raises(Unavailable):
        rebuild(whole[0])
    assert traces(empty) == ([0] * 4, [])


def test_only_a_survey_with_a_report_is_packaged(whole, empty):
    rebuild(whole[0])
    Survey.objects.update(state="cancelled")
    with pytest.raises(BadInput, match="cancelled"):
        packing.open_package(Survey.objects.get())
    Survey.objects.update(state="finished")
    Path(site.UPLOADS_DIR, "spring.csv").unlink()
    with pytest.raises(MissingData, match="domains.csv is gone"):
        packing.open_package(Survey.objects.get())


def test_a_part_that_changes_is_hashed_again(whole, empty):
    rebuild(whole[0])
    survey = Survey.objects.get()
    before = packing.open_package(survey).digest
    assert packing.open_package(survey).digest == before
    study.attach_customers("spring", b"domain,country\nd2.example,FR\n")
    assert packing.open_package(survey).digest != before


def test_a_range_file_that_was_changed_is_not_packaged(whole, empty):
    rebuild(whole[0])
    next(Path(site.RANGES_DIR, "aws").glob("*.raw")).write_bytes(b"{}")
    with pytest.raises(Damaged, match="ranges/aws/.* is not the file of its range table"):
        packing.open_package(Survey.objects.get())
