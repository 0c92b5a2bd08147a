"""Every set, weighed by definition in exact fractions; shares no line with the product."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations


def points(samples):
    """Rows of (weight, value per region), a value being None where no answer came.

    Rounds of a client that no region answered are left out; the others share its weight.
    """
    rows = []
    for c in range(len(samples.clients)):
        own = []
        for t in range(len(samples.rounds)):
            cells = [samples.values[r, c, t] for r in range(len(samples.regions))]
            own.append([None if v != v else Fraction(str(float(v))) for v in cells])
        own = [cells for cells in own if any(v is not None for v in cells)]
        weight = Fraction(str(float(samples.weights[c])))
        rows += [(weight / len(own), cells) for cells in own]
    return rows


def points_by_group(samples):
    """Rows of ``points`` for each group of clients that has weight."""
    found = {}
    for name in sorted(set(samples.groups)):
        own = [c for c, group in enumerate(samples.groups) if group == name]
        part = (
            replace(
                samples,
                clients=tuple(samples.clients[c] for c in own),
                values=samples.values[:, own],
                weights=samples.weights[own] + 0.0,
                groups=(),
            )
            if samples.weights[own].any()
            else None
        )
        rows = points(part) if part else []
        if sum(w for w, _ in rows):
            found[name] = rows
    return found


def worst_group_ranking(samples, k, objective, constraints):
    """All allowed sets with the worst mean of a group, best first."""
    groups, penalty = points_by_group(samples), penalty_of(points(samples), objective)
    weigh = worst_loss if constraints.survive_loss else value
    worst = max if objective.measure == "latency" else min
    found = []
    for chosen in combinations(range(len(samples.regions)), k):
        if allowed([samples.regions[r] for r in chosen], constraints):
            means = [weigh(rows, chosen, objective, penalty) for rows in groups.values()]
            found.append((worst(means), chosen))
    return sorted(found, key=lambda f: f[0], reverse=objective.measure != "latency")


def penalty_of(rows, objective):
    if objective.penalty is not None:
        return Fraction(str(float(objective.penalty)))
    if objective.measure == "throughput":
        return Fraction(0)
    return max((v for _, cells in rows for v in cells if v is not None), default=Fraction(0))


def value(rows, chosen, objective, penalty):
    pick = min if objective.measure == "latency" else max
    got = []
    for weight, cells in rows:
        answered = [cells[r] for r in chosen if cells[r] is not None]
        if answered:
            got.append((pick(answered), weight))
        elif objective.missing == "penalty":
            got.append((penalty, weight))
    total = sum(w for _, w in got)
    if not total:
        return None
    if objective.percentile is None:
        return sum(v * w for v, w in got) / total
    return percentile(got, Fraction(str(objective.percentile)) / 100 * total, pick is max)


def percentile(got, enough, downwards):
    reached = Fraction(0)
    for v, w in sorted(got, reverse=downwards):
        reached += w
        if reached >= enough:
            return v
    raise AssertionError("no percentile")


def worst_loss(rows, chosen, objective, penalty):
    left = [value(rows, [j for j in chosen if j != lost], objective, penalty) for lost in chosen]
    return (max if objective.measure == "latency" else min)(left)


def near_enough(rows, chosen, c):
    """Whether, whichever region is lost, little enough weight is left too far or unanswered."""
    if c.after_loss_ms is None:
        return True
    most = Fraction(str(c.after_loss_share)) * sum(w for w, _ in rows)
    for lost in chosen:
        rest = [j for j in chosen if j != lost]
        near = [
            any(cells[j] is not None and cells[j] <= Fraction(str(c.after_loss_ms)) for j in rest)
            for _, cells in rows
        ]
        if sum(w for (w, _), fine in zip(rows, near, strict=True) if not fine) > most:
            return False
    return True


def allowed(names, c):
    facts = [c.facts[n] for n in names]
    kinds = [f.provider for f in facts]
    homes = c.countries | c.continents
    marks = [{n, f.provider, f.country, f.continent} for n, f in zip(names, facts, strict=True)]
    price = sum(Fraction(str(f.price)) for f in facts)
    return all(
        (
            not c.providers or set(kinds) <= c.providers,
            not homes or all({f.country, f.continent} & homes for f in facts),
            c.per_provider is None or max(map(kinds.count, kinds)) <= c.per_provider,
            all(sum(bool(m & p.within) for m in marks) >= p.at_least for p in c.presence),
            c.price_ceiling is None or price <= Fraction(str(c.price_ceiling)),
            c.include <= set(names),
            not c.exclude & set(names),
        )
    )


def ranking(samples, k, objective, constraints):
    """All allowed sets with their values, best first."""
    rows = points(samples)
    penalty = penalty_of(rows, objective)
    found = []
    for chosen in combinations(range(len(samples.regions)), k):
        names = [samples.regions[r] for r in chosen]
        if allowed(names, constraints) and near_enough(rows, chosen, constraints):
            record_feasible = worst_loss if constraints.survive_loss else value
            worth = record_feasible(rows, chosen, objective, penalty)
            if worth is not None:
                found.append((worth, chosen))
    return sorted(found, key=lambda f: f[0], reverse=objective.measure != "latency")
