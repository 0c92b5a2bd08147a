import re

import pytest

from core.errors import BadInput
from core.statuses import Technique
from crawlers.sources.base import Zone
from crawlers.sources.wordlist import DEFAULT_PATH, Words, default_wordlist, read_wordlist


def test_words_become_names_of_each_zone_in_order():
    source = Words(("www", "api.dev"))
    zones = [Zone("alder.test"), Zone("birch.test")]
    found = {h.domain: h for h in source.harvest(zones, None)}
    assert found["alder.test"].names == ("www.alder.test", "api.dev.alder.test")
    assert found["birch.test"].names == ("www.birch.test", "api.dev.birch.test")
    assert all(h.status == "OK" and h.complete and not h.queries for h in found.values())
    assert (source.technique, source.is_zone_data) == (Technique.WORDLIST, False)


def test_a_name_that_would_be_too_long_is_left_out():
    domain = ".".join(["a" * 60] * 4)  # 243 characters leave room for nine, and the dot
    (harvest,) = Words(("nineninen", "tententent", "www")).harvest([Zone(domain)], None)
    assert [len(n) for n in harvest.names] == [253, 247]


def test_the_products_own_list():
    words = default_wordlist()
    assert len(words) >= 2_200
    lines = DEFAULT_PATH.read_text().splitlines()
    plain = [line for line in lines if line and not line.startswith("#")]
    assert list(words) == plain, "no repeats, nothing cleaned away"
    # The commonest stand first, and every theme has words.
    assert {"www", "mail", "api", "vpn", "ns1", "smtp"} <= set(words[:60])
    themes = "jenkins postgres grafana web20 api.staging us-east-1 intranet moodle iot minecraft"
    assert set(themes.split()) <= set(words)
    assert all(re.fullmatch(r"[a-z0-9.-]+", w) for w in words)


def test_comments_case_dots_and_repeats_are_cleaned():
    assert read_wordlist(b"# mine\nWWW\n api.  # both\n\nwww\n_dmarc\n") == ("www", "api", "_dmarc")


@pytest.mark.parametrize("line", [b"a b", b"-x", b"x" * 64, b"a..b", "ü".encode()])
def test_a_line_that_is_no_label_is_named(line):
    with pytest.raises(BadInput, match="not a DNS label") as caught:
        read_wordlist(b"www\n" + line + b"\n")
    assert caught.value.line == 2
