"""Every page is opened in a browser, and every address of pages is named by a test of its subject.

Both follow from the addresses that tests write down, against the routes of the product.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.tenants.routes import Address, every_address

TESTS = Path(__file__).resolve().parents[2]
# Addresses that show no page of their own: forms that are posted, files, parts of a page.
NO_PAGE = {
    *("export-account", "close-account", "revoke-link", "password", "new-token", "revoke-token"),
    *("sign-out", "agent", "delete-audit", "audit-sharing", "new-audit-link", "audit-visibility"),
    *("delete-domain-list", "delete-audit-policy", "delete-audit-suppression", "run-audit"),
    *("delete-survey", "sharing", "new-share-link", "visibility", "cancel", "run-survey"),
    *("delete-campaign", "campaign-sharing", "new-campaign-link", "campaign-visibility"),
    *("clone-campaign", "campaign-action", "campaign-progress-part", "run-campaign"),
    *("beacon-script", "beacon-report", "healthz", "readyz", "metrics"),
    *("forget-recommendation", "keep-recommendation", "share-recommendation"),
    *("recommend-clients", "recommend-samples", "start-from-domains", "shared-answer"),
    *("shared-sets", "pool-choose", "pool-findings", "pool-heat", "pool-forget-log"),
    *("pool-add-log", "pool-report", "pool-revoke-token", "pool-file", "pool-use-mark"),
    *("pool-delete", "pool-instance", "pool-share", "pool-new-token", "payoff-file"),
    *("shared-pool-choose", "shared-pool-findings", "shared-pool-heat", "shared-pool-report"),
    *("shared-pool-file", "vantage-point-token", "invite-vantage-point", "search"),
    *("audit-badge", "survey-badge", "domain-badge", "check-badge", "cancel-simulation"),
    *("progress", "comparing", "change-organisation", "join-organisation", "all-events"),
    *("change-alert-endpoint", "resend-alert", "confirm-address", "change-schedule"),
    *("oidc", "oidc-callback", "oidc-disconnect", "good-machines-file", "delete-beacon"),
    *("check-claim", "delete-claim", "sign-in-code", "installation"),
    *("capture-progress", "delete-capture", "instance-types-file"),
}
# Pages that no test opens in a browser yet. Do not add to these: add the page to ``PAGES`` of
# ``tests/browser/test_every_page.py``.
NOT_IN_BROWSER = {"instance", "shared-instance"}
# Addresses that tests put together from parts, or reach by a link or a form. Do not add to these.
REACHED_BY_PARTS = {
    *("compared-table", "start-from-domains", "shared-answer", "keep-recommendation"),
    *("compare-recommendations", "pool-choose", "pool-heat", "pool-calibrate", "pool-findings"),
    *("pool-file", "shared-pool-choose", "shared-pool-heat", "shared-pool-calibrate"),
    *("shared-pool-findings", "shared-instance", "shared-pool-file", "pool-add-log", "welcome"),
    *("new-share-link", "visibility", "new-campaign-link", "campaign-visibility"),
    *("new-audit-link", "audit-visibility", "campaign-choice", "campaign-zones"),
    *("campaign-method", "invite-vantage-point", "found-vantage-points", "vantage-point-token"),
    *("vantage-point-act",),
}
PAGES = [address for address in every_address() if not address.is_api]


@cache
def literals(browser: bool) -> frozenset[str]:
    """All texts in tests in a browser, or in others; every ``{...}`` as 0, without a query."""
    found = set()
    for path in TESTS.rglob("*.py"):
        is_list = path.name in (Path(__file__).name, "routes.py")
        if is_list or ("browser" in path.parts) != browser:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = (v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
                found.add("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return frozenset(re.split(r"[?#]", re.sub(r"\{[^}]*\}", "0", text))[0] for text in found)


def pattern_of(address: Address) -> str:
    """A pattern of the paths of a route, with anything as its parameters."""
    parts = re.split(r"(<[^>]+>)", address.route)
    text = "".join(
        re.escape(part)
        if not part.startswith("<")
        else r"\d+"
        if "int:" in part
        else ".+"
        if "path:" in part
        else "[^/]+"
        for part in parts
    )
    return rf"0?/?{text}"


def opened_in_browser(address: Address) -> bool:
    wanted = re.compile(pattern_of(address))
    return any(wanted.fullmatch(text) for text in literals(True) if "/" in text)


def named_by_tests(address: Address) -> bool:
    """Whether a test of pages or accounts writes the address, its end, or its name."""
    tail, wanted = address.route.rpartition(">")[2], re.compile(pattern_of(address))
    return any(
        text == address.name or wanted.fullmatch(text) or (len(tail) > 1 and text.endswith(tail))
        for text in literals(False)
    )


@pytest.mark.parametrize("address", PAGES, ids=lambda a: a.route or "/")
def test_every_page_is_opened_in_a_browser(address: Address) -> None:
    listed = address.name in NO_PAGE | NOT_IN_BROWSER
    where = "PAGES of tests/browser/test_every_page.py"
    assert listed or opened_in_browser(address), f"add /{address.route} to {where}"


@pytest.mark.parametrize("address", PAGES, ids=lambda a: a.route or "/")
def test_every_address_has_a_test_of_its_subject(address: Address) -> None:
    named = address.name in REACHED_BY_PARTS or named_by_tests(address)
    assert named, f"no test in tests/pages opens /{address.route}"


def test_exceptions_are_addresses_and_still_needed() -> None:
    by_name = {address.name: address for address in PAGES}
    assert (NO_PAGE | NOT_IN_BROWSER | REACHED_BY_PARTS) - by_name.keys() == set()
    assert not NO_PAGE & NOT_IN_BROWSER
    assert [n for n in sorted(NOT_IN_BROWSER) if opened_in_browser(by_name[n])] == []
