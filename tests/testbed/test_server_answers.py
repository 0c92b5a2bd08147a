import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.xfr
import dns.zone
import pytest

from testbed.server.answers import transfer_rows
from testbed.server.server import running
from tests.testbed.shared_worlds import ask, hundredth, rows, tiny


@pytest.fixture(scope="module")
def server():
    with running(tiny()) as found:
        yield found


def ask_twice(server, name, rtype):
    """Ask past the upsets of a world, whose first question is lost or fails."""
    for _ in range(2):
        query = dns.message.make_query(name, rtype)
        try:
            reply = dns.query.udp(query, server.address, port=server.port, timeout=1)
        except dns.exception.Timeout:
            continue
        if reply.rcode() != dns.rcode.SERVFAIL:
            break
    return ask(server, name, rtype)


def test_it_works(server):
    reply = ask(server, "www.alder.test", "A")
    assert reply.rcode() == dns.rcode.NOERROR
    assert [r[:2] for r in rows(reply)] == [
        ("www.alder.test", "CNAME"),
        ("alder-lb-7.us-east-1.elb.amazonaws.com", "A"),
        ("alder-lb-7.us-east-1.elb.amazonaws.com", "A"),
    ]


def expected_rows(name, rtype):
    chain, owner = [], name.fqdn
    for target in name.cnames:
        chain.append((owner, "CNAME", target))
        owner = target
    addresses = name.addresses if rtype == "A" else name.addresses6
    return sorted(chain + [(owner, rtype, a) for a in addresses])


def test_every_answer_equals_the_plan(server):
    for zone, name in tiny().names():
        if not zone.fault:
            for rtype in ("A", "AAAA"):
                got = rows(ask_twice(server, name.fqdn, rtype))
                assert sorted(got) == expected_rows(name, rtype), (name.fqdn, rtype)


def test_a_drawn_world_answers_as_planned_too():
    world = hundredth()
    chosen = [(z, n) for z, n in world.names() if not z.fault][::97]
    with running(world) as found:
        for _, name in chosen:
            assert sorted(rows(ask_twice(found, name.fqdn, "A"))) == expected_rows(name, "A")


def test_name_servers_and_their_addresses(server):
    for zone in tiny().zones:
        if not zone.fault:
            got = {data for _, _, data in rows(ask_twice(server, zone.domain, "NS"))}
            assert got == set(zone.servers)
    for host, addresses in tiny().hosts.items():
        assert {data for _, _, data in rows(ask(server, host, "A"))} == set(addresses)
    assert ask(server, "ns1.gone.example", "A").rcode() == dns.rcode.NXDOMAIN


def test_nodata_differs_from_nxdomain(server):
    nodata = ask(server, "www.cedar.test", "MX")
    assert nodata.rcode() == dns.rcode.NOERROR
    missing = ask(server, "nope.birch.test", "A")
    assert missing.rcode() == dns.rcode.NXDOMAIN
    for reply in (missing, ask(server, "deep.label.alder.test", "A")):
        assert [r.rdtype for r in reply.authority] == [dns.rdatatype.SOA]
    # A name on the way to one that exists is there, but empty (RFC 8020).
    assert ask(server, "deep.label.alder.test", "A").rcode() == dns.rcode.NOERROR
    assert ask(server, "label.alder.test", "A").rcode() == dns.rcode.NOERROR
    assert ask(server, "gone.larch.test", "A").rcode() == dns.rcode.NXDOMAIN


def test_case_is_preserved_and_ignored(server):
    reply = ask(server, "WwW.AlDeR.tEsT", "A")
    assert reply.question[0].name.to_text() == "WwW.AlDeR.tEsT."
    assert len(rows(reply)) == 3


def test_targets_answer_for_themselves(server):
    reply = ask(server, "awseb-alder-1.us-east-1.elb.amazonaws.com", "A")
    assert [r[1] for r in rows(reply)] == ["A"]
    assert len(rows(ask(server, "alder-env.elasticbeanstalk.com", "A"))) == 2


def test_world_identifies_itself_by_txt(server):
    text = rows(ask(server, "world.testbed.invalid", "TXT"))[0][2]
    assert text.strip('"') == "nephoscope-testbed world=tiny scale=1/1 seed=1"


def test_long_answers_are_truncated_and_whole_over_tcp(server):
    ask_twice(server, "m.birch.test", "A")
    plain = dns.message.make_query("m.birch.test", "A", use_edns=-1)
    short = dns.query.udp(plain, server.address, port=server.port, timeout=5)
    assert short.flags & dns.flags.TC
    assert len(short.to_wire()) <= 512
    with_edns = dns.message.make_query("m.birch.test", "A", use_edns=0, payload=1232)
    full = dns.query.udp(with_edns, server.address, port=server.port, timeout=5)
    assert not full.flags & dns.flags.TC
    assert len(rows(full)) == 59
    assert len(rows(ask_twice(server, "www.birch.test", "A"))) == 91
    assert len(rows(ask(server, "www.birch.test", "A", tcp=True))) == 91


def transfer(server, domain):
    zone = dns.zone.Zone(domain)
    query, _ = dns.xfr.make_query(zone)
    dns.query.inbound_xfr(server.address, zone, query, port=server.port, lifetime=10)
    return {
        (
            name.derelativize(zone.origin).to_text(omit_final_dot=True),
            dns.rdatatype.to_text(rdataset.rdtype),
            rdata.to_text(zone.origin, False).rstrip("."),
        )
        for name, rdataset in zone.iterate_rdatasets()
        for rdata in rdataset
    }


def test_transfers_return_the_whole_zone(server):
    for domain in ("alder.test", "hazel.test"):
        zone = next(z for z in tiny().zones if z.domain == domain)
        wanted = {row for row in transfer_rows(zone) if row[1] != "SOA"}
        assert {row for row in transfer(server, domain) if row[1] != "SOA"} == wanted


def test_a_transfer_of_many_messages():
    world = hundredth()
    largest = max((z for z in world.zones if z.transfer == "allow"), key=lambda z: len(z.names))
    with running(world) as found:
        got = {row for row in transfer(found, largest.domain) if row[1] != "SOA"}
    assert got == {row for row in transfer_rows(largest) if row[1] != "SOA"}
    assert len(got) > 500


def test_refused_and_broken_transfers(server):
    with pytest.raises(dns.xfr.TransferError):
        transfer(server, "birch.test")
    with pytest.raises((EOFError, dns.exception.DNSException)):
        transfer(server, "iris.test")
    for outside in ("nobody.invalid", "www.alder.test"):
        with pytest.raises(dns.xfr.TransferError):
            transfer(server, outside)
