"""Proof of control: what it takes, what it permits, opt-outs, and that nobody uses another's."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from core.errors import BadInput
from tasks.campaigns import commands, dispatch
from tasks.ownership import verification
from tests.crawlers.engine.responder import Responder, good
from tests.tasks.schedules.hostile_urls import hostile_urls
from tests.tasks.schedules.receivers import Listener, serving
from tests.tenants.organisation_cast import sign_in
from webapp.pages.accounts import domains as pages
from webapp.store.access import domain_claims
from webapp.store.models import AccountEvent, CampaignUnit, DomainClaim, VantagePoint
from webapp.store.requests.address_rates import AddressRates
from webapp.store.surveys import services

pytestmark = pytest.mark.django_db
PATH = "/.well-known/nephoscope-verification.txt"


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages.CHECKS, "_max_requests", 1_000)


@pytest.fixture
def anna() -> Any:
    return get_user_model().objects.create_user("anna")


@contextmanager
def name_server(settings: Any, records: dict[str, str]) -> Iterator[Responder]:
    """A resolver that has these TXT records and nothing else."""

    def reply(query: Any, name: str, protocol: str, turn: int) -> list[Any]:
        found = records.get(name.lower())
        return [good(query, (name, "TXT", f'"{found}"')) if found else good(query, rcode=3)]

    with Responder(reply) as server:
        settings.NAME_SERVERS = [f"127.0.0.1:{server.port}"]
        yield server


class _Files(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, body, location = self.server.answer  # type: ignore[attr-defined]
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def web_server(settings: Any, status: int, body: bytes, location: str = "") -> Iterator[Any]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Files)
    server.answer, server.asked = (status, body, location), []  # type: ignore[attr-defined]
    settings.WEBHOOK_TEST_TARGETS = [f"127.0.0.1:{server.server_port}"]
    with serving(server):
        yield server


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (" Shop.Example. ", "shop.example"),
        ("https://www.shop.example/x?y", "www.shop.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("192.0.2.7", "192.0.2.7"),
        ("[2001:DB8::7]", "2001:db8::7"),
    ],
)
def test_names_are_kept_in_one_form(anna: Any, given: str, name: str) -> None:
    assert domain_claims.claim(anna, given).name == name
    assert domain_claims.claim(anna, name).pk == DomainClaim.objects.get().pk


@pytest.mark.parametrize(
    "given", ["", "com", "a b.example", "192.0.2.0/24", "-.example", "x" * 300]
)
def test_other_texts_are_refused(anna: Any, given: str) -> None:
    for make in (
        lambda: domain_claims.claim(anna, given),
        lambda: domain_claims.request_opt_out(given),
    ):
        with pytest.raises(BadInput):
            make()
    assert not DomainClaim.objects.exists()


def test_a_record_proves_control_and_another_does_not(anna: Any, settings: Any) -> None:
    row = domain_claims.claim(anna, "shop.example")
    client = sign_in(anna)
    page = client.get("/account/domains/").content.decode()
    assert "_nephoscope-challenge.shop.example" in page
    assert f"nephoscope-verification={row.token}" in page
    # Its file is requested at a name that has no address.
    records = {"_nephoscope-challenge.shop.example": "nephoscope-verification=0"}
    with name_server(settings, records):
        client.post(f"/account/domains/{row.pk}/check/")
        row.refresh_from_db()
        assert row.verified_at is None
        assert "has another value" in row.error
        assert row.error in client.get("/account/domains/").content.decode().replace("&#x27;", "'")
        records["_nephoscope-challenge.shop.example"] = verification.expected_text(row)
        client.post(f"/account/domains/{row.pk}/check/")
    row.refresh_from_db()
    assert (row.method, row.error) == ("dns", "")
    assert domain_claims.proven(anna) == {"shop.example"}
    assert "Proved on" in client.get("/account/domains/").content.decode()
    assert AccountEvent.objects.filter(action="domain.ownership", actor="anna").exists()
    DomainClaim.objects.update(verified_at=timezone.now() - domain_claims.VALID)
    assert domain_claims.proven(anna) == frozenset()
    assert "has expired" in client.get("/account/domains/").content.decode()


def test_a_file_proves_control_if_it_has_the_value_and_no_redirect(
    anna: Any, settings: Any
) -> None:
    expected = verification.expected_text(domain_claims.claim(anna, "shop.example"))
    cases = (
        (200, expected.encode() + b"\n", "", ""),
        (200, b"another", "", "other contents"),
        (404, b"", "", "status 404"),
        (302, b"", "http://127.0.0.1:1/", "status 302"),
        (200, b"x" * 5_000, "", "too large"),
    )
    for status, body, location, reason in cases:
        with web_server(settings, status, body, location) as server:
            url = f"http://127.0.0.1:{server.server_port}{PATH}"
            found = verification.why_not_in_file(url, expected)
            assert (reason in found) if reason else found == ""
            assert server.asked == [PATH]


def test_no_claim_directs_a_request_to_this_machine(anna: Any) -> None:
    listener = Listener()
    try:
        for url in hostile_urls(listener.port):
            assert verification.why_not_in_file(url, "x")
        assert listener.connections() == 0
    finally:
        listener.close()
    for name in ("127.0.0.1", "169.254.169.254", "10.0.0.1", "::1", "fd00:ec2::254"):
        row = domain_claims.claim(anna, name)
        assert not verification.verify(row)
        assert "127.0.0.1 is" in row.error or "not a public" in row.error or "metadata" in row.error


def test_a_survey_has_zones_transferred_only_where_control_is_proved(
    anna: Any, settings: Any, tmp_path: Any
) -> None:
    settings.UPLOADS_DIR = tmp_path
    settings.MAX_ACTIVE_SURVEYS = settings.MAX_ACTIVE_SURVEYS_PER_USER = 10
    operator = get_user_model().objects.create_user("op", is_staff=True)
    domain_claims.approve(anna, "own.example")
    given = b"a.own.example\nother.example"

    def options(user: Any, **more: Any) -> dict[str, Any]:
        maker = services.Requester(user=user, **more)
        row = services.create_survey(given, n_words=1, maker=maker, options={"axfr": True})
        return {**row.options, "notes": row.notes}

    assert "transfer_domains" not in options(anna)
    settings.OWNERSHIP_PROOF = True
    limited = options(anna)
    assert limited["transfer_domains"] == ["own.example"]
    assert "own.example" in limited["notes"][-1]
    assert options(None)["transfer_domains"] == []
    assert "transfer_domains" not in options(operator)
    assert "transfer_domains" not in options(None, is_limited=False)


def test_a_repeated_request_is_recognised_after_a_proof(
    anna: Any, settings: Any, tmp_path: Any
) -> None:
    settings.UPLOADS_DIR, settings.OWNERSHIP_PROOF = tmp_path, True
    maker = services.Requester(user=anna)
    made = [
        services.create_survey(b"own.example", n_words=1, maker=maker, idempotency_key="k")
        for _ in (1, domain_claims.approve(anna, "own.example"))
    ]
    assert made[0].pk == made[1].pk


def asked(*hosts: str) -> dict[str, Any]:
    return {
        "schedule": {
            "rounds": 1,
            "round_s": 60,
            "activities": [{"name": "ping", "probe": "tcp-ping", "slot_s": 5}],
        },
        "targets": [{"host": host, "port": 443} for host in hosts],
        "vantages": ["home"],
    }


@pytest.fixture
def home() -> Any:
    return VantagePoint.objects.create(name="home", state="joined")


def test_a_campaign_probes_only_what_its_account_controls(
    anna: Any, home: Any, settings: Any
) -> None:
    assert commands.plan(asked("www.shop.example"), anna).targets
    settings.OWNERSHIP_PROOF = True
    for host in ("www.shop.example", "1.2.3.7", "shop.example.evil.example"):
        with pytest.raises(BadInput, match="not proved that you control"):
            commands.plan(asked(host), anna)
    assert commands.plan(asked("www.shop.example")).targets
    domain_claims.approve(anna, "shop.example")
    assert commands.plan(asked("WWW.shop.example.", "shop.example"), anna).targets
    bert = get_user_model().objects.create_user("bert")
    with pytest.raises(BadInput, match="not proved that you control"):
        commands.plan(asked("www.shop.example"), bert)


def test_what_opts_out_is_not_probed_by_anybody_nor_in_running_campaigns(
    anna: Any, home: Any
) -> None:
    made = commands.start(asked("www.shop.example", "1.2.3.99", "free.example"))
    window = {"round": 0, "starts_s": 0, "ends_s": 60, "slots": 3, "due_at": timezone.now()}
    unit = CampaignUnit.objects.create(
        campaign=made, key="u", vantage="home", activity="ping", **window
    )
    before = dispatch.order_of(unit)
    assert {t["host"] for t in before.targets} == {"www.shop.example", "1.2.3.99", "free.example"}
    assert before.deny == []
    domain_claims.add_opt_out("shop.example")
    domain_claims.add_opt_out("1.2.3.96/28")
    order = dispatch.order_of(unit)
    assert {t["host"] for t in order.targets} == {"192.0.2.1", "free.example"}
    assert set(order.deny) == {"1.2.3.96/28", "192.0.2.1/32"}
    for host in ("www.shop.example", "1.2.3.98"):
        with pytest.raises(BadInput, match="opted out"):
            commands.plan(asked(host))
    domain_claims.remove_opt_out("shop.example")
    assert commands.plan(asked("www.shop.example")).targets


def test_nobody_checks_or_deletes_the_claim_of_another(anna: Any, settings: Any) -> None:
    row = domain_claims.claim(anna, "shop.example")
    bert = sign_in(get_user_model().objects.create_user("bert"))
    assert "shop.example" not in bert.get("/account/domains/").content.decode()
    for action in ("check", "delete"):
        assert bert.post(f"/account/domains/{row.pk}/{action}/").status_code == 404
    assert bert.get(f"/opt-out/{row.token}/").status_code == 404
    client = sign_in(anna)
    assert client.post(f"/account/domains/{row.pk}/delete/").status_code == 302
    assert not DomainClaim.objects.exists()


def test_anybody_opts_out_with_a_proof(settings: Any) -> None:
    client = Client()
    assert "Opt out" in client.get("/opt-out/").content.decode()
    assert client.post("/opt-out/", {"name": "com"}).status_code == 422
    page = client.post("/opt-out/", {"name": "Shop.example"})["Location"]
    row = DomainClaim.objects.get()
    assert page == f"/opt-out/{row.token}/"
    assert domain_claims.opt_outs() == domain_claims.OptOuts()
    with name_server(settings, {}):
        assert "there is no TXT record" in client.post(page).content.decode()
    assert not domain_claims.opt_outs().covers("shop.example")
    with name_server(settings, {verification.record_name(row): verification.expected_text(row)}):
        assert "has opted out" in client.post(page).content.decode()
    excluded = domain_claims.opt_outs()
    assert excluded.covers("www.shop.example")
    assert not excluded.covers("notshop.example")
    assert "Prove that" not in client.get(page).content.decode()


def test_requests_and_checks_are_limited(monkeypatch: pytest.MonkeyPatch, anna: Any) -> None:
    monkeypatch.setattr(pages, "CHECKS", AddressRates(0))
    row = domain_claims.claim(anna, "shop.example")
    answer = sign_in(anna).post(f"/account/domains/{row.pk}/check/")
    assert answer.status_code == 429
    row.refresh_from_db()
    assert row.checked_at is None
    answers = [Client().post("/opt-out/", {"name": "com"}).status_code for _ in range(30)]
    assert answers[-1] == 429
    old = domain_claims.request_opt_out("old.example")
    DomainClaim.objects.filter(pk=old.pk).update(created_at=timezone.now() - domain_claims.PENDING)
    domain_claims.request_opt_out("new.example")
    assert not DomainClaim.objects.filter(name="old.example").exists()


def test_the_operator_approves_and_excludes_by_command(anna: Any) -> None:
    out = StringIO()
    call_command("account", "approve", "anna", "shop.example", stdout=out, stderr=out)
    assert domain_claims.proven(anna) == {"shop.example"}
    call_command("opt-out", "add", "192.0.2.0/24", stdout=out, stderr=out)
    call_command("opt-out", "list", stdout=out)
    assert "192.0.2.0/24" in out.getvalue()
    assert domain_claims.opt_outs().covers("192.0.2.200")
    call_command("opt-out", "remove", "192.0.2.0/24", stdout=out, stderr=out)
    assert domain_claims.opt_outs() == domain_claims.OptOuts()
