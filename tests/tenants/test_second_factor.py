"""Second factors: enrolment, codes that work once, recovery, and what a password alone opens."""

import re
import time
from io import StringIO
from typing import Any

import pyotp
import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from webapp.store.access import accounts, login_throttle, second_factor, tokens
from webapp.store.models import AccountEvent, SecondFactor

pytestmark = pytest.mark.django_db
WORD = "a walnut on the shelf"
PAGE = "/account/second-factor/"


@pytest.fixture
def anna() -> Any:
    return get_user_model().objects.create_user("anna", password=WORD)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that the clock is ahead."""
    ahead, real = [0.0], time.time
    monkeypatch.setattr(second_factor.time, "time", lambda: real() + ahead[0])
    return ahead


def enter(client: Client, **more: Any) -> Any:
    return client.post("/sign-in/", {"username": "anna", "password": WORD, **more})


def is_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


def enrol(user: Any) -> tuple[pyotp.TOTP, list[str]]:
    """An authenticator and recovery codes; the last code was of a minute ago."""
    totp = pyotp.TOTP(second_factor.secret_of(second_factor.enrol(user)))
    codes = second_factor.confirm(user, totp.now())
    SecondFactor.objects.update(last_step=0)
    return totp, codes


def test_enrolment_by_the_page_and_a_sign_in(anna: Any, clock: list[float]) -> None:
    client = Client()
    enter(client)
    assert "Set up" in client.get(PAGE).content.decode()
    begun = client.post(PAGE, {"action": "begin"})
    page = begun.content.decode()
    secret = page.split('id="secret">')[1].split("<")[0]
    assert "<svg" in page
    assert "no-store" in begun["Cache-Control"]
    assert not second_factor.is_required(anna)
    assert client.post(PAGE, {"action": "confirm", "code": "000000"}).status_code == 422
    totp = pyotp.TOTP(secret)
    made = client.post(PAGE, {"action": "confirm", "code": totp.now()}).content.decode()
    codes = re.findall(r"[0-9a-f]{5}(?:-[0-9a-f]{5}){3}", made)
    assert len(codes) == 10
    stored = SecondFactor.objects.get()
    assert secret not in str(vars(stored))
    assert not any(code in str(vars(stored)) for code in codes)
    assert codes[0] not in client.get(PAGE).content.decode()

    other = Client()
    asked = enter(other, next="/surveys/")
    assert asked["Location"] == "/sign-in/code/"
    assert not is_in(other)
    assert "Enter the code" in other.get("/sign-in/code/").content.decode()
    # The code of the enrolment does not work a second time; the next one does.
    assert other.post("/sign-in/code/", {"code": totp.now()}).status_code == 422
    clock[0] = 30
    answer = other.post("/sign-in/code/", {"code": totp.at(time.time() + 30)})
    assert answer["Location"] == "/surveys/"
    assert is_in(other)
    assert {"second-factor.enable", "account.sign-in-failed"} <= set(
        AccountEvent.objects.values_list("action", flat=True)
    )


@pytest.mark.parametrize(
    ("drift_s", "works"), [(-30, True), (0, True), (30, True), (-90, False), (90, False)]
)
def test_codes_of_neighbouring_steps_alone_are_accepted(
    anna: Any, drift_s: float, works: bool
) -> None:
    totp, _ = enrol(anna)
    assert second_factor.accept(anna, totp.at(time.time() + drift_s)) is works


@pytest.mark.parametrize("code", ["", "12345", "1234567", "٠١٢٣٤٥", "abcdef", "-12345", "0x1234"])
def test_other_texts_are_no_codes(anna: Any, code: str) -> None:
    enrol(anna)
    assert not second_factor.accept(anna, code)


def test_a_recovery_code_works_once_and_not_for_others(anna: Any) -> None:
    _, codes = enrol(anna)
    bert = get_user_model().objects.create_user("bert")
    enrol(bert)
    assert not second_factor.accept(bert, codes[0])
    client = Client()
    enter(client)
    assert client.post("/sign-in/code/", {"code": codes[0].upper()})["Location"] == "/account/"
    assert not second_factor.accept(anna, codes[0])
    assert "9 recovery" in client.get(PAGE).content.decode()
    renewed = client.post(PAGE, {"action": "codes", "code": codes[1]}).content.decode()
    assert "shown this once" in renewed
    assert not second_factor.accept(anna, codes[2])


def test_a_password_alone_opens_and_changes_nothing(anna: Any) -> None:
    enrol(anna)
    client = Client()
    enter(client)
    for path in ("/account/", PAGE, "/account/password/", "/account/events/"):
        assert client.get(path)["Location"].startswith("/sign-in/?next="), path
    client.post(PAGE, {"action": "remove", "code": "000000"})
    assert second_factor.is_required(anna)
    # Nor does a link for a lost password.
    who, key = accounts.issue_invitation(anna)
    fresh = Client()
    word = {"new_password1": "another walnut here", "new_password2": "another walnut here"}
    assert fresh.post(f"/welcome/{who}/{key}/", word)["Location"] == "/sign-in/code/"
    assert not is_in(fresh)
    assert Client().get("/sign-in/code/")["Location"] == "/sign-in/"


def test_the_password_is_forgotten_after_ten_minutes(anna: Any) -> None:
    totp, _ = enrol(anna)
    client = Client()
    enter(client)
    session = client.session
    session["pending_sign_in"] = {**session["pending_sign_in"], "at": time.time() - 601}
    session.save()
    assert client.post("/sign-in/code/", {"code": totp.now()})["Location"] == "/sign-in/"
    assert not is_in(client)


def test_guessing_codes_is_limited(anna: Any) -> None:
    totp, _ = enrol(anna)
    client = Client()
    enter(client)
    wrong = f"{(int(totp.now()) + 1) % 1_000_000:06}"
    tried = [client.post("/sign-in/code/", {"code": wrong}).status_code for _ in range(11)]
    assert tried == [422] * login_throttle.CODE_LIMIT + [429]
    assert client.post("/sign-in/code/", {"code": totp.now()}).status_code == 429


def test_tokens_need_no_code_and_the_operator_resets_a_factor(anna: Any) -> None:
    enrol(anna)
    _, secret = tokens.issue(anna, "export", "read")
    headers = {"Authorization": f"Bearer {secret}"}
    assert Client().get("/api/v1/account", headers=headers).status_code == 200
    call_command("account", "reset-factor", "anna", stdout=StringIO(), stderr=StringIO())
    client = Client()
    enter(client)
    assert is_in(client)
    assert SecondFactor.objects.count() == 0


def test_another_secret_key_makes_other_secrets(anna: Any, settings: Any) -> None:
    totp, codes = enrol(anna)
    settings.SECRET_KEY = "another"
    assert not second_factor.accept(anna, totp.now())
    assert second_factor.accept(anna, codes[0])
    assert SecondFactor.objects.get().confirmed_at < timezone.now()
