"""Signing in at an OpenID Connect provider: a real one on loopback, and one that lies."""

import base64
import hashlib
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from webapp.pages.accounts import single_sign_on
from webapp.store.access import accounts
from webapp.store.models import AccountEvent, ExternalIdentity

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore::authlib.deprecate.AuthlibDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The httpx module"),
]
CALLBACK = "/sign-in/oidc/callback/"
ANNA = {"email": "anna@example.org", "preferred_username": "Anna.Berg", "name": "Anna Berg"}


@pytest.fixture(scope="module")
def provider():
    oidc_provider_mock = pytest.importorskip("oidc_provider_mock")
    with oidc_provider_mock.run_server_in_thread() as server:
        url = f"http://localhost:{server.server_port}"
        httpx.put(f"{url}/users/anna-s-subject", json=ANNA).raise_for_status()
        yield url


@pytest.fixture(autouse=True)
def configured(settings):
    settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = "nephoscope", "secret-of-the-site"
    settings.OIDC_NAME = "Example Org"
    single_sign_on._client.cache_clear()
    yield settings
    single_sign_on._client.cache_clear()


@pytest.fixture
def site(configured, provider):
    configured.OIDC_ISSUER = provider
    return configured


def go_to_provider(client, after=""):
    """The address at the provider that the site sends a visitor to."""
    answer = client.get(f"/sign-in/oidc/{after}")
    assert answer.status_code == 302, answer.content
    return answer.headers["location"]


def authorize(address, subject="anna-s-subject"):
    """Where the provider sends back who signed in there."""
    back = httpx.post(address, data={"sub": subject}).headers["location"]
    assert urlsplit(back).path == CALLBACK
    return f"{CALLBACK}?{urlsplit(back).query}"


def sign_on(client, subject="anna-s-subject", after=""):
    return client.get(authorize(go_to_provider(client, after), subject))


def test_the_first_sign_on_makes_an_account_and_the_next_one_finds_it(site):
    assert b"Sign in with Example Org" in Client().get("/sign-in/").content
    first, second = Client(), Client()
    answer = sign_on(first, after="?next=/surveys/new/")
    assert (answer.status_code, answer.headers["location"]) == (302, "/surveys/new/")
    assert sign_on(second).headers["location"] == "/account/"
    user = get_user_model().objects.get()
    assert user.get_username() == "anna.berg"
    assert not user.has_usable_password()
    for client in (first, second):
        page = client.get("/account/").content.decode()
        assert "Anna.Berg" in page
        assert "Change the password" not in page
    actions = list(AccountEvent.objects.order_by("pk").values_list("actor", "action"))
    assert actions == [
        ("", "account.create"),
        ("anna.berg", "account.identity"),
        ("anna.berg", "account.sign-in"),
        ("anna.berg", "account.sign-in"),
    ]


def test_the_request_has_state_nonce_and_a_challenge(site, client):
    query = parse_qs(urlsplit(go_to_provider(client)).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["redirect_uri"] == [f"{site.SITE_URL}{CALLBACK}"]
    again = parse_qs(urlsplit(go_to_provider(client)).query)
    for name in ("state", "nonce", "code_challenge"):
        assert len(query[name][0]) >= 20
        assert query[name] != again[name]


def test_a_name_that_is_taken_opens_no_account_of_somebody_else(site, client):
    other = accounts.create_account("anna.berg", "a-long-pass-phrase")
    sign_on(client)
    assert ExternalIdentity.objects.get().owner.get_username() == "anna.berg-2"
    assert not ExternalIdentity.objects.filter(owner=other).exists()


def test_an_account_with_a_password_is_connected_by_who_is_signed_in(site, client):
    user = accounts.create_account("bert", "a-long-pass-phrase")
    client.force_login(user)
    assert sign_on(client).headers["location"] == "/account/?changed=connected"
    fresh = Client()
    sign_on(fresh)
    assert fresh.session["_auth_user_id"] == str(user.pk)
    # One person signs in to one account.
    carla = accounts.create_account("carla", "a-long-pass-phrase")
    client.force_login(carla)
    assert sign_on(client).status_code == 403
    client.force_login(user)
    assert client.post("/account/oidc/disconnect/").headers["location"].endswith("disconnected")
    assert not ExternalIdentity.objects.exists()


def test_without_a_password_the_only_identity_stays_and_a_deletion_needs_a_fresh_sign_in(
    site, client
):
    sign_on(client)
    assert client.post("/account/oidc/disconnect/").status_code == 409
    user = get_user_model().objects.get()
    get_user_model().objects.update(last_login="2020-01-01T00:00:00Z")
    assert client.post("/account/close/").status_code == 422
    client.post("/sign-out/")
    sign_on(client)
    assert client.post("/account/close/").status_code == 302
    assert not get_user_model().objects.filter(pk=user.pk).exists()
    assert not ExternalIdentity.objects.exists()


def test_closed_accounts_and_unknown_people_are_refused(site, client):
    site.OIDC_SIGN_UP = False
    assert sign_on(client).status_code == 403
    assert not get_user_model().objects.exists()
    site.OIDC_SIGN_UP = True
    sign_on(client)
    accounts.set_active(get_user_model().objects.get(), False)
    assert sign_on(Client()).status_code == 403
    failed = AccountEvent.objects.filter(action="account.sign-in-failed")
    assert failed.count() == 2


def test_a_reply_counts_once_and_in_the_browser_that_asked(site, client):
    back = authorize(go_to_provider(client))
    assert Client().get(back).status_code == 403
    assert client.get(back).status_code == 302
    assert client.get(back).status_code == 403


@pytest.mark.parametrize("query", ["", "?code=x&state=y", "?error=access_denied&state=y", "?code="])
def test_replies_that_nobody_asked_for_are_refused(site, client, query):
    go_to_provider(client)
    assert client.get(CALLBACK + query).status_code == 403
    assert "_auth_user_id" not in client.session


def test_a_provider_that_is_away_is_said_to_be(configured, client):
    configured.OIDC_ISSUER = "http://localhost:1"
    answer = client.get("/sign-in/oidc/")
    assert answer.status_code == 503
    assert b"does not answer" in answer.content


def test_without_a_provider_there_is_no_such_page(client):
    assert client.get("/sign-in/oidc/").status_code == 404
    assert client.get(CALLBACK).status_code == 404
    assert b"Sign in with" not in client.get("/sign-in/").content


class Liar(BaseHTTPRequestHandler):
    """A provider with a real key, and ID tokens as a test wants them."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        url = self.server.url
        documents = {
            "/.well-known/openid-configuration": {
                "issuer": self.server.issuer,
                "authorization_endpoint": f"{url}/authorize",
                "token_endpoint": f"{url}/token",
                "jwks_uri": f"{url}/jwks",
                "id_token_signing_alg_values_supported": ["none", "HS256", "RS256"],
            },
            "/jwks": {"keys": [self.server.key.as_dict(private=False)]},
        }
        self.reply(documents[self.path])

    def do_POST(self):
        sent = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.server.verifier = sent["code_verifier"][0]
        token = self.server.make_token(self.server)
        self.reply({"access_token": "a", "token_type": "Bearer", "id_token": token})

    def reply(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def lying_provider(make_token, issuer=""):
    from joserfc.jwk import RSAKey

    with ThreadingHTTPServer(("127.0.0.1", 0), Liar) as server:
        server.url = f"http://localhost:{server.server_port}"
        server.issuer = issuer or server.url
        server.key = RSAKey.generate_key(2048, {"kid": "k", "use": "sig"}, private=True)
        server.make_token = make_token
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def sign(server, key=None, alg="RS256", **changed):
    """An ID token, right but for what is changed."""
    from joserfc import jws

    now = int(time.time())
    claims = {
        "iss": server.issuer,
        "aud": "nephoscope",
        "sub": "1",
        "nonce": server.nonce,
        "iat": now,
        "exp": now + 60,
        **changed,
    }
    header = {"alg": alg, "kid": "k"}
    payload = json.dumps({k: v for k, v in claims.items() if v is not None}).encode()
    if alg == "none":
        parts = (json.dumps(header).encode(), payload)
        return ".".join(base64.urlsafe_b64encode(p).decode().rstrip("=") for p in parts) + "."
    return jws.serialize_compact(header, payload, key or server.key, algorithms=[alg])


def sign_with_secret(server):
    from joserfc.jwk import OctKey

    return sign(server, OctKey.import_key("secret-of-the-site-as-it-is-configured"), "HS256")


def sign_with_another_key(server):
    from joserfc.jwk import RSAKey

    return sign(server, RSAKey.generate_key(2048, {"kid": "k"}, private=True))


LIES = {
    "another nonce": lambda server: sign(server, nonce="another"),
    "no nonce": lambda server: sign(server, nonce=None),
    "for another site": lambda server: sign(server, aud="another"),
    "by another issuer": lambda server: sign(server, iss="http://localhost:2"),
    "too old": lambda server: sign(server, exp=int(time.time()) - 600),
    "nobody": lambda server: sign(server, sub=None),
    "not signed": lambda server: sign(server, alg="none"),
    "signed by the secret": sign_with_secret,
    "signed by another key": sign_with_another_key,
    "no token": lambda _: "x.y.z",
}


def try_token(client, settings, make_token):
    with lying_provider(make_token) as server:
        settings.OIDC_ISSUER = server.url
        query = parse_qs(urlsplit(go_to_provider(client)).query)
        server.nonce = query["nonce"][0]
        answer = client.get(f"{CALLBACK}?code=c&state={query['state'][0]}")
        digest = hashlib.sha256(server.verifier.encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        assert query["code_challenge"] == [challenge]
        return answer


@pytest.mark.parametrize("lie", LIES)
def test_an_id_token_that_is_not_valid_signs_nobody_in(configured, client, lie):
    answer = try_token(client, configured, LIES[lie])
    assert answer.status_code == 403
    assert "_auth_user_id" not in client.session
    assert not get_user_model().objects.exists()


def test_the_same_token_without_a_lie_signs_in(configured, client):
    assert try_token(client, configured, sign).status_code == 302
    assert get_user_model().objects.get().get_username() == "user-1"


def test_a_provider_that_calls_itself_otherwise_is_not_used(configured, client):
    with lying_provider(sign, issuer="http://localhost:2") as server:
        configured.OIDC_ISSUER = server.url
        assert client.get("/sign-in/oidc/").status_code == 503
