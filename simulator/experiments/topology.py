"""Topologies of data centres: cost, wiring, bisection, path diversity, failures, convergence."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from simulator.experiments.declaration import (
    Conditions,
    Experiment,
    Parameter,
    Published,
    Result,
    Run,
    summarise,
)
from simulator.topology import builders, closed_forms
from simulator.topology.graph import Topology
from simulator.topology.measurement import Metrics, measure
from simulator.topology.paths import switch_distances

Built = tuple[Topology, float | None]
N_GRAPHS = 10


def _exactly(value: float) -> Published:
    return Published(value, absolute=0.0)


# Published or confirmed counts by kind and sizes (spec: figures of He's proposal, section 5.2).
KNOWN: dict[tuple[Any, ...], dict[str, Published]] = {
    ("fat-tree", 4): {
        "hosts": _exactly(16),
        "switches": _exactly(20),
        "links": _exactly(32),
        "paths_between_pods": _exactly(4),
        "bisection": _exactly(8),
    },
    ("fat-tree", 8): {
        "hosts": _exactly(128),
        "switches": _exactly(80),
        "links": _exactly(256),
        "paths_between_pods": _exactly(16),
        "bisection": _exactly(64),
    },
    ("fat-tree", 48): {
        "hosts": _exactly(27_648),
        "switches": _exactly(2_880),
        "links": _exactly(55_296),
        "paths_between_pods": _exactly(576),
        "bisection": _exactly(13_824),
    },
    ("bcube", 8, 3): {
        "hosts": _exactly(4_096),
        "switches": _exactly(2_048),
        "disjoint_paths": _exactly(4),
    },
    ("vl2", 144, 144): {"hosts": _exactly(103_680)},
    ("jellyfish", 245, 12): {"mean_switch_distance": Published(2.49, absolute=0.02)},
    ("jellyfish", 80, 6): {"mean_switch_distance": Published(2.58, absolute=0.02)},
    ("jellyfish", 720, 19): {"mean_switch_distance": Published(2.57, absolute=0.02)},
}


def _fat_tree(c: Conditions) -> Built:
    k = c.integer("k")
    return builders.build_fat_tree(k), closed_forms.fat_tree(k)


def _f10(c: Conditions) -> Built:
    k = c.integer("k")
    return builders.build_f10(k), closed_forms.fat_tree(k)


def _leaf_spine(c: Conditions) -> Built:
    sizes = c.integer("leaves"), c.integer("spines"), c.integer("hosts_per_leaf")
    return builders.build_leaf_spine(*sizes), closed_forms.leaf_spine(*sizes)


def _vl2(c: Conditions) -> Built:
    sizes = c.integer("d_a"), c.integer("d_i"), 20, 10
    return builders.build_vl2(*sizes), closed_forms.vl2(*sizes)


def _bcube(c: Conditions) -> Built:
    sizes = c.integer("n"), c.integer("k")
    return builders.build_bcube(*sizes), closed_forms.bcube(*sizes)


def _jellyfish(c: Conditions) -> Built:
    sizes = c.integer("n"), c.integer("k"), c.integer("r")
    return builders.build_jellyfish(*sizes, c.seed), None


def _jupiter(c: Conditions) -> Built:
    sizes = tuple(c.integer(name) for name in ("blocks", "spines", "racks", "hosts_per_leaf"))
    return builders.build_jupiter(*sizes), closed_forms.jupiter(*sizes)


BUILDERS: dict[str, Callable[[Conditions], Built]] = {
    "fat-tree": _fat_tree,
    "leaf-spine": _leaf_spine,
    "vl2": _vl2,
    "bcube": _bcube,
    "jellyfish": _jellyfish,
    "f10": _f10,
    "jupiter": _jupiter,
}
# Names of the parameters that each kind reads, in the order of its published notation.
SIZES = {
    "fat-tree": ("k",),
    "leaf-spine": ("leaves", "spines", "hosts_per_leaf"),
    "vl2": ("d_a", "d_i"),
    "bcube": ("n", "k"),
    "jellyfish": ("n", "k", "r"),
    "f10": ("k",),
    "jupiter": ("blocks", "spines", "racks", "hosts_per_leaf"),
}


def run(conditions: Conditions) -> Run:
    """Build the topology and measure it."""
    kind = conditions.text("kind")
    topology, exact = BUILDERS[kind](conditions)
    conditions.report(0.1)
    metrics = measure(
        topology,
        exact,
        conditions.number("failed_percent") / 100,
        conditions.integer("failure_rounds"),
        conditions.seed,
        conditions.report,
    )
    sizes = tuple(conditions.integer(name) for name in SIZES[kind])
    known = KNOWN.get((kind, *sizes), {})
    if kind == "jellyfish":
        known = KNOWN.get((kind, sizes[0], sizes[2]), {})
    results = [*_counts(metrics, known), *_failures(metrics, conditions)]
    if kind == "jellyfish":
        results = [_over_graphs(row, sizes, conditions.seed) for row in results]
    return Run(tuple(results), len(topology.cables), charts(topology, metrics))


def _counts(m: Metrics, known: dict[str, Published]) -> list[Result]:
    values: list[tuple[str, float | None, str]] = [
        ("hosts", m.n_hosts, ""),
        ("switches", m.n_switches, ""),
        ("links", m.n_links, ""),
        ("cables", m.n_cables, ""),
        ("switch_ports", m.n_ports, ""),
        ("ports_per_host", m.n_ports / m.n_hosts, ""),
        ("paths_between_pods", m.paths_between_pods, ""),
        ("paths_inside_pod", m.paths_inside_pod, ""),
        ("disjoint_paths", m.disjoint_paths, ""),
        ("mean_switch_distance", m.mean_distance, "hops"),
        ("diameter", m.diameter, "hops"),
        ("cable_length", m.cable_length_m, "m"),
        ("links_between_pods", 100 * m.share_between_pods, "%"),
    ]
    rows = [
        Result(name, value, unit, published=known.get(name))
        for name, value, unit in values
        if value is not None
    ]
    bounds = m.bisection
    interval = None if bounds.is_exact else (bounds.low, bounds.high)
    note = bounds.method if bounds.is_exact else f"upper bound; interval by {bounds.method}"
    rows.append(
        Result("bisection", bounds.high, "host cables", interval, known.get("bisection"), note)
    )
    rows.append(Result("bisection_per_host", bounds.high / m.n_hosts, "host cables"))
    return rows


def _over_graphs(row: Result, sizes: Sequence[int], seed: int) -> Result:
    """Replace the mean distance of one random graph by that of several."""
    if row.name != "mean_switch_distance":
        return row
    random = np.random.default_rng(seed)
    n, k, r = sizes
    means = [
        float(switch_distances(builders.build_jellyfish(n, k, r, seed + i), random).mean())
        for i in range(N_GRAPHS)
    ]
    return summarise(row.name, means, row.unit, row.published, f"mean of {N_GRAPHS} random graphs")


def _failures(m: Metrics, conditions: Conditions) -> list[Result]:
    rows = [Result("hosts_cut_by_a_switch", m.hosts_cut_by_a_switch)]
    for level, share in m.capacity_lost.items():
        name = f"capacity_lost_by_{level.replace(' ', '_')}_switch"
        rows.append(Result(name, 100 * share, "%"))
    rows.append(_survived("host_pairs_connected", m.survival.pairs))
    if m.survival.capacity is not None:
        rows.append(_survived("capacity_left", m.survival.capacity))
    if m.convergence is not None:
        detection, hop, install = (
            conditions.number(name) for name in ("detection_ms", "hop_ms", "install_ms")
        )
        rows.append(Result("switches_updated", m.convergence.n_switches, "per failed cable"))
        time_ms = detection + m.convergence.n_hops * hop + install
        rows.append(Result("convergence", time_ms, "ms"))
    return rows


def _survived(name: str, mean: tuple[float, float]) -> Result:
    value, error = 100 * mean[0], 100 * mean[1]
    return Result(name, value, "%", (value - 1.96 * error, min(value + 1.96 * error, 100.0)))


def charts(topology: Topology, metrics: Metrics) -> tuple[dict[str, Any], ...]:
    """The distribution of distances, and the drawing of a small topology."""
    total = sum(metrics.distance_counts.values())
    found: list[dict[str, Any]] = [
        {
            "kind": "bars",
            "title": "Distance between switches of hosts",
            "unit": "%",
            "rows": [
                {"label": f"{hops} hops", "value": 100 * n / total}
                for hops, n in metrics.distance_counts.items()
            ],
        }
    ]
    if len(topology.cables) <= 600:
        found.append(
            {
                "kind": "topology",
                "title": "Wiring",
                "n_hosts": topology.n_hosts,
                "levels": topology.levels.tolist(),
                "level_names": list(topology.level_names),
                "links": topology.links.tolist(),
                "host_links": topology.host_links.tolist(),
            }
        )
    return tuple(found)


def _size(name: str, default: int, low: int, high: int, description: str) -> Parameter:
    return Parameter(name, default, description, low=low, high=high)


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    return (
        f"{v['hosts']:,.0f} hosts on {v['switches']:,.0f} switches: {v['ports_per_host']:.2g} "
        f"switch ports per host buy {100 * v['bisection_per_host'] / 0.5:.0f} % of a full "
        f"bisection and {v['disjoint_paths']:.0f} disjoint paths"
    )


EXPERIMENT = Experiment(
    id="topology",
    title="Topologies of data centres",
    question="What do the wiring plans of data centres cost, and what do they survive?",
    source="He, thesis proposal, section 5.2; definitions of each topology",
    parameters=(
        Parameter("kind", "fat-tree", "wiring plan", choices=tuple(BUILDERS)),
        _size("k", 8, 0, 64, "ports per switch (fat-tree, F10, Jellyfish); highest level (BCube)"),
        _size("n", 8, 2, 4096, "ports per switch (BCube); switches (Jellyfish)"),
        _size("r", 6, 1, 96, "ports to other switches (Jellyfish)"),
        _size("leaves", 16, 2, 1024, "leaf switches (leaf-spine)"),
        _size("spines", 8, 1, 1024, "spine switches (leaf-spine, Jupiter)"),
        _size("hosts_per_leaf", 8, 1, 128, "hosts of a leaf or rack (leaf-spine, Jupiter)"),
        _size("d_a", 8, 2, 256, "ports per aggregation switch (VL2)"),
        _size("d_i", 8, 2, 256, "ports per intermediate switch (VL2)"),
        _size("blocks", 8, 2, 128, "aggregation blocks (Jupiter)"),
        _size("racks", 8, 1, 128, "racks of a block (Jupiter)"),
        Parameter("failed_percent", 10.0, "cables that fail at random", unit="%", low=0, high=90),
        _size("failure_rounds", 20, 1, 1000, "rounds of random failures"),
        Parameter("detection_ms", 10.0, "time to detect a failure", unit="ms", low=0, high=60_000),
        Parameter("hop_ms", 1.0, "time to announce it by one hop", unit="ms", low=0, high=60_000),
        Parameter("install_ms", 10.0, "time to install routes", unit="ms", low=0, high=60_000),
    ),
    run=run,
    meaning=(
        "A fat-tree pays two and a half switches per host port for as many equal paths as it has "
        "core switches. Random graphs carry more hosts with the same switches, at the price of "
        "wiring that cannot be bundled."
    ),
    leaves_out="Prices of parts, power, growth in steps, routing other than by shortest paths.",
    headline=headline,
)
