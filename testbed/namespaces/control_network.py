"""A network beside the Internet of the plan, by which vantage points reach the centre.

Its addresses are private and no route leads there, so that no probe ever meets it.
"""

from collections.abc import Iterator, Sequence

from testbed.namespaces import netns

NODE = "centre"
ADDRESS = "10.254.0.1"
_MOST_HOSTS = 250


def connect_hosts(prefix: str, hosts: Sequence[str]) -> None:
    """Create a link from the centre to each host; raise ``OSError``."""
    if len(hosts) > _MOST_HOSTS:
        raise OSError(f"the centre has room for {_MOST_HOSTS} hosts")
    netns.batch(prefix + NODE, ["link set dev lo up", *_links(prefix, hosts)])
    for number, host in enumerate(hosts):
        netns.batch(prefix + host, _own_end(number))


def _links(prefix: str, hosts: Sequence[str]) -> Iterator[str]:
    for number, host in enumerate(hosts):
        name = f"h{number}"
        yield f"link add name {name} type veth peer name {NODE} netns {prefix}{host}"
        yield f"addr add {ADDRESS} peer {find_address(number)}/32 dev {name}"
        yield f"link set dev {name} up"


def _own_end(number: int) -> Iterator[str]:
    yield f"addr add {find_address(number)} peer {ADDRESS}/32 dev {NODE}"
    yield f"link set dev {NODE} up"


def find_address(number: int) -> str:
    """Return the address of the host of this number, from 0."""
    return f"10.254.0.{number + 2}"
