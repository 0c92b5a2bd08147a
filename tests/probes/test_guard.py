import socket
from ipaddress import ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.net import ssrf_guard
from probes.net.ssrf_guard import Endpoint, Refusal, admit, why_forbidden
from probes.records import ProbeStatus, Target

CLOSED = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "0.0.0.0",
    "224.0.0.1",
    "239.1.1.1",
    "255.255.255.255",
    "198.18.0.1",
    "192.0.2.1",
    "::",
    "::1",
    "fe80::1",
    "fd00:ec2::254",
    "fc00::1",
    "ff02::1",
    "2001:db8::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "::10.0.0.1",
    # Site-local, translators of a network's own, and what nobody has been given.
    "fec0::1",
    "64:ff9b:1::7f00:1",
    "::ffff:0:a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "2001:4860::5efe:10.0.0.1",
    "2001:4860::200:5efe:7f00:1",
    # Teredo: by its client, by its server, and at all; what carries a public address and is dead.
    "2001:0:808:808:0:0:5601:5601",
    "2001:0:a9fe:a9fe:0:0:f7f7:f7f7",
    "2001:0:808:808:0:0:f7f7:f7f7",
    "::8.8.8.8",
    "fe80::1%lo",
    "3fff::1",
    "5f00::1",
    "4000::1",
    "192.88.99.1",
    "192.0.0.8",
    "192.0.0.9",
]


@pytest.mark.parametrize("address", CLOSED)
def test_closed_addresses_are_refused(address):
    found = admit(Target(address, 80))
    assert isinstance(found, Refusal)
    assert found.status is ProbeStatus.FORBIDDEN
    assert found.reason


@pytest.mark.parametrize("address", ["8.8.8.8", "2001:4860:4860::8888", "64:ff9b::808:808"])
def test_public_addresses_are_admitted_as_they_are(address):
    assert admit(Target(address, 53)) == Endpoint(ip_address(address).version, address, 53)


def test_allowing_opens_one_prefix_and_denying_is_stronger():
    assert isinstance(admit(Target("10.0.0.1"), allow=("10.0.0.0/24",)), Endpoint)
    assert isinstance(admit(Target("10.0.1.1"), allow=("10.0.0.0/24",)), Refusal)
    assert isinstance(admit(Target("8.8.8.8"), deny=("8.8.8.0/24",)), Refusal)
    assert isinstance(admit(Target("10.0.0.1"), ("10.0.0.0/8",), ("10.0.0.0/24",)), Refusal)


def test_allowing_everything_private_does_not_open_what_is_denied_inside_ipv6():
    denied = why_forbidden(ip_address("::ffff:8.8.8.8"), (), ("8.8.8.8/32",))
    assert "8.8.8.8" in denied


def test_names_are_resolved_once_and_given_as_addresses():
    found = admit(Target("localhost", 80, 4), allow=("127.0.0.0/8",))
    assert found == Endpoint(4, "127.0.0.1", 80)
    assert isinstance(admit(Target("localhost", 80, 4)), Refusal)


def test_an_address_of_this_machine_is_its_own_business():
    """Public addresses lead to what listens here, and no further: as closed as loopback."""
    own = Endpoint(4, "127.0.0.77", 80)
    assert ssrf_guard.is_own(own)
    assert ssrf_guard.is_own(Endpoint(6, "::ffff:127.0.0.1", 80))
    assert not ssrf_guard.is_own(Endpoint(4, "8.8.8.8", 53))


def test_the_wanted_family_is_kept():
    assert admit(Target("8.8.8.8", 80, 6)).status is ProbeStatus.NO_NAME
    assert admit(Target("no such name.invalid", 80)).status is ProbeStatus.NO_NAME


@pytest.mark.parametrize("text", ["127.1", "0x7f000001", "2130706433", "017700000001"])
def test_odd_spellings_of_loopback_do_not_pass(text):
    # Whatever the system's resolver makes of them, it is the result that is checked.
    assert isinstance(admit(Target(text, 80)), Refusal)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_an_address_inside_ipv6_is_judged_as_itself(number):
    inner = ip_address(number)
    carried = ip_address(f"::ffff:{inner}")
    assert bool(why_forbidden(inner, (), ())) == bool(why_forbidden(carried, (), ()))


def test_an_endpoint_speaks_its_own_family():
    assert ssrf_guard.Endpoint(6, "::1", 1).domain is socket.AF_INET6
