"""Where webhooks may lead: no form of URL makes a connection to what is not public."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import BadInput
from tasks.schedules import sending
from tests.tasks.schedules import cast
from tests.tasks.schedules.hostile_urls import hostile_urls
from tests.tasks.schedules.receivers import Listener, Receiver, serving
from webapp.store.models import AlertDelivery, AlertEndpoint
from webapp.store.schedules import targets

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def listener():
    found = Listener()
    yield found
    found.close()


def attempt(url):
    """What a delivery does, without what refuses the URL when the endpoint is made."""
    endpoint = AlertEndpoint(format="webhook", target=url, seed="s", slug="x", name="x")
    row = AlertDelivery(endpoint=endpoint, message_id="msg_1", payload={"type": "test"})
    return sending.attempt(endpoint, row, cast.StoreClock())


def test_no_hostile_form_connects(listener):
    urls = hostile_urls(listener.port)
    assert len(urls) >= 200
    accepted = [url for url in urls if attempt(url).is_accepted]
    assert accepted == []
    assert listener.connections() == 0


def test_the_listener_would_have_seen_them(listener, settings):
    """The same forms, where the operator allows loopback: the count is no accident."""
    settings.WEBHOOK_TEST_TARGETS = [f"127.0.0.1:{listener.port}", f"[::1]:{listener.port}"]
    for url in (f"https://127.0.0.1:{listener.port}/", f"https://[::1]:{listener.port}/"):
        # Nothing answers the handshake: a refused connection would not even begin it.
        sending.TIMEOUT_S, kept = 0.3, sending.TIMEOUT_S
        try:
            assert not attempt(url).is_accepted
        finally:
            sending.TIMEOUT_S = kept
    assert listener.connections() == 2


def test_a_test_target_opens_its_own_port_only(listener, settings):
    settings.WEBHOOK_TEST_TARGETS = [f"127.0.0.1:{listener.port + 1}"]
    for url in hostile_urls(listener.port):
        assert not attempt(url).is_accepted
    assert listener.connections() == 0


def test_most_forms_are_refused_when_the_endpoint_is_made(listener):
    refused = 0
    for url in hostile_urls(listener.port):
        try:
            targets.check_url(url)
        except BadInput as error:
            refused += error.field == "target"
    # The rest are names, which are resolved at each delivery.
    assert refused >= len(hostile_urls(listener.port)) - 6


def test_good_urls_are_taken():
    for url in (
        "https://alerts.example.com/hook?a=b%20c",
        "https://alerts.example.com:8443/",
        "https://xn--bcher-kva.example/",
        "https://8.8.8.8/",
        "https://[2001:4860:4860::8888]/",
        "https://my_host.example/",
    ):
        targets.check_url(url)


def test_redirects_are_not_followed(settings, listener):
    with serving(Receiver()) as receiver:
        settings.WEBHOOK_TEST_TARGETS = [receiver.place]
        for status in (301, 302, 303, 307, 308):
            receiver.status = status
            receiver.headers = {"Location": f"http://127.0.0.1:{listener.port}/"}
            found = attempt(receiver.url)
            assert (found.is_accepted, found.status) == (False, status)
            assert "redirects are not followed" in found.reason
    assert listener.connections() == 0


def test_a_proxy_of_the_environment_is_not_asked(monkeypatch, settings, listener):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{listener.port}")
    with serving(Receiver()) as receiver:
        settings.WEBHOOK_TEST_TARGETS = [receiver.place]
        assert attempt(receiver.url).is_accepted
    assert listener.connections() == 0


@pytest.mark.root
def test_names_that_resolve_to_private_addresses_are_refused():
    """In namespaces with a name server that also changes its answers between two questions."""
    if not shutil.which("unshare") or not shutil.which("ip"):
        pytest.skip("unshare and ip are not installed")
    command = ["unshare", "--mount", "--net", sys.executable, "-m"]
    done = subprocess.run(
        [*command, "tests.tasks.schedules.rebinding"], cwd=ROOT, capture_output=True, text=True
    )
    if "Operation not permitted" in done.stderr:
        pytest.skip("namespaces need root")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["names", "18", "connections", "0", "control", "1"]
