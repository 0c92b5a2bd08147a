"""Ways of traceroutes, and what changed between rounds, on paths whose truth is written here."""

from typing import Any

import pytest

from webapp.pages.campaigns.pairs import route_changes

OWNERS = {
    "10.0.0.1": {"network": "AS1", "who": "AS1 Cloud", "country": "US"},
    "10.0.1.1": {"network": "AS2", "who": "AS2 One", "country": "NL"},
    "10.0.1.2": {"network": "AS2", "who": "AS2 One", "country": "NL"},
    "10.0.2.1": {"network": "AS3", "who": "AS3 Two", "country": ""},
}


def path(number: int, *addresses: str | None, **more: Any) -> dict[str, Any]:
    hops = [
        {"ttl": ttl, "address": a, "rtt_ms": None if a is None else ttl * 2.0 + number}
        for ttl, a in enumerate(addresses, 1)
    ]
    return {
        "vantage": "v",
        "target": "t",
        "zone": "z",
        "flow": 0,
        "round": number,
        "at": number,
        "hops": hops,
        "reached": True,
        **more,
    }


ONE = ("10.0.0.1", "10.0.1.1", "10.9.9.9")
SAME_NETWORK = ("10.0.0.1", "10.0.1.2", "10.9.9.9")
OTHER_NETWORK = ("10.0.0.1", "10.0.2.1", "10.9.9.9")
SILENT = ("10.0.0.1", None, "10.9.9.9")


def test_ways_have_letters_by_how_often_they_were_gone() -> None:
    paths = [path(n, *way) for n, way in enumerate([OTHER_NETWORK, ONE, ONE, SILENT])]
    ways = route_changes.group_routes(paths)
    assert [(route_changes.route_letter(at), len(g)) for at, g in enumerate(ways)] == [
        ("A", 2),
        ("B", 1),
        ("C", 1),
    ]
    assert [r["way"] for r in route_changes.list_traceroutes(paths, ways, OWNERS)] == [
        "B",
        "A",
        "A",
        "C",
    ]
    assert [route_changes.route_letter(n) for n in (25, 26, 27, 701, 702)] == [
        "Z",
        "AA",
        "AB",
        "ZZ",
        "AAA",
    ]


def test_what_changed_is_told_by_network_or_address_and_silence_is_no_change() -> None:
    paths = [path(n, *w) for n, w in enumerate([ONE, SAME_NETWORK, OTHER_NETWORK, SILENT, ONE])]
    rows = route_changes.list_traceroutes(paths, route_changes.group_routes(paths), OWNERS)
    assert rows[0]["is_first"]
    assert [r["differs"] for r in rows] == [
        [],
        [{"ttl": 2, "was": "10.0.1.1", "now": "10.0.1.2", "is_network": False}],
        [{"ttl": 2, "was": "AS2", "now": "AS3", "is_network": True}],
        [],
        [],
    ]
    assert route_changes.count_changes(paths, OWNERS) == {"of": 4, "ways": 2, "networks": 1}


def test_flows_and_ends_are_never_held_against_each_other() -> None:
    paths = [
        path(0, *ONE),
        path(0, *OTHER_NETWORK, flow=1),
        path(1, *ONE),
        path(1, *OTHER_NETWORK, flow=1),
        path(1, *SAME_NETWORK, target="u"),
    ]
    assert route_changes.count_changes(paths, OWNERS) == {"of": 2, "ways": 0, "networks": 0}
    rows = route_changes.list_traceroutes(paths[:4], route_changes.group_routes(paths[:4]), OWNERS)
    assert [(r["round"], r["flow"], r["differs"]) for r in rows] == [
        (0, 0, []),
        (0, 1, []),
        (1, 0, []),
        (1, 1, []),
    ]


def test_a_way_has_the_mean_time_of_each_hop_and_what_is_not_on_the_usual_one() -> None:
    group = [path(0, *OTHER_NETWORK), path(4, *OTHER_NETWORK)]
    way = route_changes.summarize_route(group, 1, {"10.0.0.1", "10.9.9.9"}, OWNERS)
    assert [h["rtt_ms"] for h in way["hops"]] == [4.0, 6.0, 8.0]
    assert [h["part"] for h in way["hops"]] == [0.5, 0.75, 1.0]
    assert [h["is_new"] for h in way["hops"]] == [False, True, False]
    assert [h.get("country") for h in way["hops"]] == ["US", "", None]
    assert (way["letter"], way["count"], way["rounds"]) == ("B", 2, "0, 4")


def test_the_far_end_is_told_from_whichever_side_it_was_traced() -> None:
    assert route_changes.route_end(path(0), "v") == ("t", "z")
    assert route_changes.route_end(path(0), "t") == ("v", "z")


@pytest.mark.parametrize("hops", [(), (None, None)])
def test_paths_without_an_answer_are_ways_too(hops: tuple[None, ...]) -> None:
    paths = [path(0, *hops), path(1, *ONE)]
    rows = route_changes.list_traceroutes(paths, route_changes.group_routes(paths), OWNERS)
    assert [r["differs"] for r in rows] == [[], []]
    assert rows[0]["time"] == "–"
