import ipaddress

import pytest

from core.records import Record
from core.statuses import DnsStatus
from crawlers.engine.config import Question, Result
from crawlers.engine.nameservers import Server
from crawlers.iterative.delegation_cache import MAX_FURTHER_HOSTS, DelegationCache
from crawlers.iterative.referral import (
    MAX_HOSTS,
    MIN_TTL_S,
    Kind,
    Referral,
    classify_reply,
    read_referral,
)

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)
ROOT = Server("127.0.0.1")


def rows(*texts):
    """Records from "owner ttl type data"."""
    found = []
    for text in texts:
        owner, ttl, rtype, data = text.split(" ", 3)
        found.append(Record(owner if owner != "." else "", rtype, int(ttl), data))
    return tuple(found)


def refer(zone="a.test", name="www.a.test", below="test", glue=(), hosts=("ns.a.test",), ttl=300):
    authorities = rows(*(f"{zone} {ttl} NS {h}" for h in hosts))
    return read_referral(below, name, authorities, rows(*glue))


def test_a_referral_is_read_with_its_glue():
    found = refer(glue=["ns.a.test 100 A 192.0.2.1", "ns.a.test 200 AAAA 2001:db8::1"])
    glue = (("ns.a.test", "192.0.2.1"), ("ns.a.test", "2001:db8::1"))
    assert found == Referral("a.test", ("ns.a.test",), glue, 100)


@pytest.mark.parametrize(
    ("zone", "name", "below"),
    [
        ("test", "www.a.test", "test"),  # the zone itself
        (".", "www.a.test", "test"),  # upward
        ("b.test", "www.a.test", "test"),  # beside the name
        ("example", "www.a.test", "test"),  # in somebody else's domain
        ("xa.test", "www.a.test", "a.test"),  # only the end of a label is the same
        ("www.a.test", "a.test", "test"),  # below the name
    ],
)
def test_a_server_cannot_delegate_what_is_not_its_own(zone, name, below):
    assert refer(zone, name, below) is None


def test_glue_from_outside_the_zone_or_for_other_hosts_is_not_believed():
    glue = ["ns.bank.example 300 A 192.0.2.66", "www.test 300 A 192.0.2.66"]
    found = refer(hosts=("ns.bank.example", "ns.a.test"), glue=glue)
    assert found.hosts == ("ns.bank.example", "ns.a.test")
    assert found.glue == ()


def test_the_second_zone_of_a_reply_is_left_out_and_hosts_are_bounded():
    authorities = rows("a.test 60 NS ns.a.test", "www.a.test 60 NS ns.evil")
    assert read_referral("test", "www.a.test", authorities, ()).hosts == ("ns.a.test",)
    many = refer(hosts=[f"h{i}.victim.example" for i in range(1_000)])
    assert len(many.hosts) == MAX_HOSTS


def reply(status, *, aa=False, answers=(), authorities=(), additionals=()):
    return Result(
        Question("x"), status, rows(*answers), rows(*authorities), authoritative=aa
    )._replace(additionals=rows(*additionals))


def test_answers_count_only_when_the_server_has_a_say():
    data = ["www.a.test 60 A 192.0.2.1"]
    good = classify_reply(
        "a.test", "www.a.test", "A", reply(DnsStatus.NOERROR, aa=True, answers=data)
    )
    assert (good.kind, good.status) == (Kind.ANSWER, DnsStatus.NOERROR)
    stale = classify_reply("a.test", "www.a.test", "A", reply(DnsStatus.NOERROR, answers=data))
    assert stale.kind is Kind.LAME


def test_an_alias_out_of_the_zone_is_asked_anew_whatever_the_server_says_about_it():
    answers = ["www.a.test 60 CNAME www.bank.example", "www.bank.example 60 A 192.0.2.66"]
    found = classify_reply(
        "a.test", "www.a.test", "A", reply(DnsStatus.NOERROR, aa=True, answers=answers)
    )
    assert (found.kind, found.target) == (Kind.ALIAS, "www.bank.example")
    assert [r.type for r in found.records] == ["CNAME"]


def test_a_renamed_subtree_is_an_alias_even_where_the_server_makes_none():
    answers = ["old.a.test 60 DNAME b.example"]
    found = classify_reply(
        "a.test", "x.old.a.test", "A", reply(DnsStatus.NOERROR, aa=True, answers=answers)
    )
    assert (found.kind, found.target) == (Kind.ALIAS, "x.b.example")
    assert found.records == (Record("x.old.a.test", "CNAME", 60, "x.b.example"),)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (reply(DnsStatus.NXDOMAIN, aa=True), Kind.ANSWER),
        (reply(DnsStatus.NXDOMAIN), Kind.LAME),
        (reply(DnsStatus.NODATA), Kind.LAME),
        (reply(DnsStatus.NODATA, aa=True, authorities=["a.test 60 SOA x"]), Kind.ANSWER),
        (reply(DnsStatus.NODATA, authorities=[". 60 NS a.root"]), Kind.LAME),
        (reply(DnsStatus.NODATA, authorities=["www.a.test 60 NS ns.b"]), Kind.REFERRAL),
    ],
)
def test_replies_without_data(given, kind):
    assert classify_reply("a.test", "www.a.test", "A", given).kind is kind


def test_the_deepest_cut_is_found_until_its_time_is_over():
    cache = DelegationCache([ROOT], port=53, allowed=LOOPBACK)
    cut = cache.add(Referral("a.test", ("ns.a.test",), (("ns.a.test", "127.0.0.9"),), 100), 0.0)
    assert cache.find("x.www.a.test", 99.0) == (cut, "www.a.test")
    assert cache.find("a.test", 99.0) == (cut, "a.test")
    assert cache.find("ba.test", 99.0) == (cache.root, "test")
    assert cache.find("x.www.a.test", 101.0) == (cache.root, "test")
    assert cache.find("", 101.0) == (cache.root, "")


def test_a_known_cut_is_not_replaced_before_its_time():
    cache = DelegationCache([ROOT], port=53, allowed=LOOPBACK)
    first = cache.add(Referral("a.test", ("n.b",), (("n.b", "127.0.0.9"),), 100), 0.0)
    assert cache.add(Referral("a.test", ("n.c",), (("n.c", "127.0.0.66"),), 100), 50.0) is first
    assert [h.server.address for h in first.servers] == ["127.0.0.9"]


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "192.168.1.1", "127.0.0.53", "169.254.169.254", "224.0.0.1", "0.0.0.0", "nonsense"]
    + ["::1", "fe80::1", "fd00:ec2::254", "::ffff:10.0.0.1"],
)
def test_addresses_that_no_crawler_should_be_sent_to_are_not_servers(address):
    cache = DelegationCache([ROOT], port=53, ipv6=True)
    cut = cache.add(Referral("a.test", ("n.b",), (("n.b", address),), 100), 0.0)
    assert cut.servers == []
    assert cut.ready == []


def test_the_cache_is_bounded():
    cache = DelegationCache([ROOT], port=53, allowed=LOOPBACK, limit=1_000)
    for number in range(5_000):
        glue = ((f"n.{number}", f"127.1.{number >> 8}.{number & 255}"),)
        cache.add(Referral(f"z{number}.test", (f"n.{number}",), glue, 100), 0.0)
        cache.store_addresses(f"n.{number}", ("127.0.0.1",), 100, 0.0)
    assert len(cache) <= 1_000
    assert cache.find("z4999.test", 1.0)[0].zone == "z4999.test"
    assert cache.find("z0.test", 1.0)[0] is cache.root


def test_only_few_host_names_of_a_cut_are_ever_asked_for_and_never_its_own():
    cache = DelegationCache([ROOT], port=53, allowed=LOOPBACK)
    hosts = ("ns.a.test", *(f"h{i}.victim.example" for i in range(16)))
    assert len(cache.add(Referral("a.test", hosts, (), 100), 0.0).hosts) == MAX_FURTHER_HOSTS
    assert "ns.a.test" not in cache.find("a.test", 0.0)[0].hosts


def test_host_addresses_are_kept_for_their_time_and_their_absence_briefly():
    cache = DelegationCache([ROOT], port=53, allowed=LOOPBACK)
    assert cache.addresses_of("ns.b", 0.0) is None
    cache.store_addresses("ns.b", ("127.0.0.9",), 100, 0.0)
    cache.store_addresses("ns.c", (), 100, 0.0)
    assert cache.addresses_of("ns.b", 99.0) == ("127.0.0.9",)
    assert cache.addresses_of("ns.b", 101.0) is None
    assert cache.addresses_of("ns.c", 9.0) == ()
    assert cache.addresses_of("ns.c", 11.0) is None


def two_servers():
    cache = DelegationCache([ROOT], port=53, allowed=LOOPBACK)
    glue = (("n1.b", "127.0.0.8"), ("n2.b", "127.0.0.9"))
    return cache, cache.add(Referral("a.test", ("n1.b", "n2.b"), glue, 3_600), 0.0)


def test_a_server_that_disowns_a_zone_is_asked_last_and_in_the_end_not_at_all():
    _, cut = two_servers()
    lame, good = cut.servers
    cut.record_fault(lame, 1.0, lasting=True)
    assert cut.ready == [good]
    assert cut.others((), 1.0) == [good, lame]
    cut.record_fault(lame, 2.0, lasting=True)
    cut.record_fault(lame, 3.0, lasting=True)
    assert cut.others((), 4.0) == [good]
    assert cut.others((), 100.0) == [good, lame]


def test_a_silent_server_rests_while_others_are_heard():
    cache, cut = two_servers()
    dead, good = cut.servers
    cache.record_silence(cut, dead, 1_000.0)
    assert dead.silences == 0, "nobody was heard, so our own line may be cut"
    cache.record_reply(good, 5.0, 1_000.0)
    cache.record_silence(cut, dead, 1_000.5)
    assert cut.ready == [good]
    cache.record_reply(dead, 5.0, 1_001.0)
    cut.order(1_001.0)
    assert set(map(id, cut.ready)) == {id(good), id(dead)}


def test_lives_shorter_than_a_minute_are_a_minute():
    assert refer(ttl=0).ttl_s == MIN_TTL_S
