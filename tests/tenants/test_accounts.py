"""Signing in, up and out; invitations; and what keeps guessing slow and strangers uninformed."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client

from core.environment import read_choice
from core.errors import BadInput
from tests.pages import cast
from webapp.store.access import accounts, login_throttle, sharing, tokens
from webapp.store.accounts import deletion
from webapp.store.models import Recommendation, SignInFailure, Survey
from webapp.store.recommendations import services as recommendation_services
from webapp.store.surveys import services
from webapp.store.surveys.uploads import save_entries

pytestmark = pytest.mark.django_db
WORD = "a walnut on the shelf"


@pytest.fixture
def anna() -> Any:
    return get_user_model().objects.create_user("anna", password=WORD)


def enter(client: Client, name: str = "anna", word: str = WORD, **more: Any) -> Any:
    return client.post("/sign-in/", {"username": name, "password": word, **more})


def is_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


def test_the_shipped_hasher_is_slow_and_hard_on_memory() -> None:
    from webapp import settings as shipped

    assert shipped.PASSWORD_HASHERS[0].endswith("ScryptPasswordHasher")


def test_signing_up_in_and_out(settings: Any) -> None:
    settings.SIGN_UP_OPEN = True
    client = Client()
    made = client.post("/sign-up/", {"username": " Carl ", "password1": WORD, "password2": WORD})
    assert made["Location"] == "/account/"
    assert "carl" in client.get("/account/").content.decode()
    assert client.get("/sign-out/").status_code == 200
    assert is_in(client)  # a link alone ends nothing
    assert client.post("/sign-out/")["Clear-Site-Data"] == '"cache"'
    assert not is_in(client)
    assert enter(client, "CARL").status_code == 302
    assert is_in(client)


@pytest.mark.parametrize(
    ("name", "first", "second", "said"),
    [
        ("anna", WORD, WORD, "taken"),
        ("ANNA", WORD, WORD, "taken"),
        ("x", WORD, WORD, "3 to 40"),
        ("<b>", WORD, WORD, "3 to 40"),
        ("carl", WORD, "another one", "differ"),
        ("carl", "short", "short", "at least 10"),
        ("carl", "84529047610", "84529047610", "entirely numeric"),
        ("carl", "passwordpassword", "passwordpassword", ""),
        ("walnut.tree", "walnut.tree", "walnut.tree", "similar"),
    ],
)
def test_a_bad_name_or_password_is_refused(
    anna: Any, settings: Any, name: str, first: str, second: str, said: str
) -> None:
    settings.SIGN_UP_OPEN = True
    answer = Client().post("/sign-up/", {"username": name, "password1": first, "password2": second})
    if not said:
        assert answer.status_code == 302
        return
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert get_user_model().objects.count() == 1
    assert f'value="{first}"' not in answer.content.decode() or first == name


def test_closed_sign_up_makes_nothing(settings: Any) -> None:
    settings.SIGN_UP_OPEN = False
    for method in ("get", "post"):
        answer = getattr(Client(), method)("/sign-up/", {"username": "carl", "password1": WORD})
        assert answer.status_code == 403
        assert "by invitation" in answer.content.decode()
    assert "Create an account" not in Client().get("/sign-in/").content.decode()
    assert not get_user_model().objects.exists()


def test_an_unknown_name_and_a_wrong_password_look_alike(anna: Any) -> None:
    closed = get_user_model().objects.create_user("shut", password=WORD, is_active=False)
    get_user_model().objects.create_user("invited")
    answers = [
        enter(Client(), name, word)
        for name, word in (
            ("anna", "wrong"),
            ("nobody", WORD),
            (closed.username, WORD),
            ("invited", ""),
        )
    ]
    assert {a.status_code for a in answers} == {422}
    texts = {
        a.content.decode()
        .replace(f'value="{name}"', "")
        .replace(a.context["csrf_token"].__str__(), "")
        for a, name in zip(answers[:3], ("anna", "nobody", "shut"), strict=True)
    }
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("wanted", "comes_to"),
    [
        ("/s/x/?a=b", "/s/x/?a=b"),
        ("https://evil.example/", "/account/"),
        ("//evil.example/", "/account/"),
        ("/\\evil.example", "/account/"),
        ("javascript:alert(1)", "/account/"),
        ("http:///evil.example", "/account/"),
        ("http://testserver/x", "/account/"),
        ("\t//evil.example", "/account/"),
        ("", "/account/"),
    ],
)
def test_signing_in_leads_to_this_site_only(anna: Any, wanted: str, comes_to: str) -> None:
    assert enter(Client(), next=wanted)["Location"] == comes_to
    client = Client()
    client.force_login(anna)
    assert client.get("/sign-in/", {"next": wanted})["Location"] == comes_to
    shown = Client().get("/sign-in/", {"next": wanted}).content.decode()
    assert "evil.example" not in shown


def test_who_has_to_sign_in_comes_back(anna: Any) -> None:
    client = Client()
    asked = client.get("/account/password/")
    assert asked["Location"] == "/sign-in/?next=%2Faccount%2Fpassword%2F"
    assert enter(client, next="/account/password/")["Location"] == "/account/password/"


def test_signing_in_begins_another_session(anna: Any) -> None:
    client = Client()
    client.get("/sign-in/")
    session = client.session
    session["planted"] = 1
    session.save()
    client.cookies["sessionid"] = planted = session.session_key
    before = client.get("/sign-in/").cookies["csrftoken"].value
    enter(client)
    assert client.cookies["sessionid"].value != planted
    assert client.cookies["csrftoken"].value != before


def test_guessing_is_slowed_and_its_owner_is_not_kept_out(anna: Any) -> None:
    thief = Client(REMOTE_ADDR="192.0.2.66")
    for _ in range(login_throttle.PAIR_LIMIT):
        assert enter(thief, word="wrong").status_code == 422
    for word in ("wrong", WORD):
        refused = enter(thief, word=word)
        assert refused.status_code == 429
        assert 0 < int(refused["Retry-After"]) <= 900
    assert enter(Client(REMOTE_ADDR="192.0.2.7")).status_code == 302
    # What is kept is neither a name nor an address.
    assert not [k for k in SignInFailure.objects.values_list("key", flat=True) if "anna" in k]


def test_unknown_names_are_slowed_alike() -> None:
    codes = [
        enter(Client(), "nobody", "x").status_code for _ in range(login_throttle.PAIR_LIMIT + 1)
    ]
    assert codes == [422] * login_throttle.PAIR_LIMIT + [429]


def test_one_address_cannot_go_through_many_names() -> None:
    codes = {
        i: enter(Client(), f"name{i}", "x").status_code
        for i in range(login_throttle.ADDRESS_LIMIT + 1)
    }
    assert codes[login_throttle.ADDRESS_LIMIT - 1] == 422
    assert codes[login_throttle.ADDRESS_LIMIT] == 429


def test_attempts_are_forgotten_in_time_and_when_they_were_right(anna: Any) -> None:
    for _ in range(login_throttle.PAIR_LIMIT - 1):
        enter(Client(), word="wrong")
    for _ in range(4):
        assert enter(Client()).status_code == 302
    enter(Client(), word="wrong")
    assert enter(Client()).status_code == 429
    SignInFailure.objects.update(at=cast.THEN)
    assert enter(Client()).status_code == 302
    assert not SignInFailure.objects.exists()


def test_sign_up_is_slowed(settings: Any) -> None:
    settings.SIGN_UP_OPEN = True
    codes = [
        Client().post("/sign-up/", {"username": "x"}).status_code
        for _ in range(login_throttle.SIGN_UP_LIMIT + 1)
    ]
    assert codes == [422] * login_throttle.SIGN_UP_LIMIT + [429]


def test_another_password_ends_other_sessions(anna: Any) -> None:
    here, there = Client(), Client()
    enter(here)
    enter(there)
    new = "a hazelnut in the cellar"
    form = {"old_password": "wrong", "new_password1": new, "new_password2": new}
    assert here.post("/account/password/", form).status_code == 422
    assert here.post("/account/password/", {**form, "old_password": WORD}).status_code == 302
    assert (is_in(here), is_in(there)) == (True, False)
    assert enter(Client()).status_code == 422
    assert enter(Client(), word=new).status_code == 302


@pytest.mark.parametrize("is_asked", [False, True])
def test_another_password_takes_tokens_back_where_asked(anna: Any, is_asked: bool) -> None:
    _, secret = tokens.issue(anna, "cron", "read")
    here = Client()
    enter(here)
    assert b'name="revoke_tokens"' in here.get("/account/password/").content
    new = "a hazelnut in the cellar"
    form = {"old_password": WORD, "new_password1": new, "new_password2": new}
    more = {"revoke_tokens": "on"} if is_asked else {}
    assert here.post("/account/password/", {**form, **more}).status_code == 302
    assert (tokens.find(secret) is None) is is_asked


def test_the_link_for_a_lost_password_asks_about_tokens_where_there_are_any(anna: Any) -> None:
    path = say("invite", "anna").removeprefix("http://127.0.0.1:8000")
    assert b'name="revoke_tokens"' not in Client().get(path).content
    _, secret = tokens.issue(anna, "cron", "read")
    assert b'name="revoke_tokens"' in Client().get(path).content
    form = {"new_password1": "a hazelnut in the cellar", "revoke_tokens": "on"}
    # A form that is refused revokes nothing.
    assert Client().post(path, {**form, "new_password2": "another"}).status_code == 422
    assert tokens.find(secret)
    form["new_password2"] = form["new_password1"]
    assert Client().post(path, form).status_code == 302
    assert tokens.find(secret) is None


def test_cookies_given_over_https_stay_there(anna: Any) -> None:
    for scheme, is_secure in (("https", True), ("http", False)):
        client = Client()
        answer = client.post(
            "/sign-in/", {"username": "anna", "password": WORD}, secure=scheme == "https"
        )
        session = answer.cookies["sessionid"]
        assert (bool(session["secure"]), session["samesite"]) == (is_secure, "Lax")
        assert session["httponly"]


def test_every_form_of_an_account_needs_its_token(anna: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    for path in ("/sign-in/", "/sign-up/", "/sign-out/"):
        assert client.post(path, {"username": "anna", "password": WORD}).status_code == 403
    client.force_login(anna)
    for path in ("/account/tokens/", "/account/password/", "/account/close/", "/sign-out/"):
        assert client.post(path, {}).status_code == 403, path


def say(*words: str, **options: Any) -> str:
    out = StringIO()
    call_command("account", *words, stdout=out, stderr=StringIO(), **options)
    return out.getvalue().strip()


def test_the_operator_invites_closes_and_opens() -> None:
    link = say("create", "Dora", "--site", "https://nephoscope.example/")
    assert link.startswith("https://nephoscope.example/welcome/")
    path = link.removeprefix("https://nephoscope.example")
    client = Client()
    shown = client.get(path)
    assert "Set the password of dora" in shown.content.decode()
    assert shown["Referrer-Policy"] == "no-referrer"
    assert client.post(path, {"new_password1": "x", "new_password2": "x"}).status_code == 422
    form = {"new_password1": WORD, "new_password2": WORD}
    assert client.post(path, form).status_code == 302
    assert is_in(client)
    assert Client().get(path).status_code == 404
    assert Client().post(path, form).status_code == 404
    say("close", "dora")
    assert not is_in(client)
    assert enter(Client(), "dora").status_code == 422
    assert "closed" in say("list")
    say("open", "dora")
    assert enter(Client(), "dora").status_code == 302


def test_operators_are_made_as_such() -> None:
    say("create", "olga", "--operator")
    say("create", "nils")
    assert [u.is_staff for u in get_user_model().objects.order_by("-username")] == [True, False]


def test_the_operators_mistakes_are_told(anna: Any) -> None:
    for words in (("create", "anna"), ("create", "!"), ("invite", "nobody"), ("delete", "anna")):
        with pytest.raises(CommandError):
            say(*words)
    assert get_user_model().objects.count() == 1
    with pytest.raises(BadInput):
        read_choice("X", ("open", "closed"), env={"X": "ajar"})


@pytest.mark.parametrize("who", ["MQ", "-", "////", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5", "a" * 300])
def test_a_made_up_invitation_opens_nothing(anna: Any, who: str) -> None:
    assert accounts.find_invited(who, "abc-123") is None


def test_an_account_goes_with_all_that_is_private(anna: Any, settings: Any, tmp_path: Path) -> None:
    settings.LAKE_DIR, settings.UPLOADS_DIR = tmp_path / "lake", tmp_path / "uploads"
    settings.DATA_DIR = tmp_path
    private, public = cast.atlas("Private"), cast.atlas("Public")
    Survey.objects.update(maker=anna, idempotency_key=None)
    Survey.objects.filter(pk=private.pk).update(owner=anna)
    save_entries(private.slug, [])
    origin = recommendation_services.Origin(owner=anna)
    mine = recommendation_services.create({"samples": b"x"}, {}, origin)
    sharing.issue(anna, private)
    client = Client()
    enter(client)
    assert client.post("/account/close/", {"password": "wrong"}).status_code == 422
    assert client.post("/account/close/", {"password": WORD}).status_code == 302
    assert not is_in(client)
    assert [c.slug for c in Survey.objects.all()] == [public.slug]
    assert not Recommendation.objects.exists()
    assert not recommendation_services.folder_of(mine.token).exists()
    left = {p.name for p in tmp_path.rglob("*") if private.slug in p.name}
    assert left == set()
    assert Client().get(f"/s/{public.slug}/").status_code == 200


def test_a_survey_goes_when_it_was_said_twice(anna: Any, settings: Any, tmp_path: Path) -> None:
    settings.LAKE_DIR, settings.UPLOADS_DIR = tmp_path / "lake", tmp_path / "uploads"
    survey = cast.running()
    Survey.objects.update(owner=anna, maker=anna)
    client = Client()
    client.force_login(anna)
    path = f"/s/{survey.slug}/delete/"
    assert "Delete this survey?" in client.get(path).content.decode()
    assert Survey.objects.exists()
    assert client.post(path)["Location"] == "/account/"
    assert not Survey.objects.exists()


def test_a_deleted_survey_takes_nothing_else_along(
    anna: Any, settings: Any, tmp_path: Path
) -> None:
    settings.LAKE_DIR, settings.UPLOADS_DIR = tmp_path / "lake", tmp_path / "uploads"
    others = settings.LAKE_DIR / "measurements" / "of-bert" / "samples"
    others.mkdir(parents=True)
    maker = services.Requester(user=anna, is_public=True)
    # Its folder would be that of everybody's measurements.
    made = services.create_survey(b"a.example\n", name="Measurements", n_words=2, maker=maker)
    assert made.slug == "measurements-2"
    Survey.objects.filter(pk=made.pk).update(slug="measurements")
    deletion.remove_survey(Survey.objects.get(pk=made.pk))
    assert others.is_dir()


def test_a_token_is_shown_once(anna: Any) -> None:
    client = Client()
    client.force_login(anna)
    made = client.post("/account/tokens/", {"name": "export", "scope": "read", "days": "30"})
    assert made.status_code == 201
    secret = made.content.decode().split('id="secret">')[1].split("<")[0]
    assert made["Cache-Control"].startswith("no-store")
    later = client.get("/account/").content.decode()
    assert secret not in later
    assert secret[:9] in later
    for bad in ({"name": ""}, {"scope": "all"}, {"days": "9999"}, {"days": "x"}):
        form = {"name": "export", "scope": "read", "days": "30"}
        assert client.post("/account/tokens/", form | bad).status_code == 422
    assert anna.api_tokens.count() == 1
