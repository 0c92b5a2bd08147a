"""Proves that a page answers changed constraints at once: 100 regions, 5,000 clients, by the view.

Everything that the server does is counted: reading the address, solving, checking the proof,
consequences, the page. Runs in a temporary folder that is removed again.
"""

import argparse
import csv
import io
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import django
import numpy as np
from django.conf import settings
from django.core.management import call_command
from django.test import Client

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.regions.instances import Instance, generate
from benchmarks.regions.page import change

QUESTIONS, CURVES = 100, 10
COUNTRIES = ("DE", "US", "JP", "BR", "IN", "FR", "GB")


def main() -> None:
    """Ask as a person at the controls would; print percentiles of CPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"NEPHOSCOPE_DATA": folder, "DJANGO_SETTINGS_MODULE": "webapp.settings"}
        measure(options.seed)


def measure(seed: int) -> None:
    """Prepare the site, ask and print."""
    django.setup()
    # Only now: its models need the settings above.
    advising = import_module("tasks.recommendations.celery_tasks")
    settings.ALLOWED_HOSTS = ["*"]
    call_command("migrate", verbosity=0)
    instance = generate(100, 5000, 1)
    regions = instance.samples.regions
    row = advising.create(files_of(instance), {"current": [regions[0], regions[7]]}, None)
    advising.solve(row.pk)
    client, chance = Client(), np.random.default_rng(seed)
    client.get(f"/recommendations/{row.token}/")
    spent: dict[str, list[float]] = {"set": [], "curve": []}
    unproven = 0
    for number in range(QUESTIONS + 1):
        query = question(chance, instance)
        for part in ("set", "curve") if number <= CURVES else ("set",):
            begun = time.process_time()
            reply = client.get(f"/recommendations/{row.token}/", {**query, "part": part})
            # The first question makes samples ready, which no further one does.
            if number:
                spent[part].append(time.process_time() - begun)
            unproven += part == "set" and b"data-open" in reply.content
    for part, seconds in spent.items():
        ends = np.percentile(seconds, (50, 95, 100)) * 1000
        print(f"{part}: CPU ms median {ends[0]:.0f}, p95 {ends[1]:.0f}, worst {ends[2]:.0f}")
    print(f"{unproven} of {QUESTIONS + 1} first answers still open, proven by the next request")


def question(chance: np.random.Generator, instance: Instance) -> dict[str, Any]:
    """Draw constraints as the form sends them."""
    k = int(chance.integers(2, 9))
    asked = change(chance, instance.regions, instance.facts(), k)
    query: dict[str, Any] = {"set": "1", "k": str(k), "provider": sorted(asked.providers)}
    query["include"] = ",".join(sorted(asked.include))
    query["exclude"] = ",".join(sorted(asked.exclude))
    for name in ("per_provider", "price_ceiling"):
        if getattr(asked, name) is not None:
            query[name] = getattr(asked, name)
    return query


def files_of(instance: Instance) -> dict[str, bytes]:
    """The instance as a tenant would upload it."""
    samples, facts = instance.samples, instance.facts()
    cells = (
        (1, client, region, samples.values[j, i, 0])
        for j, region in enumerate(samples.regions)
        for i, client in enumerate(samples.clients)
    )
    places = ((r, facts[r].provider, facts[r].price) for r in samples.regions)
    homes = ((c, COUNTRIES[i % len(COUNTRIES)]) for i, c in enumerate(samples.clients))
    weights = zip(samples.clients, samples.weights, strict=True)
    return {
        "samples": table(("round", "client", "region", "value"), cells),
        "weights": table(("client", "weight"), weights),
        "regions": table(("region", "provider", "price"), places),
        "clients": table(("client", "country"), homes),
    }


def table(prefix: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """A CSV."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(prefix)
    writer.writerows(rows)
    return text.getvalue().encode()


if __name__ == "__main__":
    main()
