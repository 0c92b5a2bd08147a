"""Zeek's logs of clients that use the names of a world: connections and TLS hellos."""

import math
import random
from collections.abc import Iterator
from typing import Any

from testbed.world.model import World

# Clients are in this private network; the hours of a week have the load of a campus.
CLIENTS = "10.20.0.0/16"
START_S, HOURS = 1_364_169_600, 7 * 24
_FIELDS = {
    "conn": (
        "ts",
        "uid",
        "id.orig_h",
        "id.orig_p",
        "id.resp_h",
        "id.resp_p",
        "proto",
        "service",
        "orig_bytes",
        "resp_bytes",
        "orig_ip_bytes",
        "resp_ip_bytes",
    ),
    "ssl": (
        "ts",
        "uid",
        "id.orig_h",
        "id.orig_p",
        "id.resp_h",
        "id.resp_p",
        "server_name",
        "established",
    ),
}
_PORTS = ((443, "ssl", 0.62), (80, "http", 0.3), (22, "ssh", 0.03), (1935, "-", 0.05))
Cells = dict[str, Any]


def build_logs(world: World, flows: int = 12_000) -> dict[str, str]:
    """Texts of ``conn.log`` and ``ssl.log``; equal arguments give equal texts."""
    logs = {kind: [_header(kind)] for kind in _FIELDS}
    for kind, cells in _rows(world, flows):
        values = (str(cells.get(name, "-")) for name in _FIELDS[kind])
        logs[kind].append("\t".join(values))
    return {f"{kind}.log": "\n".join(lines) + "\n" for kind, lines in logs.items()}


def _header(kind: str) -> str:
    fields = "\t".join(_FIELDS[kind])
    return (
        "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n"
        f"#path\t{kind}\n#fields\t{fields}"
    )


def _rows(world: World, flows: int) -> Iterator[tuple[str, Cells]]:
    chance = random.Random(f"{world.id}:traffic")
    ends = [
        (name.fqdn, address)
        for _, name in world.names()
        for address in name.addresses
        if not name.hidden
    ]
    # Few names have most of the traffic, in the order of the domain list.
    weights = [1 / (1 + at) ** 0.9 for at in range(len(ends))]
    hours = [1.2 + math.cos((hour % 24 - 15) / 24 * 2 * math.pi) for hour in range(HOURS)]
    chosen = chance.choices(ends, weights, k=flows)
    times = chance.choices(range(HOURS), hours, k=flows)
    ports = chance.choices(_PORTS, [share for _, _, share in _PORTS], k=flows)
    for number, ((name, address), hour, (port, service, _)) in enumerate(
        zip(chosen, sorted(times), ports, strict=True)
    ):
        size = int(chance.lognormvariate(8.6, 1.9))
        sent = int(chance.lognormvariate(6.6, 1.0))
        flow = {
            "ts": f"{START_S + hour * 3600 + chance.random() * 3599:.6f}",
            "uid": f"C{number:08x}",
            "id.orig_h": f"10.20.{chance.randrange(8)}.{chance.randrange(1, 255)}",
            "id.orig_p": chance.randrange(32_768, 61_000),
            "id.resp_h": address,
            "id.resp_p": port,
        }
        conn = {
            "proto": "tcp",
            "service": service,
            "orig_bytes": sent,
            "resp_bytes": size,
            "orig_ip_bytes": sent + 40 * (3 + sent // 1400),
            "resp_ip_bytes": size + 40 * (3 + size // 1400),
        }
        yield "conn", flow | conn
        if service == "ssl":
            yield "ssl", flow | {"server_name": name, "established": "T"}
