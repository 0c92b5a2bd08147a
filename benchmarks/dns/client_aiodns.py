"""A peer as one would write it with aiodns: a hundred tasks at once.

Names file, output file and ``address:port`` of each server are its arguments; the output has one
JSON line per name. aiodns reports a name without data and a missing name as errors.
"""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import aiodns

TASKS = 100
_STATUSES = {1: "NODATA", 4: "NXDOMAIN"}


async def main(names_file: str, out_file: str, *servers: str) -> None:
    """Resolve every name."""
    port = int(servers[0].rpartition(":")[2])
    addresses = [server.rpartition(":")[0] for server in servers]
    resolver = aiodns.DNSResolver(nameservers=addresses, udp_port=port, tcp_port=port, rotate=True)
    names = iter(Path(names_file).read_text().split())
    with Path(out_file).open("w") as out:
        await asyncio.gather(*(_work(resolver, names, out) for _ in range(TASKS)))


async def _work(resolver: aiodns.DNSResolver, names: Iterator[str], out: TextIO) -> None:
    for name in names:
        row = {"name": name, "status": "NOERROR", "chain": [], "addresses": []}
        try:
            answer = await resolver.query_dns(name + ".", "A")
        except aiodns.error.DNSError as error:
            row["status"] = _STATUSES.get(error.args[0], str(error.args[0]))
        else:
            row["chain"] = [r.data.cname for r in answer.answer if hasattr(r.data, "cname")]
            row["addresses"] = [r.data.addr for r in answer.answer if hasattr(r.data, "addr")]
        out.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
