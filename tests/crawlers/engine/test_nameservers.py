import ipaddress

import pytest

from core.errors import BadInput, MissingData
from crawlers.engine.nameservers import may_query_found, parse_server, system_name_servers


def test_it_works():
    assert str(parse_server("192.0.2.1")) == "192.0.2.1:53"
    assert str(parse_server("192.0.2.1:5300")) == "192.0.2.1:5300"
    assert str(parse_server("[2001:db8::1]:5300")) == "[2001:db8::1]:5300"
    assert parse_server("2001:db8::1").port == 53


@pytest.mark.parametrize("text", ["", "ns1.example.com", "192.0.2.1:0", "192.0.2.1:x", "300.1.1.1"])
def test_other_text_is_refused(text):
    with pytest.raises(BadInput, match="name-server"):
        parse_server(text)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "169.254.169.254",
        "224.0.0.1",
        "0.0.0.0",
        "::1",
        "fe80::1",
        "x",
    ],
)
def test_servers_that_were_found_are_not_asked_in_private_space(address):
    assert not may_query_found(address)


def test_public_ones_are_and_private_ones_when_allowed_by_name():
    assert may_query_found("8.8.8.8")
    assert may_query_found("10.1.2.3", [ipaddress.ip_network("10.0.0.0/8")])
    assert not may_query_found("10.1.2.3", [ipaddress.ip_network("fd00::/8")])


def test_system_resolvers_come_from_the_file(tmp_path):
    path = tmp_path / "resolv.conf"
    path.write_text("# comment\nnameserver 192.0.2.53\nsearch x\n")
    assert [str(s) for s in system_name_servers(path)] == ["192.0.2.53:53"]
    with pytest.raises(MissingData, match="--name-server"):
        system_name_servers(tmp_path / "none")
