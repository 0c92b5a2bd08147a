"""Pinned tables: an address that shows the same figures, whatever is computed later."""

import pytest

from webapp.store.accounts import deletion
from webapp.store.models import Report
from webapp.store.surveys import services, snapshots
from webapp.store.surveys.selectors import as_tables, reports

pytestmark = pytest.mark.django_db


@pytest.fixture
def atlas(settings, tmp_path, everyone):
    settings.LAKE_DIR = tmp_path / "lake"
    return everyone["atlas"]


def address(atlas, key):
    return f"/s/{atlas.slug}/reports/regions/?snapshot={key}"


def compute_again(atlas):
    tables = as_tables(reports(atlas.slug).values())
    lines = dict.fromkeys(tables, "Everything is different now")
    services.save_reports(atlas, tables, lines, [])


def test_it_works(client, atlas):
    page = client.get(f"/s/{atlas.slug}/reports/regions/").content.decode()
    key = snapshots.identify(reports(atlas.slug))
    assert f'href="?snapshot={key}"' in page
    first = client.get(address(atlas, key)).content.decode()
    assert f'Snapshot <span class="mono">{key}</span>' in first
    csv = f"/api/v1/surveys/{atlas.slug}/tables/regions.csv?snapshot={key}"
    assert csv in first
    cells = client.get(csv).content
    Report.objects.filter(survey=atlas, table_id="regions").update(rows=[])
    compute_again(atlas)
    assert (
        "Everything is different now"
        in client.get(f"/s/{atlas.slug}/reports/regions/").content.decode()
    )
    again = client.get(address(atlas, key)).content.decode()
    assert "Everything is different now" not in again
    assert "521,681" in again
    assert client.get(csv).content == cells
    assert snapshots.identify(reports(atlas.slug)) != key


@pytest.mark.parametrize("key", ["0" * 16, "x", "../../../etc/passwd", "0" * 15 + "/"])
def test_what_was_never_pinned_is_not_there(client, atlas, key):
    assert client.get(address(atlas, key)).status_code == 404
    table = f"/api/v1/surveys/{atlas.slug}/tables/regions.json"
    assert client.get(table, {"snapshot": key}).status_code == 404
    assert not snapshots.root().exists()


def test_a_snapshot_goes_with_its_survey(client, atlas):
    client.get(address(atlas, snapshots.identify(reports(atlas.slug))))
    assert len(list(snapshots.root().glob("*/*.json.gz"))) == 1
    deletion.remove_survey(atlas)
    assert not list(snapshots.root().iterdir())


def test_a_survey_without_tables_has_nothing_to_pin(client, everyone):
    page = client.get(f"/s/{everyone['running'].slug}/reports/regions/").content.decode()
    assert "Pin snapshot" not in page
