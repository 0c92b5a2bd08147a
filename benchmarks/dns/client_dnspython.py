"""A peer as one would write it with dnspython: the asynchronous resolver, a hundred tasks at once.

Names file, output file and ``address:port`` of each server are its arguments; the output has one
JSON line per name.
"""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import dns.asyncresolver
import dns.exception
import dns.resolver

TASKS = 100


async def main(names_file: str, out_file: str, *servers: str) -> None:
    """Resolve every name."""
    resolver = dns.asyncresolver.Resolver(configure=False)
    resolver.nameservers = [server.rpartition(":")[0] for server in servers]
    resolver.port = int(servers[0].rpartition(":")[2])
    resolver.rotate = True
    names = iter(Path(names_file).read_text().split())
    with Path(out_file).open("w") as out:
        await asyncio.gather(*(_work(resolver, names, out) for _ in range(TASKS)))


async def _work(resolver: dns.asyncresolver.Resolver, names: Iterator[str], out: TextIO) -> None:
    for name in names:
        row = {"name": name, "status": "NOERROR", "chain": [], "addresses": []}
        try:
            answer = await resolver.resolve(name + ".", "A")
        except dns.resolver.NXDOMAIN:
            row["status"] = "NXDOMAIN"
        except dns.resolver.NoAnswer:
            row["status"] = "NODATA"
        except dns.exception.DNSException as error:
            row["status"] = type(error).__name__
        else:
            row["chain"] = [
                r.target.to_text(True) for s in answer.chaining_result.cnames for r in s
            ]
            row["addresses"] = [r.address for r in answer]
        out.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
