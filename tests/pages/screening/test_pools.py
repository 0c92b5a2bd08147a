"""Pools: who sees them, what they say, and what their owners can change."""

import random
import re
import time
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from tests.pages.screening import screening_cast as cast
from webapp.store.screening import selectors, services

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def filled(django_db_setup, django_db_blocker):
    """The cast, made once; what a test changes of it is taken back."""
    with django_db_blocker.unblock():
        person = cast.make_person("ann@example.org")
        found = cast.fill(person)
        yield found
        person.delete()


@pytest.fixture
def ann(filled):
    return filled_owner(filled)


@pytest.fixture
def owner(ann):
    client = Client()
    client.force_login(ann)
    return client


def show(client, pool, tail=""):
    return client.get(f"/screening/pools/{pool.key}/{tail}")


def test_it_works(owner, filled):
    text = show(owner, filled.twenty).content.decode()
    assert "7 of 20 instances have long-tail neighbours" in text
    assert "ip-10-0-0-0" in text
    assert text.index("ip-10-0-0-7<") < text.index("ip-10-0-0-133<")


def test_a_token_is_shown_once(owner):
    made = owner.post("/screening/pools/new/", {"name": "Today", "wanted": 2})
    first = owner.get(made.url).content.decode()
    (token,) = set(re.findall(r"nsp_[\w-]{20,}", first))
    assert f"| python3 - --pool {token}" in first
    assert token not in owner.get(made.url).content.decode()
    key = made.url.strip("/").rpartition("/")[2]
    again = owner.post(f"/screening/pools/{key}/tokens/", {"name": "second"}, follow=True)
    found = set(re.findall(r"nsp_[\w-]{20,}", again.content.decode()))
    assert len(found) == 1
    assert token not in found


def test_without_an_account_one_is_asked_to_sign_in(client):
    answer = client.get("/screening/pools/new/")
    assert answer.status_code == 302
    assert "next=/screening/pools/new/" in answer.url.replace("%2F", "/")


def test_a_pool_of_somebody_else_is_not_there(filled):
    stranger = Client()
    stranger.force_login(cast.make_person("bob@example.org"))
    first = selectors.list_instances(filled.twenty)[0]
    for who in (stranger, Client()):
        for tail in ("", "choose/", "settings/", f"instances/{first.id}/", "verdicts.csv"):
            assert show(who, filled.twenty, tail).status_code in (302, 404)
            assert "ip-10-0" not in show(who, filled.twenty, tail).content.decode()
    for tail in ("delete/", "share/", "tokens/", f"instances/{first.id}/change/"):
        url = f"/screening/pools/{filled.twenty.key}/{tail}"
        assert stranger.post(url, {"confirm": "Frontends"}).status_code == 404
    assert selectors.find_pool(filled_owner(filled), filled.twenty.key).share_secret == ""


def filled_owner(filled):
    from webapp.store.models import Pool

    return Pool.objects.get(pk=filled.twenty.id).owner


def test_a_share_link_reads_and_nothing_else(owner, filled, client):
    key = filled.twenty.key
    owner.post(f"/screening/pools/{key}/share/")
    secret = selectors.find_pool(filled_owner(filled), key).share_secret
    base = f"/screening/shared/{secret}/"
    page = client.get(base)
    text = page.content.decode()
    assert "7 of 20" in text
    assert "read only" in text
    assert key not in text
    assert "nsp_" not in text
    assert page["Referrer-Policy"] == "no-referrer"
    first = selectors.list_instances(filled.twenty)[0]
    assert client.get(f"{base}instances/{first.id}/").status_code == 200
    assert client.get(f"{base}settings/").status_code == 404
    assert "change/" not in owner.get(f"{base}instances/{first.id}/").content.decode()
    other = selectors.list_instances(filled.one)[0]
    assert client.get(f"{base}instances/{other.id}/").status_code == 404
    owner.post(f"/screening/pools/{key}/share/", {"end": "1"})
    assert client.get(base).status_code == 404


def test_a_page_that_has_not_changed_is_not_sent_again(owner, filled):
    tag = show(owner, filled.one)["ETag"]
    url = f"/screening/pools/{filled.one.key}/"
    assert owner.get(url, headers={"If-None-Match": tag}).status_code == 304
    import random
    import time

    more = cast.build_report("another", "none", time.time() - 5, random.Random(9))
    cast.send(filled.one, [more])
    assert owner.get(url, headers={"If-None-Match": tag}).status_code == 200


def test_an_instance_says_who_is_to_blame(owner, filled):
    row = next(r for r in selectors.list_instances(filled.twenty) if r.cause == "steal")
    text = show(owner, filled.twenty, f"instances/{row.id}/").content.decode()
    assert "The hypervisor gave the CPU to a neighbour" in text
    assert "10 ms: a stall" in text
    assert "log axis" in text
    raw = re.search(r'href="([^"]+reports/[0-9a-f]{32}\.json)"', text).group(1)
    assert owner.get(raw).json()["host"]["name"] == row.name


def test_the_best_are_chosen_and_the_disturbed_can_be_ended(owner, filled):
    page = show(owner, filled.twenty, "choose/?n=5")
    names = [c.instance.name for c in page.context["view"].chosen]
    assert len(names) == 5
    bad = {f"ip-10-0-0-{7 * at}" for at in range(7)}
    command = page.context["commands"][1][1]
    assert {word for word in command.split() if word.startswith("ip-")} == bad
    assert page.context["view"].headline == (
        "The best 5 are found, none of them expected to be bad; 7 to terminate, 2 to measure again"
    )
    assert show(owner, filled.twenty, "choose/?n=0").status_code == 422


@pytest.fixture
def mixed(ann):
    """A machine of every kind, and one that was measured for 3 s."""
    rng, now = random.Random(8), time.time()
    kinds = ("steal", "load", "quota", "unexplained", "doubt", "quiet")
    pool = cast.make_pool(ann, "Mixed", wanted=3)
    cast.send(
        pool,
        [
            *(cast.build_report(f"vm-{kind}", kind, now - 90, rng) for kind in kinds),
            cast.build_report("vm-short", "none", now - 90, rng, seconds=3),
        ],
    )
    yield pool
    services.delete_pool(pool)


def test_only_a_sure_neighbour_is_a_reason_to_end_a_machine(owner, mixed):
    expected = {
        "chosen": {"vm-quiet"},
        "spare": set(),
        "terminate": {"vm-steal"},
        "measure_again": {"vm-unexplained", "vm-doubt", "vm-short"},
        "own_load": {"vm-load", "vm-quota"},
    }
    page = show(owner, mixed, "choose/")
    view = page.context["view"]
    assert {g: {c.instance.name for c in getattr(view, g)} for g in expected} == expected
    for _, command in page.context["commands"]:
        assert set(re.findall(r"vm-\w+", command)) == {"vm-steal"}
    assert view.headline == (
        "1 of 3 wanted is found, none of them expected to be bad; 1 to terminate, "
        "3 to measure again, 2 slowed by own load"
    )
    text = page.content.decode()
    assert (
        text.index("1 to terminate</h2>")
        < text.index("vm-steal")
        < text.index("3 to measure again</h2>")
        < text.index("vm-short")
        < text.index("2 slowed by their own load</h2>")
    )
    told = owner.get(f"/api/v1/screening/pools/{mixed.key}/choice").json()
    assert {g: {c["instance"]["name"] for c in told[g]} for g in expected} == expected
    output = StringIO()
    call_command("screening", "choose", mixed.key, stdout=output)
    lines = output.getvalue().splitlines()
    assert lines[0] == view.headline
    assert lines[lines.index("terminate:") + 1].startswith("      vm-steal: surely bad")
    assert lines[lines.index("terminate:") + 2] == "measure again:"


def test_what_its_owner_calls_good_is_not_ended(owner, mixed):
    (row,) = (r for r in selectors.list_instances(mixed) if r.name == "vm-steal")
    services.label_instance(mixed, row.id, "good")
    page = show(owner, mixed, "choose/")
    assert page.context["commands"] == []
    assert page.context["view"].terminate == ()


def test_a_name_that_a_shell_could_misread_or_that_is_kept_is_in_no_command(owner, ann):
    rng, now = random.Random(8), time.time()
    pool = cast.make_pool(ann, "Names")
    sent = [
        cast.build_report(name, kind, now - 9, rng)
        for name, kind in [
            ("-rf", "steal"),
            ("a b (c)", "steal"),
            (cast.RTL_NAME, "steal"),
            ("twin", "steal"),
            ("twin", "quiet"),
            ("vm-1", "steal"),
        ]
    ]
    for number, report in enumerate(sent):
        report["host"]["machine_id"] = f"{number:032x}"
    cast.send(pool, sent)
    page = show(owner, pool, "choose/?n=1")
    commands = page.context["commands"]
    assert len(commands) == 4
    for _, command in commands:
        assert "vm-1" in command
        assert "twin" not in command
        assert "a b" not in command
        assert "-rf" not in command.replace("--", "").split()
    assert {*page.context["by_hand"]} == {"-rf", "a b (c)", cast.RTL_NAME, "twin"}
    services.delete_pool(pool)


def test_odd_names_are_text(owner, filled):
    text = show(owner, filled.odd).content.decode()
    assert "<b>الواجهة</b>" not in text
    assert f'<bdi><span class="name-part">{cast.RTL_NAME}</span></bdi>' in text
    assert cast.LONG_NAME in text


def test_calls_that_contradict_sleeps_are_said(owner, filled):
    row = next(r for r in selectors.list_instances(filled.fight) if r.name == "a")
    assert (row.verdict, row.truth) == ("good", "bad")
    text = show(owner, filled.fight, f"instances/{row.id}/").content.decode()
    assert "contradicts its own sleeps" in text
    page = show(owner, filled.fight)
    assert page.context["headline"] == "1 of 3 instances is slow when others call it"
    assert page.content.decode().count("contradicts the sleeps") == 2


@pytest.mark.parametrize("name", ["none", "one", "odd", "fight", "twenty", "week"])
def test_every_page_of_every_pool_is_there(owner, filled, name):
    pool = getattr(filled, name)
    page = show(owner, pool)
    for _, _, href in page.context["pool_tabs"]:
        assert owner.get(href).status_code == 200, href
    for row in selectors.list_instances(pool):
        assert show(owner, pool, f"instances/{row.id}/").status_code == 200
    assert show(owner, pool, "verdicts.json").status_code == 200


def test_the_heat_map_blames_machines(owner, filled):
    page = show(owner, filled.twenty, "heat/")
    text = page.content.decode()
    assert "Long tails follow machines" in text
    slow = {name for _, name, is_bad in page.context["heads"] if is_bad}
    assert slow == {f"ip-10-0-0-{7 * at}" for at in range(5)}
    assert page.context["rows"][0][3][0] == (None, 0, True)


def test_what_lasts_and_what_returns_is_said(owner, filled):
    text = show(owner, filled.week, "history/").content.decode()
    assert "machine hours passed without a change" in text
    assert "without memory: fewer changes than by chance" in text
    assert "published" in text


def test_stalls_that_return_every_night_are_told_with_their_days(owner, ann):
    rng, midnight = random.Random(3), time.time() // 86_400 * 86_400
    pool = cast.make_pool(ann, "Nights")
    cast.send(
        pool,
        [
            cast.build_report(
                name,
                "steal" if name == "late" and hour % 24 == 3 else "none",
                midnight - (96 - hour) * 3600,
                rng,
                seconds=20,
                cpus=1,
            )
            for name in ("late", "calm")
            for hour in range(96)
        ],
    )
    said = (
        "Stalls return from 03:00 to 04:00 UTC: over 100 times the rest of the day, on 4 of 4 days"
    )
    text = show(owner, pool).content.decode()
    assert said in text
    assert "history/#nights" in text
    rows = {row.name: row for row in selectors.list_instances(pool)}
    late = show(owner, pool, f"instances/{rows['late'].id}/")
    assert said in late.content.decode()
    assert late.context["day"].shapes
    calm = show(owner, pool, f"instances/{rows['calm'].id}/").content.decode()
    assert "Stalls return" not in calm
    services.delete_pool(pool)


def test_a_calibrated_mark_is_used(owner, filled):
    from tasks.screening import celery_tasks

    for at, row in enumerate(selectors.list_instances(filled.twenty)):
        is_bad = row.cause == "steal" or at % 9 == 0
        services.label_instance(filled.twenty, row.id, "bad" if is_bad else "good")
    celery_tasks.analyse(filled.twenty.id)
    text = show(owner, filled.twenty, "calibrate/").content.decode()
    assert "A threshold of" in text
    assert "Use LOW" in text
    owner.post(f"/screening/pools/{filled.twenty.key}/calibrate/use/")
    row = selectors.find_pool(filled_owner(filled), filled.twenty.key)
    assert row.low == row.findings["calibration"]["chosen"]["low"]
    refused = owner.post(f"/screening/pools/{filled.one.key}/calibrate/use/")
    assert refused.status_code == 422


def test_logs_of_other_tools_stand_beside(owner, filled):
    from tests.pages.screening.test_front import CYCLICTEST

    url = f"/screening/pools/{filled.one.key}/logs/"
    file = SimpleUploadedFile("mine <i>.txt", CYCLICTEST.encode())
    assert owner.post(f"{url}add/", {"log": file}).status_code == 302
    text = owner.get(url).content.decode()
    assert "1 log of other tools and 1 measured machine" in text
    assert "mine &lt;i&gt;.txt" in text
    assert "12,000" in text
    beside = show(owner, filled.one).content.decode()
    assert "Series of other tools" in beside
    assert beside.index("single") < beside.index("mine &lt;i&gt;.txt")
    file.seek(0)
    again = owner.post(f"{url}add/", {"log": file})
    assert again.status_code == 422
    assert "has this log already" in again.content.decode()
    (row,) = selectors.list_logs(filled.one)
    assert owner.post(f"{url}{row.id}/forget/").status_code == 302
    assert selectors.list_logs(filled.one) == []


def test_measured_call_times_drive_the_pay_off(owner, filled):
    chosen = owner.get("/screening/pay-off/", {"bad": 40})
    found = owner.get("/screening/pay-off/", {"bad": 40, "pool": filled.twenty.key})
    assert found.status_code == 200
    assert "Call times as measured" in found.content.decode()
    assert found.context["answer"]["gains"] != chosen.context["answer"]["gains"]
    assert Client().get("/screening/pay-off/", {"pool": filled.twenty.key}).status_code == 404
    empty = owner.get("/screening/pay-off/", {"pool": filled.one.key})
    assert empty.status_code == 422
    assert "need a network test" in empty.content.decode()


def test_new_marks_judge_again(owner, filled):
    before = show(owner, filled.twenty).context["headline"]
    data = {"name": "Frontends", "low": "0.1", "high": "0.5", "wanted": "5"}
    url = f"/screening/pools/{filled.twenty.key}/settings/"
    assert owner.post(url, data).status_code == 302
    assert show(owner, filled.twenty).context["headline"] != before
    assert owner.post(url, data | {"low": "9", "high": "3"}).status_code == 422


def test_a_pool_is_deleted_by_its_name_alone(owner, ann):
    pool = cast.make_pool(ann, "Gone soon")
    url = f"/screening/pools/{pool.key}/delete/"
    assert owner.post(url, {"confirm": "gone soon"}).status_code == 422
    assert owner.post(url, {"confirm": "Gone soon"}).status_code == 302
    assert show(owner, pool).status_code == 404


def test_a_machine_is_labelled_and_forgotten(owner, filled):
    row = selectors.list_instances(filled.one)[0]
    url = f"/screening/pools/{filled.one.key}/instances/{row.id}/change/"
    owner.post(url, {"label": "bad"})
    assert selectors.find_instance(filled.one, row.id).label == "bad"
    assert owner.post(url, {"label": "ugly"}).status_code == 404
    owner.post(url, {"forget": "1"})
    assert selectors.find_instance(filled.one, row.id) is None


def test_a_spreadsheet_runs_no_name(owner, filled):
    text = show(owner, filled.odd, "verdicts.csv").content.decode()
    assert "'-rf" in text


def test_the_operators_pools_are_public(client):
    from webapp.store.access.visibility import OPERATOR

    row = services.create_pool(OPERATOR, services.PoolSettings(name="Open"))
    assert show(client, row).status_code == 200
    assert "Open" in client.get("/screening/pools/").content.decode()
