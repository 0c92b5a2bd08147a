"""Proves hold-out errors of the model of paths beside those of two numbers, on published matrices.

Needs the matrices: a folder with ``wondernetwork`` (pings between cities) and RIPE Atlas' means
between countries. Three splits, each in both directions of odd and even: sources, pairs of places,
and places (no pair of a client's place is in the fit, in either direction).
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis.impact.latency_models.distance_model import ideal_ms
from analysis.impact.latency_models.hold_out import measure_errors, number_places
from analysis.impact.latency_models.pair_files import read_latency_pairs, read_places
from analysis.impact.latency_models.pair_matrices import Pairs, mirror_mesh, select_possible
from analysis.impact.latency_models.path_model import fit_paths
from analysis.impact.latency_models.stated_model import STATED
from core.files import open_text

GOAL = 0.67


def main() -> None:
    """Print one line for each matrix and split, and the speed of a large prediction."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of latency matrices")
    folder = parser.parse_args().data
    cities = folder / "wondernetwork"
    countries = folder / "ripe-atlas-country-rtt-2025-04.csv.gz"
    matrices = {
        "cities": _read(cities / "pings-2018-11-sources-odd.csv.xz", cities / "cities.csv"),
        "countries": _read(countries),
    }
    print("matrix     split    half       n   two numbers     model of paths  ratio       fit")
    for name, pairs in matrices.items():
        _compare(name, pairs)
        possible, impossible = select_possible(pairs)
        print(f"{name}: without {impossible} of {pairs.n_pairs} pairs faster than light in vacuum")
        _compare(name, possible)
    _time(matrices["cities"])


def _read(path: Path, places: Path | None = None) -> Pairs:
    known = {}
    if places:
        with open_text(places) as stream:
            known = read_places(stream)
    with open_text(path) as stream:
        return read_latency_pairs(stream, known, path.name).pairs


def _compare(name: str, pairs: Pairs) -> None:
    for split, half, matrix, seen, tested in _splits(pairs):
        begun = time.process_time()
        model = fit_paths(
            Pairs(matrix.sources, matrix.targets, np.where(seen, matrix.rtt_ms, np.nan))
        )
        spent = time.process_time() - begun
        measured = np.where(tested, matrix.rtt_ms, np.nan)
        stated = measure_errors(STATED.predict(matrix.sources, matrix.targets), measured)
        found = measure_errors(model.predict(matrix.sources, matrix.targets), measured)
        ratios = found.median / stated.median, found.p90 / stated.p90
        print(
            f"{name:10s} {split:8s} {half:5s} {found.pairs:6d}  "
            f"{stated.median:6.1%} {stated.p90:6.1%}  {found.median:6.1%} {found.p90:6.1%}  "
            f"{ratios[0]:.2f} {ratios[1]:.2f} {spent:.1f} s"
            f"{'' if max(ratios) <= GOAL else ' above the goal'}",
            flush=True,
        )


def _splits(pairs: Pairs) -> Iterator[tuple[str, str, Pairs, np.ndarray, np.ndarray]]:
    """Yield split, half that is tested, matrix, which pairs are in the fit, which are tested."""
    mesh = mirror_mesh(pairs)
    rows = np.arange(len(pairs.sources))[:, None] % 2
    sources, targets = number_places(*mesh.ends())
    low = np.minimum(sources[:, None], targets[None, :])
    high = np.maximum(sources[:, None], targets[None, :])
    parity = (low + high // 2) % 2
    for half, name in enumerate(("odd", "even")):
        is_tested = np.broadcast_to(rows == half, pairs.rtt_ms.shape)
        yield "sources", name, pairs, ~is_tested, is_tested
        yield "pairs", name, mesh, parity != half, (parity == half) & (sources[:, None] == low)
        row, column = (ends % 2 == half for ends in (sources, targets))
        yield "places", name, mesh, ~row[:, None] & ~column, row[:, None] & ~column


def _time(pairs: Pairs) -> None:
    model = fit_paths(pairs)
    clients = [pairs.sources[i % len(pairs.sources)] for i in range(10_000)]
    regions = [pairs.targets[j % len(pairs.targets)] for j in range(500)]
    begun = time.process_time()
    found = model.predict(clients, regions)
    spent = time.process_time() - begun
    begun = time.process_time()
    ideal_ms(clients, regions)
    light = time.process_time() - begun
    print(f"prediction of {found.shape}: {spent:.1f} CPU s, {light:.1f} of it distances")


if __name__ == "__main__":
    main()
