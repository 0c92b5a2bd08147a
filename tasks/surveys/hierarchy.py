"""An emulated DNS hierarchy from root servers down, and what a perfect resolver finds in it."""

import re
from collections.abc import Callable
from typing import Any

from core.errors import BadInput
from core.signals import STOPPING, caught
from testbed.hierarchy import server
from testbed.hierarchy.generation import generate_hierarchy
from testbed.hierarchy.internet import Hierarchy

_LOOPBACK = re.compile(r"127\.(\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])")


class Stopped(Exception):
    """Raised by a signal, to leave the loop of the servers."""


def build_hierarchy(
    zones: int, names: int, *, seed: int = 1, network: str = "127.53", faults: bool = True
) -> Hierarchy:
    """A hierarchy of about ``zones`` zones on addresses of ``network``; raises ``BadInput``."""
    if not _LOOPBACK.fullmatch(network):
        raise BadInput(f"{network} is not the beginning 127.N of addresses", field="network")
    if zones < 1 or names < 1:
        raise BadInput("there is at least one zone with one name", field="zones")
    return generate_hierarchy(zones, names, seed=seed, network=network, faults=faults)


def describe_hierarchy(hierarchy: Hierarchy, port: int) -> dict[str, Any]:
    """Roots, sizes, and every question with its true answer."""
    answers = ((name, rtype, hierarchy.truth(name, rtype)) for name, rtype in hierarchy.questions)
    return {
        "roots": [f"{root}:{port}" for root in hierarchy.roots],
        "zones": len(hierarchy.zones),
        "servers": len(hierarchy.held),
        "questions": [
            {"name": name, "type": rtype, **expected._asdict()} for name, rtype, expected in answers
        ],
    }


def serve_hierarchy(hierarchy: Hierarchy, port: int, ready: Callable[[], None]) -> None:
    """Answer until SIGTERM or SIGINT arrives; raises ``Unavailable`` for an address in use."""

    def stop() -> None:
        raise Stopped

    try:
        with caught(stop, *STOPPING):
            server.serve(hierarchy, port, ready)
    except Stopped:
        pass
