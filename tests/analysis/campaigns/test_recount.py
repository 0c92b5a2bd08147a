"""Every number of a campaign's tables, counted a second time by plain loops over plain rows."""

import math
import statistics
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.campaigns.aggregation.quantiles import LARGE_CELL, describe
from analysis.campaigns.tables import tables
from lake.campaigns import table_of
from tests.examples import examples

PLACES = [("aws", "east", "a"), ("aws", "east", "b"), ("aws", "west", ""), ("gcp", "north", "a")]
# Few different values, so that ties are frequent; some are no round number in 24 bits.
VALUES = st.lists(st.sampled_from([1.0, 2.0, 2.5, 3.1, 90.0]), max_size=3)
RUNS = st.tuples(
    st.integers(0, 3),
    st.sampled_from(["v1", "v2", "v3"]),
    st.sampled_from(PLACES),
    VALUES,
    st.integers(0, 2),
    st.sampled_from(["tcp-ping", "tcp-ping", "throughput", "jitter"]),
)


def row(run):
    period, vantage, (provider, region, zone), values, lost, probe = run
    return {
        "round": period,
        "vantage": vantage,
        "target": region + zone,
        "provider": provider,
        "region": region,
        "zone": zone,
        "probe": probe,
        "values": values,
        "sent": len(values) + lost,
        "status": "OK" if values else "TIMEOUT",
    }


def quantile(values, share):
    """Linear between neighbours of the order: the place is share × (n - 1)."""
    own = sorted(values)
    place = share * (len(own) - 1)
    low = math.floor(place)
    high = min(low + 1, len(own) - 1)
    return own[low] + (own[high] - own[low]) * (place - low)


def figures(rows):
    """What is in every table of cells."""
    values = [float(np.float32(v)) for r in rows for v in r["values"]]
    sent = sum(r["sent"] for r in rows)
    told = {"sent": sent, "lost": sent - len(values), "n": len(values)}
    told["loss"] = (sent - len(values)) / sent if sent else None
    names = ("mean", "sd", "min", "p50", "p95", "p99", "max")
    told |= dict.fromkeys(names)
    if values:
        told |= {"mean": statistics.fmean(values), "min": min(values), "max": max(values)}
        told |= {f"p{s}": quantile(values, s / 100) for s in (50, 95, 99)}
        told["sd"] = statistics.stdev(values) if len(values) > 1 else None
    return told


def grouped(rows, *keys):
    found = defaultdict(list)
    for r in rows:
        found[tuple(r[k] for k in keys)].append(r)
    return found


def agree(told, expected):
    for key, value in expected.items():
        own = None if told[key] != told[key] else told[key]
        if isinstance(value, int | float):
            value = pytest.approx(value, rel=1e-6, abs=1e-6)
        assert own == value, key


def mean(rows):
    return figures(rows)["mean"]


def best_of(means, sign):
    """The best of named values; of equals the first name."""
    return min(sorted(means), key=lambda name: sign * means[name])


def choice(rows, sign):
    """The usual region of one vantage point, beside the best of each round."""
    by_round = defaultdict(dict)
    for (period, region), own in grouped(rows, "round", "region").items():
        if mean(own) is not None:
            by_round[period][region] = mean(own)
    rounds = [by_round[p] for p in sorted(by_round)]
    regions = {region for r in rounds for region in r}
    if not rounds:
        return {"fixed": None, "rounds": 0}
    heard = {n: [r[n] for r in rounds if n in r] for n in regions}
    often = [n for n in regions if 2 * len(heard[n]) >= len(rounds)]
    often = often or [n for n in regions if len(heard[n]) == max(map(len, heard.values()))]
    fixed = best_of({n: statistics.fmean(heard[n]) for n in often}, sign)
    winners = []
    for values in rounds:
        top = sign * values[best_of(values, sign)]
        winners.append(
            fixed if sign * values.get(fixed, math.inf * sign) == top else best_of(values, sign)
        )
    own = [r[fixed] for r in rounds if fixed in r]
    moving = [r[w] for r, w in zip(rounds, winners, strict=True) if fixed in r]
    gain = sign * (statistics.fmean(own) - statistics.fmean(moving))
    return {
        "fixed": fixed,
        "rounds": len(rounds),
        "unanswered": len(rounds) - len(own),
        "differs": sum(w != fixed for w in winners) / len(rounds),
        "regions": len(set(winners)),
        "changes": sum(a != b for a, b in zip(winners, winners[1:], strict=False)),
        "fixed_mean": statistics.fmean(own),
        "moving_mean": statistics.fmean(moving),
        "gain": gain,
        "gain_share": abs(gain / statistics.fmean(own)),
    }


def extremes(rows, sign):
    means = {k[0]: mean(own) for k, own in grouped(rows, "region").items() if mean(own)}
    if not means:
        return dict.fromkeys(("best", "best_mean", "worst", "worst_mean", "factor"))
    best, worst = best_of(means, sign), best_of(means, -sign)
    return {
        "best": best,
        "best_mean": means[best],
        "worst": worst,
        "worst_mean": means[worst],
        "factor": max(means[best] / means[worst], means[worst] / means[best]),
    }


def zones(rows):
    """Two zones of a region by the vantage points that saw both."""
    found = []
    for region in sorted({r["region"] for r in rows if r["zone"]}):
        own = {
            k: mean(v)
            for k, v in grouped(
                [r for r in rows if r["region"] == region and r["zone"]], "zone", "vantage"
            ).items()
            if mean(v) is not None
        }
        for one, two in combinations(sorted({z for z, _ in own}), 2):
            pairs = [
                (own[one, v], own[two, v]) for z, v in sorted(own) if z == one and (two, v) in own
            ]
            if pairs:
                gaps = [b - a for a, b in pairs]
                half = (
                    1.96 * statistics.stdev(gaps) / math.sqrt(len(gaps)) if len(gaps) > 1 else None
                )
                middle = statistics.fmean(gaps)
                found.append(
                    {
                        "region": region,
                        "first": one,
                        "second": two,
                        "vantages": len(pairs),
                        "difference": middle,
                        "low": None if half is None else middle - half,
                        "high": None if half is None else middle + half,
                        "relative": statistics.median(2 * abs(b - a) / (a + b) for a, b in pairs),
                    }
                )
    return found


def alone(rows, region, sign):
    """One region for all: rounds of a vantage point that no region answered are left out."""
    cells = {
        k: m
        for k, v in grouped(rows, "vantage", "round", "region").items()
        if (m := mean(v)) is not None
    }
    counted = defaultdict(set)
    for vantage, period, _ in cells:
        counted[vantage].add(period)
    penalty = max(cells.values(), default=None) if sign > 0 else 0.0
    told = [[cells.get((v, t, region)) for t in periods] for v, periods in counted.items()]
    answered = [statistics.fmean(c is not None for c in own) for own in told]
    means = [statistics.fmean(penalty if c is None else c for c in own) for own in told]
    rounds = {period for periods in counted.values() for period in periods}
    return {
        "vantage_mean": statistics.fmean(means) if any(answered) else None,
        "answered_share": statistics.fmean(answered) if answered else None,
        "left_out": len(counted) * len(rounds) - sum(map(len, counted.values())),
    }


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(RUNS, min_size=1, max_size=40))
def test_every_table_is_what_plain_loops_say(runs):
    rows = [row(run) for run in runs]
    built = tables.build_tables(table_of("samples", rows))
    reports = {r.id: [dict(zip(r.columns, c, strict=True)) for c in r.rows] for r in built.reports}
    for metric, probe, sign in (("latency", "tcp-ping", 1), ("throughput", "throughput", -1)):
        own = [r for r in rows if r["probe"] == probe]
        if not own:
            assert f"{metric}-grid" not in built.files
            continue
        check_cells(built, reports, metric, own)
        check_choice(built, reports, metric, own, sign)
        told = reports[f"{metric}-zones"]
        expected = zones(own)
        assert len(told) == len(expected)
        for one, other in zip(told, expected, strict=True):
            agree(one, other)
    check_failures(built, reports, rows)


def check_cells(built, reports, metric, own):
    """Pairs, rounds of pairs, vantage points, rounds of regions, and regions."""
    for name, keys, told in (
        ("grid", ("vantage", "region"), built.files[f"{metric}-grid"].to_pylist()),
        ("rounds", ("vantage", "region", "round"), built.files[f"{metric}-rounds"].to_pylist()),
        ("course", ("region", "round"), reports[f"{metric}-course"]),
    ):
        cells = {k: v for k, v in grouped(own, *keys).items() if figures(v)["sent"]}
        assert [tuple(r[k] for k in keys) for r in told] == sorted(cells), name
        for r in told:
            agree(r, figures(cells[tuple(r[k] for k in keys)]))
    for r in reports[f"{metric}-regions"]:
        agree(r, figures(grouped(own, "region")[r["region"],]))


def check_choice(built, reports, metric, own, sign):
    told = built.files[f"{metric}-vantages"].to_pylist()
    by_vantage = grouped(own, "vantage")
    assert [r["vantage"] for r in told] == [k[0] for k in sorted(by_vantage)]
    best = Counter()
    for r in told:
        mine = by_vantage[r["vantage"],]
        agree(r, figures(mine) | choice(mine, sign) | extremes(mine, sign))
        best[r["best"]] += r["best"] is not None
    sent = [v for v in by_vantage.values() if figures(v)["sent"]]
    for r in reports[f"{metric}-regions"]:
        means = [
            m
            for (_, region), v in grouped(own, "vantage", "region").items()
            if region == r["region"] and (m := mean(v)) is not None
        ]
        agree(
            r,
            {
                "vantages": len(means),
                "best_for": best[r["region"]],
                "without_value": len(sent) - len(means),
                **alone(own, r["region"], sign),
            },
        )
    (whole,) = reports[f"{metric}-choice"]
    known = [c for v in by_vantage.values() if (c := choice(v, sign))["fixed"]]
    if known:
        agree(
            whole,
            {
                "vantages": len(by_vantage),
                "without_choice": len(by_vantage) - len(known),
                "never_differs": sum(c["differs"] == 0 for c in known),
                "differs_mean": statistics.fmean(c["differs"] for c in known),
                "gain_mean": statistics.fmean(c["gain"] for c in known),
                "gain_share_max": max(c["gain_share"] for c in known),
            },
        )


def check_failures(built, reports, rows):
    failed = Counter(
        (r["vantage"], r["region"], r["probe"], r["status"]) for r in rows if r["status"] != "OK"
    )
    told = built.files["failed-runs"].to_pylist()
    assert [tuple(r.values()) for r in told] == sorted((*k, n) for k, n in failed.items())
    runs = Counter((r["region"], r["probe"]) for r in rows)
    assert {(r["region"], r["probe"]): r["runs"] for r in reports["failures"]} == runs
    for r in reports["failures"]:
        lost = sum(n for k, n in failed.items() if k[1:3] == (r["region"], r["probe"]))
        agree(r, {"failed": lost, "share": lost / runs[r["region"], r["probe"]]})


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0, 1, 3]))
def test_large_cells_have_the_figures_of_all_their_values(seed, digits):
    """Ties, values of either sign, and cells of every size, on both sides of the limit."""
    chance = np.random.default_rng(seed)
    sizes = [LARGE_CELL + 1, 3, 3 * LARGE_CELL, 0, LARGE_CELL, 1]
    begins = np.concatenate([[0], np.cumsum(sizes)])
    scale = 10.0 ** chance.integers(-3, 6)
    values = (chance.gamma(0.5, scale, begins[-1]) - chance.integers(0, 2) * scale).round(digits)
    values = values.astype(np.float32)
    found = describe(values, begins, (0.5, 0.95, 0.99))
    for at, size in enumerate(sizes):
        own = np.sort(values[begins[at] : begins[at + 1]].astype(np.float64))
        if not size:
            assert np.isnan(found[at]).all()
            continue
        assert found[at, 0] == pytest.approx(own.mean(), rel=1e-9, abs=1e-9)
        if size > 1:
            assert found[at, 1] == pytest.approx(own.std(ddof=1), rel=1e-9, abs=1e-9)
        assert found[at, [2, 6]].tolist() == [own[0], own[-1]]
        wanted = [quantile(own.tolist(), share) for share in (0.5, 0.95, 0.99)]
        assert found[at, 3:6] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
