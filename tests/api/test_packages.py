"""``GET /surveys/ID/package``: the bytes of ``survey export``, for whoever may see the survey."""

import io

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tasks.surveys import observation
from tasks.surveys.packages import packing, rebuilding
from tasks.surveys.worlds import WorldOptions, create_world
from webapp.store.access import sharing, tokens
from webapp.store.models import Survey

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume"),
]
PATH = "/api/v1/surveys/spring/package"


@pytest.fixture
def survey(settings, tmp_path):
    for name in ("LAKE_DIR", "UPLOADS_DIR", "RANGES_DIR", "WORLDS_DIR"):
        setattr(settings, name, tmp_path / name)
    options = WorldOptions(name="audits", scale="1/60")
    return observation.observe_world(create_world(options), options, "Spring")


def body(answer):
    return b"".join(answer)


def test_the_bytes_are_those_of_the_command_with_length_and_tag(survey, tmp_path):
    package = packing.write_to(survey, tmp_path / "p.tar")
    answer = Client().get(PATH)
    data = body(answer)
    assert answer.status_code == 200
    assert data == (tmp_path / "p.tar").read_bytes()
    assert answer["Content-Length"] == str(len(data)) == str(package.size)
    assert answer["Content-Type"] == "application/x-tar"
    assert answer["Content-Disposition"] == 'attachment; filename="spring.nephoscope.tar"'
    assert answer["ETag"] == f'"{package.digest[:24]}"'
    again = Client().get(PATH, headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    link = Client().get("/api/v1/surveys/spring").json()["links"]["package"]
    assert link == PATH


def test_a_download_goes_on_where_it_broke(survey):
    whole = Client().get(PATH)
    data, tag = body(whole), whole["ETag"]
    for first in (1, 700, len(data) - 1):
        headers = {"Range": f"bytes={first}-", "If-Range": tag}
        rest = Client().get(PATH, headers=headers)
        assert rest.status_code == 206
        assert body(rest) == data[first:]
        assert rest["Content-Range"] == f"bytes {first}-{len(data) - 1}/{len(data)}"
        assert rest["Content-Length"] == str(len(data) - first)
    other = Client().get(PATH, headers={"Range": "bytes=9-", "If-Range": '"of-before"'})
    assert (other.status_code, body(other)) == (200, data)
    behind = Client().get(PATH, headers={"Range": f"bytes={len(data)}-"})
    assert (behind.status_code, behind["Content-Range"]) == (416, f"bytes */{len(data)}")
    for unknown in ("bytes=-5", "bytes=1-2", "lines=1-", "bytes=x-"):
        assert Client().get(PATH, headers={"Range": unknown}).status_code == 200


def test_a_private_survey_is_for_its_owner_and_for_readers_of_its_link(survey):
    anna, bert = (get_user_model().objects.create_user(name) for name in ("anna", "bert"))
    Survey.objects.update(owner=anna, maker=anna)
    link = sharing.path_of(sharing.issue(anna, survey))
    _, hers = tokens.issue(anna, "a", "read")
    _, his = tokens.issue(bert, "b", "read")
    never = Client().get("/api/v1/surveys/never/package")
    for secret in ("", his, "neph_wrong"):
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        answer = Client().get(PATH, headers=headers)
        assert answer.status_code in (401, 404), secret
        if secret != "neph_wrong":
            assert answer.status_code == never.status_code == 404
    data = body(Client().get(PATH, headers={"Authorization": f"Bearer {hers}"}))
    assert body(Client().get(f"{link.rstrip('/')}{PATH}")) == data
    assert b"anna" not in data
    Survey.objects.all().delete()
    rebuilding.shutil.rmtree(rebuilding._lake_folder("spring"))
    rebuilding.list_path("spring").unlink()
    assert rebuilding.rebuild(io.BytesIO(data)).differences == ()


def test_a_survey_without_a_report_has_no_package(survey):
    for state in ("running", "cancelled", "failed"):
        Survey.objects.update(state=state)
        answer = Client().get(PATH)
        assert answer.status_code == 409
        assert state in answer.json()["detail"]


def test_a_part_that_is_gone_is_a_problem_and_no_half_file(survey, settings):
    next((settings.LAKE_DIR / "spring" / "lookups").glob("*.parquet")).unlink()
    answer = Client(raise_request_exception=False).get(PATH)
    assert answer.status_code >= 400
    assert "observations/lookups" in answer.json()["detail"]
    page = Client().get("/s/spring/")
    assert page.status_code == 200
    assert b"raw-data" not in page.content


def test_the_page_says_what_is_in_it_how_large_and_how_to_cite_it(survey):
    text = Client().get("/s/spring/").content.decode()
    assert PATH in text
    size = packing.open_package(survey).size
    assert 0.9 * size < packing.describe(survey).size < 1.1 * size
    assert "survey rebuild spring.nephoscope.tar" in text
    assert "Cite it" in text
    for table in ("lookups", "domains", "placements", "fronts", "servers", "zones"):
        assert f'class="mono">{table}</th>' in text
    Survey.objects.update(state="running")
    assert "raw-data" not in Client().get("/s/spring/").content.decode()
