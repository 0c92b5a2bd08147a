"""Pages of audits: what they say, what they lead to, and what forms do."""

import re
from datetime import timedelta
from io import BytesIO
from xml.etree import ElementTree

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from tests.pages import cast
from tests.pages.audits import audit_cast
from webapp.store.access import sharing
from webapp.store.audits import findings, lists
from webapp.store.models import Audit, AuditSuppression, SavedList, SavedPolicy, Survey
from webapp.store.surveys.services import Requester


@pytest.fixture
def survey(db, settings, tmp_path):
    settings.LAKE_DIR, settings.UPLOADS_DIR = tmp_path / "lake", tmp_path / "uploads"
    settings.DATA_DIR, settings.MAX_ACTIVE_SURVEYS_PER_USER = tmp_path, 10
    settings.NAME_SERVERS = ["127.0.0.1:9"]
    return cast.atlas("Atlas")


@pytest.fixture
def anna(survey):
    return get_user_model().objects.create_user("anna")


@pytest.fixture
def client(anna):
    client = Client()
    client.force_login(anna)
    return client


@pytest.fixture
def audit(survey, anna):
    return audit_cast.audit(survey, Requester(user=anna), name="Shops")


def test_the_page_says_how_the_audit_went_and_leads_to_the_observations(client, audit):
    page = client.get(f"/audits/{audit.slug}/").content.decode()
    document = findings.read_document(audit)
    failing = {f["subject"] for f in document["findings"] if f["severity"] == "high"}
    n = document["summary"]["domains"]
    assert f"{len(failing)} of {n} domains fail the resilience policy" in page
    assert "never counted as a pass" in page
    for rule in {f["rule"] for f in document["findings"]}:
        assert rule in page
    assert "expired on 2020-01-01" in page
    links = set(re.findall(r'href="(/s/atlas/[^"]+)"', page))
    assert links
    for link in links:
        assert client.get(link).status_code == 200, link


def test_every_finding_is_in_the_list_and_has_a_page(client, audit):
    base = f"/audits/{audit.slug}/findings/"
    total = sum(group["n"] for group in audit.groups)
    page = client.get(base).content.decode()
    assert f"{total} rows" in page
    for row in range(total):
        assert client.get(f"{base}{row}/").status_code == 200
    assert client.get(f"{base}{total}/").status_code == 404
    one = findings.read_rows(audit, 0, 1)[0]
    query = {"rule": one["rule"], "category": "finding", "subject": one["subject"]}
    assert one["message"] in client.get(base, query).content.decode()
    assert "No results" in " ".join(client.get(base, {"subject": "zzz"}).content.decode().split())


def test_a_finding_is_accepted_on_its_page(client, audit, anna):
    address = f"/audits/{audit.slug}/findings/0/"
    stored = findings.read_rows(audit, 0, 1)[0]
    given = {"reason": "board of May", "owner": "anna", "expires": "2099-01-01"}
    refused = client.post(address, {**given, "expires": "tomorrow"})
    assert refused.status_code == 422
    assert "Expires" in refused.content.decode()
    assert client.post(address, given)["Location"] == "/audits/suppressions/?changed=new"
    row = AuditSuppression.objects.get(owner=anna)
    assert (row.rule, row.fingerprint) == (stored["rule"], stored["fingerprint"])
    shown = client.get("/audits/suppressions/").content.decode()
    assert "board of May" in shown
    later = audit_cast.audit(audit.survey, Requester(user=anna))
    assert [
        r["category"]
        for r in findings.read_places(
            later, findings.places(later, findings.Filter(fingerprint=stored["fingerprint"]))
        )
    ] == ["suppressed"]
    assert client.post(f"/audits/suppressions/{row.pk}/delete/").status_code == 302
    assert not AuditSuppression.objects.exists()
    assert Client().post(address, given).status_code == 404


def test_the_form_shows_the_cost_first_and_then_starts_the_audit(client, survey, anna):
    form = client.get("/audits/new/").content.decode()
    assert "No single point of failure" in form
    plan = client.post(
        "/audits/new/",
        {"domains": "a.example\nbad_\nb.example", "policy": "resilience", "name": "Two"},
    ).content.decode()
    assert "2 domains" in plan
    assert not Audit.objects.exists()
    hidden = dict(re.findall(r'name="(\w+)"\s+value="([^"]*)"', plan))
    answer = client.post("/audits/run/", hidden)
    row = Audit.objects.get()
    assert answer["Location"] == f"/audits/{row.slug}/"
    assert (row.name, row.owner, row.survey.n_domains) == ("Two", anna, 2)
    assert "First 2 domains" in client.get(answer["Location"]).content.decode()
    # The same form sent twice starts one audit.
    assert client.post("/audits/run/", hidden)["Location"] == answer["Location"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"policy": "default"}, "Paste at least one domain"),
        ({"policy": "default", "survey": "atlas", "domains": "a.example"}, "domains once"),
        ({"policy": "no-such", "survey": "atlas"}, "Select a valid choice"),
        ({"policy": "default", "domains": "???"}, "no usable"),
    ],
)
def test_what_cannot_be_audited_is_said_beside_its_field(client, survey, given, words):
    answer = client.post("/audits/new/", given)
    assert answer.status_code == 422
    assert words in answer.content.decode()


def test_a_policy_file_is_refused_with_its_line(client, survey):
    sent = BytesIO(b'version = 1\nname = "x"\n[rules.single-regoin]\n')
    sent.name = "policy.toml"
    given = {"policy": "default", "survey": "atlas", "policy_file": sent}
    answer = client.post("/audits/new/", given)
    assert answer.status_code == 422
    assert "ine 3: rules.single-regoin: there is no such rule" in answer.content.decode()


def test_lists_are_saved_changed_and_deleted(client, anna):
    answer = client.post("/audits/lists/", {"name": "Shops", "domains": "a.example\nb.example"})
    row = SavedList.objects.get()
    assert answer["Location"] == f"/audits/lists/{row.slug}/"
    page = client.get(answer["Location"]).content.decode()
    assert "a.example\nb.example" in page
    client.post(answer["Location"], {"name": "Shops", "domains": "a.example"})
    row.refresh_from_db()
    assert (row.version, lists.read_list(row)) == (2, b"a.example")
    assert client.post("/audits/lists/", {"name": "", "domains": "a.example"}).status_code == 422
    assert client.post("/audits/lists/", {"name": "x", "domains": "???"}).status_code == 422
    assert "Shops" in client.get("/audits/new/").content.decode()
    assert client.post(f"{answer['Location']}delete/").status_code == 302
    assert not SavedList.objects.exists()


def test_policies_are_saved_with_an_error_that_names_the_line(client, anna):
    bad = client.post(
        "/audits/policies/", {"document": 'version = 1\nname = "x"\nfoo = 1\n[rules.no-caa]'}
    )
    assert bad.status_code == 422
    assert "Line 3" in bad.content.decode()
    good = client.post("/audits/policies/", {"document": audit_cast.POLICY.decode()})
    row = SavedPolicy.objects.get()
    assert good["Location"] == f"/audits/policies/{row.slug}/"
    assert row.name == "Resilience"
    client.post(good["Location"], {"name": "Ours", "document": row.document + "\n# more\n"})
    row.refresh_from_db()
    assert (row.name, row.version) == ("Ours", 2)
    assert client.post("/audits/policies/default/", {"document": "x"}).status_code == 404
    assert client.post(f"{good['Location']}delete/").status_code == 302


def test_what_waits_and_what_failed_say_so(client, survey, anna):
    made = audit_cast.everyone(survey, cast.atlas("Later"))
    waits = client.get(f"/audits/{made['waiting_audit'].slug}/").content.decode()
    assert "waits for a worker" in waits
    failed = client.get(f"/audits/{made['failed_audit'].slug}/").content.decode()
    assert "Its survey ended as failed" in failed
    assert client.get(f"/audits/{made['failed_audit'].slug}/findings/").status_code == 404
    after = client.get(f"/audits/{made['audited'].slug}/").content.decode()
    assert f'href="/audits/{made["audited_before"].slug}/"' in after


def test_evidence_of_a_survey_that_went_private_leads_nowhere(client, survey, anna):
    public = audit_cast.audit(survey, Requester(user=anna, is_public=True))
    bert = get_user_model().objects.create_user("bert")
    Survey.objects.filter(pk=survey.pk).update(owner=bert, maker=bert)
    page = Client().get(f"/audits/{public.slug}/").content.decode()
    assert "/s/atlas/" not in page
    document = Client().get(f"/api/v1/audits/{public.slug}").json()
    assert document["source"]["survey"] is None


def test_a_public_audit_is_shown_on_other_sites(client, survey, anna):
    row = audit_cast.audit(survey, Requester(user=anna, is_public=True), name="<b>Shops</b>")
    anybody, base = Client(), f"/audits/{row.slug}/"
    badge = anybody.get(f"{base}badge.svg")
    assert badge["Content-Type"] == "image/svg+xml"
    assert badge["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert badge["Cache-Control"] == "public, max-age=300"
    high = row.report["summary"]["by_severity"]["high"]
    title = ElementTree.fromstring(badge.content)[0].text
    assert title.startswith(f"audit: resilience: {high} high, ")
    assert title.endswith("not judged · today")
    same = anybody.get(f"{base}badge.svg", headers={"If-None-Match": badge["ETag"]})
    assert (same.status_code, same.content) == (304, b"")
    embed = anybody.get(f"{base}embed/")
    assert "frame-ancestors *" in embed["Content-Security-Policy"]
    assert "X-Frame-Options" not in embed.headers
    assert "&lt;b&gt;Shops" in embed.content.decode()
    page = anybody.get(base)
    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
    assert page["X-Frame-Options"] == "DENY"
    assert f"http://testserver{base}badge.svg" in page.content.decode()


def test_a_private_audit_is_shown_on_other_sites_by_a_link_alone(client, audit, anna):
    base = f"/audits/{audit.slug}/"
    for name in ("badge.svg", "embed/"):
        assert Client().get(base + name).status_code == 404
        own = client.get(base + name)
        assert "frame-ancestors 'none'" in own["Content-Security-Policy"]
        assert "public" not in own.get("Cache-Control", "")
    assert "Show it on another site" not in client.get(base).content.decode()
    link = sharing.path_of(sharing.issue(anna, audit))
    shared = Client().get(f"{link.rstrip('/')}{base}embed/")
    assert "frame-ancestors *" in shared["Content-Security-Policy"]
    # A link opens one audit: the newest of the list is another one.
    before = Client().get(f"{link.rstrip('/')}{base}badge.svg")
    assert before["Cache-Control"] == "private, no-cache"
    audit_cast.audit(audit.survey, Requester(user=anna), policy=audit_cast.CLEAN)
    after = Client().get(f"{link.rstrip('/')}{base}badge.svg?newest=1")
    assert after.content == before.content
    assert client.get(f"{base}badge.svg?newest=1").content != before.content


def test_an_expired_suppression_is_marked(client, anna):
    AuditSuppression.objects.create(
        owner=anna,
        rule="no-caa",
        subject="*.shop.example",
        reason="until May",
        accepted_by="anna",
        expires=timezone.now().date() - timedelta(days=1),
    )
    assert "ended" in client.get("/audits/suppressions/").content.decode()
