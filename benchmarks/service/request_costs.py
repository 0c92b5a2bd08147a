"""CPU time of each kind of request in the mix of ``benchmarks.service.load``, and of the mix.

``python -m benchmarks.service.request_costs FOLDER [--scale 1] [--requests 300]`` sends requests of
the mix one after another to one web process with the store of FOLDER, so that no request waits for
another and CPU time can be assigned to its kind: the clock of the process, in which other processes
do not count. Pages that are requested again are answered by the page cache, as under load.
"""

import argparse
import asyncio
import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

import django

from benchmarks.pages.serve import cpu_clock, late
from benchmarks.service.load import SEED, Client, Site, mix_of, running, weight_of
from benchmarks.service.stores import filled_store

WARM_UP = 400


async def measure(
    site: Site, pages: Mapping[str, Callable[[], str]], count: int
) -> dict[str, list[float]]:
    """Return the CPU milliseconds of ``count`` requests of the mix, by kind, after a warm-up."""
    client, clock = Client(site.ports[0]), cpu_clock(site.processes[0].pid)
    chance, found = random.Random(SEED), defaultdict(list)
    names, weights = list(pages), [weight_of(name, pages) for name in pages]
    for number in range(WARM_UP + count):
        name = chance.choices(names, weights)[0]
        path, before = pages[name](), time.clock_gettime(clock)
        status = await client.get(path)
        if status != 200:
            raise SystemExit(f"{path} answered {status}")
        if number >= WARM_UP:
            found[name].append((time.clock_gettime(clock) - before) * 1e3)
    return found


def show(found: Mapping[str, list[float]]) -> None:
    """Print the CPU time of each kind, and the share of the whole that it has."""
    everything = [ms for values in found.values() for ms in values]
    print(f"{'request':26}{'n':>7}{'mean ms':>9}{'p50':>9}{'p95':>9}{'of all':>9}")
    for name, values in [("all", everything), *sorted(found.items())]:
        share = f"{sum(values) / sum(everything):9.1%}"
        cells = (sum(values) / len(values), late(values, 0.5), late(values, 0.95))
        print(f"{name:26}{len(values):7}" + "".join(f"{cell:9.2f}" for cell in cells) + share)


def main() -> None:
    """Fill, start one web process, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--requests", type=int, default=1000)
    chosen = parser.parse_args()
    with filled_store(chosen.folder.resolve(), chosen.scale) as environment:
        os.environ.update(environment)
        django.setup()
        from webapp.store.models import Survey  # noqa: PLC0415  (after Django's setup)

        slug = Survey.objects.filter(finished_at__isnull=False).latest("pk").slug
        with running(environment, 1) as site:
            show(asyncio.run(measure(site, mix_of(slug), chosen.requests)))


if __name__ == "__main__":
    main()
