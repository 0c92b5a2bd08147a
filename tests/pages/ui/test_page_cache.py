"""Report pages are kept as they were sent, and never beyond their time."""

import gzip
import os
from typing import Any

from django.test import Client

from tests.pages import cast
from webapp.pages.ui.page_cache import KEPT_S, PageCache
from webapp.store.models import Report, Survey


def test_it_works(client: Client, db: Any) -> None:
    address = f"/s/{cast.atlas().slug}/reports/regions/"
    first = client.get(address)
    packed = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert packed["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == first.content
    again = client.get(address, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_tables_that_were_computed_again_are_shown(client: Client, db: Any) -> None:
    slug = cast.atlas().slug
    address = f"/s/{slug}/reports/regions/"
    assert "521,681" in client.get(address).content.decode()
    report = Report.objects.get(survey__slug=slug, table_id="regions")
    report.rows[0][3] = 123_456
    # As a report is stored: the old row goes, a new one comes.
    Report.objects.filter(pk=report.pk).delete()
    report.pk = None
    report.save()
    assert "123,456" in client.get(address).content.decode()


def test_a_running_survey_is_never_kept(client: Client, db: Any) -> None:
    answer = client.get(f"/s/{cast.running().slug}/reports/regions/")
    assert answer.status_code == 202
    assert "ETag" not in answer


def test_a_shelf_forgets_by_time_and_by_room() -> None:
    cache = PageCache(max_bytes=5_000)
    cache.store("a", 0.0, os.urandom(1_000))
    assert cache.get("a", KEPT_S) is not None
    assert cache.get("a", KEPT_S + 1) is None
    cache.store("b", 0.0, os.urandom(1_000))
    assert cache.get("a", 1.0) is not None  # used last, so the other one goes
    cache.store("c", 0.0, os.urandom(1_000))
    assert cache.get("b", 1.0) is None
    assert cache.get("a", 1.0) is not None


def test_the_overview_of_a_finished_survey_is_kept_and_a_running_one_is_not(
    client: Client, db: Any
) -> None:
    assert client.get(f"/s/{cast.atlas().slug}/")["ETag"]
    assert "ETag" not in client.get(f"/s/{cast.running().slug}/")


def test_a_cached_page_is_for_its_readers_only(
    client: Client, django_user_model: Any, db: Any
) -> None:
    anna = django_user_model.objects.create_user("anna", password="a long secret")
    survey = cast.atlas()
    address = f"/s/{survey.slug}/reports/regions/"
    assert client.get(address)["ETag"]
    Survey.objects.filter(pk=survey.pk).update(owner=anna, maker=anna)
    assert client.get(address).status_code == 404
    reader = Client()
    reader.force_login(anna)
    tag = reader.get(address)["ETag"]
    assert client.get(address, headers={"If-None-Match": tag}).status_code == 404
    Survey.objects.filter(pk=survey.pk).update(name="Another name")
    assert "Another name" in reader.get(address).content.decode()
