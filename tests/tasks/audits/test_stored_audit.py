"""Audits of the store: what may be named, what is stored, what the next one compares with."""

import json
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import OperationalError
from django.utils import timezone

from audits.output.document import as_document, as_json, parse_report
from core.errors import BadInput
from core.statuses import SurveyState
from tasks.audits import stored_audit
from tasks.audits.audit import run_audit
from tasks.audits.submission import NewAudit, start_audit
from tasks.platform import leased_rows
from tests.pages import cast
from webapp.pages.audits import wording
from webapp.store.accounts import deletion
from webapp.store.audits import findings, lists, policies, selectors, services
from webapp.store.models import Audit, Survey
from webapp.store.requests.idempotency import KeyReused
from webapp.store.surveys.services import ANONYMOUS, Requester

POLICY = b"""version = 1
name = "own"
[data]
max_age_days = 100000
[rules.single-region]
[rules.single-dns-operator]
[rules.no-caa]
"""


@pytest.fixture
def survey(db, settings, tmp_path):
    settings.LAKE_DIR, settings.UPLOADS_DIR = tmp_path / "lake", tmp_path / "uploads"
    settings.DATA_DIR, settings.MAX_ACTIVE_SURVEYS_PER_USER = tmp_path, 10
    return cast.atlas("Atlas")


@pytest.fixture
def anna(db):
    return get_user_model().objects.create_user("anna")


@pytest.fixture
def bert(db):
    return get_user_model().objects.create_user("bert")


def judged(row):
    """The audit after a worker had it."""
    claimed = services.claim(row.pk)
    assert claimed is not None
    # The world of this survey is not asked for records.
    assert stored_audit.run(claimed, in_worker=False)
    row.refresh_from_db()
    return row


def test_a_database_that_ends_a_connection_delays_an_audit_and_does_not_fail_it(
    survey, monkeypatch
):
    row = start(survey)

    def lose(*_):
        raise OperationalError("server closed the connection unexpectedly")

    with monkeypatch.context() as outage:
        outage.setattr(stored_audit, "run_audit", lose)
        # The connection of a test is in a transaction, which may not be closed.
        outage.setattr(leased_rows, "close_old_connections", lambda: None)
        assert not stored_audit.run(services.claim(row.pk), in_worker=False)
        row.refresh_from_db()
        assert (row.state, row.attempt) == (Audit.State.QUEUED, 0)
        assert "server closed the connection" in row.error
        Audit.objects.update(
            leased_until=timezone.now(), created_at=timezone.now() - stored_audit.PATIENCE
        )
        assert not stored_audit.run(services.claim(row.pk), in_worker=False)
        row.refresh_from_db()
        assert row.state == Audit.State.FAILED
    Audit.objects.update(state=Audit.State.QUEUED, leased_until=None, attempt=0)
    assert judged(row).error == ""


@pytest.fixture(autouse=True)
def without_questions(monkeypatch):
    """CAA was asked already, as far as an audit can see."""
    monkeypatch.setattr("tasks.surveys.domain_records.were_asked", lambda survey: True)


def start(survey, maker=ANONYMOUS, key=None, **more):
    asked = NewAudit(**{"survey": survey.slug, "policy_document": POLICY} | more)
    return start_audit(asked, maker, key)


def test_the_report_is_read_again_as_it_was_written(survey):
    row = judged(start(survey))
    policy = policies.read_policy(POLICY).policy
    direct = run_audit(Survey.objects.get(pk=survey.pk), policy)
    stored = findings.read_document(row)
    fresh = as_document(direct)
    assert stored["findings"]
    assert stored["not_judged"]
    for name in ("findings", "not_judged"):
        assert [f["fingerprint"] for f in stored[name]] == [f["fingerprint"] for f in fresh[name]]
    same = {name: stored[name] for name in ("generated_at", "source", "findings", "not_judged")}
    texts = [as_json(parse_report(document)) for document in (stored, fresh | same)]
    # A database may keep the keys of an object in another order.
    assert json.loads(texts[0]) == json.loads(texts[1])
    assert row.exit_code == 1
    assert sum(group["n"] for group in row.groups) == len(stored["findings"] + stored["not_judged"])


def test_the_next_audit_compares_with_the_one_before(survey):
    first = judged(start(survey))
    second = judged(start(survey))
    assert second.previous == first
    states = {row["state"] for row in findings.read_document(second)["findings"]}
    assert states == {"persisting"}
    third = start(survey, previous="none")
    assert third.previous is None


def test_an_audit_waits_for_its_survey_and_fails_with_it(survey, anna):
    maker = Requester(user=anna)
    row = start_audit(NewAudit(domains=b"shop.example\n", policy="resilience"), maker)
    assert row.state == Audit.State.SURVEYING
    assert row.survey.owner == anna
    assert services.claim(row.pk) is None
    Survey.objects.filter(pk=row.survey.pk).update(state=SurveyState.FAILED, error="no server")
    assert services.waiting_for(row.survey.pk) == [row.pk]
    stored_audit.run(services.claim(row.pk), in_worker=False)
    row.refresh_from_db()
    assert (row.state, row.error) == ("failed", "its survey ended as failed: no server")


def test_a_key_gives_the_same_audit_and_another_request_is_refused(survey, anna, bert):
    row = start(survey, Requester(user=anna), "k")
    assert start(survey, Requester(user=anna), "k") == row
    assert start(survey, Requester(user=bert), "k") != row
    with pytest.raises(KeyReused):
        start(survey, Requester(user=anna), "k", strict=True)


def test_what_others_have_cannot_be_named(survey, anna, bert):
    theirs = Requester(user=anna)
    saved = lists.create_list(anna, "Shops", b"shop.example\n")
    policy = policies.create_policy(anna, "", POLICY)
    done = judged(start(survey, theirs))
    Survey.objects.filter(pk=survey.pk).update(owner=anna, maker=anna)
    for asked in (
        NewAudit(survey=survey.slug),
        NewAudit(domain_list=saved.slug),
        NewAudit(domains=b"a.example", policy=policy.slug),
        NewAudit(domains=b"a.example", previous=done.slug),
    ):
        start_audit(asked, theirs)
        for other in (Requester(user=bert), ANONYMOUS):
            with pytest.raises(BadInput, match="there is no|you have no"):
                start_audit(asked, other)
    with pytest.raises(BadInput, match="what is private"):
        start_audit(NewAudit(survey=survey.slug), Requester(user=anna, is_public=True))


def test_a_survey_that_became_private_is_not_judged_for_others(survey, anna, bert):
    row = start(survey, Requester(user=bert))
    Survey.objects.filter(pk=survey.pk).update(owner=anna, maker=anna)
    stored_audit.run(services.claim(row.pk), in_worker=False)
    row.refresh_from_db()
    assert (row.state, row.error) == ("failed", "its survey is gone")


def test_a_worker_that_lost_its_lease_stores_nothing(survey):
    row = start(survey)
    first = services.claim(row.pk)
    assert services.claim(row.pk) is None
    Audit.objects.filter(pk=row.pk).update(leased_until=timezone.now() - timedelta(seconds=1))
    assert services.JOBS.waiting() == [(row.pk, 1)]
    second = services.claim(row.pk)
    assert not stored_audit.run(first, in_worker=False)
    assert stored_audit.run(second, in_worker=False)
    row.refresh_from_db()
    assert (row.state, row.attempt) == ("finished", 2)
    assert [p.name for p in findings.folder_of(row.slug).iterdir()] == ["findings-2.parquet"]


def test_an_audit_that_is_deleted_while_it_runs_leaves_no_file(survey):
    row = services.claim(start(survey).pk)
    report = run_audit(survey, policies.read_policy(POLICY).policy)
    services.delete(Audit.objects.get(pk=row.pk))
    assert not services.finish(row, report, 1)
    assert not findings.folder_of(row.slug).exists()


def test_saved_suppressions_are_copied_and_only_those_that_matter_apply(survey, anna):
    domain = findings.read_document(judged(start(survey)))["findings"][0]
    given = {
        "rule": domain["rule"],
        "subject": domain["subject"],
        "reason": "accepted by the board",
        "owner": "anna",
        "expires": "2099-01-01",
    }
    policies.create_suppression(anna, given)
    policies.create_suppression(anna, {**given, "subject": "elsewhere.example"})
    row = judged(start(survey, Requester(user=anna)))
    document = findings.read_document(row)
    assert [f["subject"] for f in document["findings"] if f["suppressed"]] == [domain["subject"]]
    assert document["suppression_problems"] == []


def test_filters_find_rows_by_all_of_their_columns(survey):
    row = judged(start(survey))
    document = findings.read_document(row)
    one = document["findings"][0]
    wanted = findings.Filter(rule=one["rule"], subject=one["subject"][:4], category="finding")
    found = findings.read_places(row, findings.places(row, wanted))
    assert one["fingerprint"] in [f["fingerprint"] for f in found]
    assert {f["rule"] for f in found} == {one["rule"]}
    assert len(findings.places(row, findings.Filter())) == sum(g["n"] for g in row.groups)


def test_lists_keep_the_text_of_their_last_version(survey, anna):
    saved = lists.create_list(anna, "Shops", b"# shops\nshop.example\n")
    lists.change_list(saved, "Shops and more", b"shop.example\nmore.example\n")
    saved.refresh_from_db()
    assert (saved.version, saved.n_domains) == (2, 2)
    assert lists.read_list(saved) == b"shop.example\nmore.example\n"
    assert len(list(lists.folder_of(saved.slug).iterdir())) == 1
    row = start_audit(NewAudit(domain_list=saved.slug), Requester(user=anna))
    assert row.saved_list == saved
    assert selectors.listed(anna).count() == 1
    lists.delete_list(saved)
    row.refresh_from_db()
    assert row.saved_list is None


def test_an_account_that_is_deleted_takes_its_files_along(survey, anna):
    from webapp.store.accounts import deletion, export

    row = judged(start(survey, Requester(user=anna)))
    saved = lists.create_list(anna, "Shops", b"shop.example\n")
    names = [name for name, _ in export.members(anna)]
    assert f"audits/{row.slug}/findings-1.parquet" in names
    assert any(name.startswith(f"domain-lists/{saved.slug}/") for name in names)
    deletion.remove_account(anna)
    assert not Audit.objects.filter(pk=row.pk).exists()
    assert not findings.folder_of(row.slug).exists()
    assert not lists.folder_of(saved.slug).exists()


def test_a_deleted_audit_cancels_the_survey_that_it_started(survey, anna):
    maker = Requester(user=anna)
    row = start_audit(NewAudit(domains=b"shop.example\n"), maker)
    started = row.survey
    waits_too = start(survey, maker)
    Audit.objects.filter(pk=waits_too.pk).update(survey=started, state="surveying")
    deletion.remove(row)
    started.refresh_from_db()
    assert started.state == SurveyState.QUEUED  # the other audit needs it
    Audit.objects.filter(pk=waits_too.pk).update(source=Audit.Source.DOMAINS)
    waits_too.refresh_from_db()
    deletion.remove(waits_too)
    started.refresh_from_db()
    assert started.state == SurveyState.CANCELLED
    deletion.remove(judged(start(survey, maker)))
    survey.refresh_from_db()
    assert survey.state == SurveyState.FINISHED


def test_a_baseline_that_is_sent_takes_the_place_of_the_audit_before(survey):
    first = findings.read_document(judged(start(survey)))
    (before,) = first["findings"]
    gone = {**before, "subject": "gone.example", "fingerprint": "g", "message": "was\0 bad \ud800"}
    sent = {**first, "findings": [before, gone], "stale": []}
    row = judged(start(survey, baseline=json.dumps(sent).encode()))
    found = findings.read_document(row)
    assert row.previous is None
    assert [(f["id"], f["state"]) for f in found["findings"]] == [(before["id"], "persisting")]
    (stale,) = found["stale"]
    assert (stale["subject"], stale["message"], stale["evidence"]) == (
        "gone.example",
        "was bad ?",
        [],
    )
    empty = judged(start(survey, baseline=json.dumps({**sent, "findings": []}).encode()))
    assert {f["state"] for f in findings.read_document(empty)["findings"]} == {"new"}
    assert "new since the baseline" in wording.headline(empty)


@pytest.mark.parametrize(
    "change",
    [
        {"n": -1},
        {"confidence": "nan"},
        {"title": ["x"]},
        {"observed_at": "soon"},
        {"severity": "x"},
    ],
)
def test_a_baseline_with_another_finding_is_refused(survey, change):
    row = {
        **dict.fromkeys(("title", "message", "suggestion", "discriminator", "suppressed"), ""),
        **{"rule": "no-caa", "subject": "a.example", "severity": "low", "state": "open", "n": 1},
        **{"confidence": 1, "observed_at": None, "age_days": None, "fingerprint": "f"},
    }
    sent = {"format": "nephoscope-audit-report", "findings": [row], "stale": []}
    start(survey, baseline=json.dumps(sent).encode())
    sent["findings"] = [row | change]
    with pytest.raises(BadInput, match="baseline"):
        start(survey, baseline=json.dumps(sent).encode())
    with pytest.raises(BadInput, match="one of baseline and previous"):
        start(survey, baseline=b"{}", previous="none-such")
