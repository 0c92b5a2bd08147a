"""Front-end patterns, and instances of a name."""

from collections import Counter
from collections.abc import Iterator

from analysis.deployment import patterns
from analysis.reporting.tables.marginal_note import (
    EXCEPTION,
    MEANING,
    MarginalNote,
    doubt,
    known_rows,
    subdomains,
)
from analysis.reporting.tables.report_table import (
    Claim,
    ReportTable,
    Rows,
    Tables,
    hosted,
    largest,
    rows_of,
    total_of,
    totals_of,
)
from core.wording import SMALL, Portion, number

# label: what one name, and several names, do with it
_FEATURES = {
    "vm": ("answers directly from a virtual machine", "answer directly from virtual machines"),
    "elb": ("uses a load balancer", "use load balancers"),
    "beanstalk": ("runs on Beanstalk", "run on Beanstalk"),
    "heroku-elb": ("runs on Heroku behind a load balancer", "run on Heroku behind load balancers"),
    "heroku": ("runs on Heroku", "run on Heroku"),
    "cloudfront": ("is served by CloudFront", "are served by CloudFront"),
    "cs": ("answers from a cloud service", "answer from cloud services"),
    "tm": ("uses Traffic Manager", "use Traffic Manager"),
    "cdn": ("is served by Azure's CDN", "are served by Azure's CDN"),
}


_UNCLASSIFIED = "unclassified"


def best_feature(tables: Tables) -> Claim | None:
    """Return the share of the most frequent pattern; None where none is known."""
    best = largest(r for r in rows_of(tables, "patterns") if r["feature"] != _UNCLASSIFIED)
    if best is None or not best["subdomains"]:
        return None
    label = best["feature"]
    words = _FEATURES.get(label, (f"shows the pattern {label}", f"show the pattern {label}"))
    return Claim(hosted(best["subdomains"], tables, best["provider"]), *words)


def _patterns(tables: Tables) -> str:
    claim = best_feature(tables)
    if claim:
        return claim.sentence()
    whole = Portion(0, total_of(tables), "cloud-using subdomain", "cloud-using subdomains")
    return whole.sentence("shows a known front-end pattern", "show a known front-end pattern")


def _instances(tables: Tables) -> str:
    own = [r for r in rows_of(tables, "instance-counts") if r["feature"] == "vm"]
    whole = sum(r["subdomains"] for r in own)
    if not whole:
        return "No Amazon-hosted subdomain answers directly from a virtual machine"
    part = sum(r["subdomains"] for r in own if r["instances"] == 1)
    portion = Portion(
        part, whole, "subdomain on virtual machines", "subdomains on virtual machines"
    )
    return portion.sentence("answers from a single address", "answer from a single address")


def _check_patterns(rows: Rows) -> Iterator[str]:
    totals = totals_of(rows)
    named: Counter[str] = Counter()
    for row in rows["patterns"]:
        whole = totals[row["provider"]]
        named[row["provider"]] += row["subdomains"]
        for column in ("domains", "subdomains"):
            if row[column] > whole[column]:
                yield (
                    f"patterns: {row[column]} {row['provider']} {column} with {row['feature']} "
                    f"are more than all {whole[column]}"
                )
        if row["instances"] == 0 and row["subdomains"]:
            yield f"patterns: {row['provider']} {row['feature']} has names but no instance"
    for provider, got in named.items():
        if got < totals[provider]["subdomains"]:
            yield f"patterns: labels and unclassified cover {got} {provider} names, not all"


def _check_instances(rows: Rows) -> Iterator[str]:
    """The names of Figure 10 are those of Table 8, and no instance is without a name."""
    for feature in ("vm", "elb"):
        own = [r for r in rows["instance-counts"] if r["feature"] == feature]
        names = sum(r["subdomains"] for r in own)
        uses = sum(r["instances"] * r["subdomains"] for r in own)
        for row in rows["patterns"]:
            if (row["provider"], row["feature"]) != ("aws", feature):
                continue
            if names != row["subdomains"]:
                yield f"instance-counts: {names} names with {feature}, not {row['subdomains']}"
            if uses < row["instances"]:
                yield f"instance-counts: {uses} uses of {row['instances']} {feature} instances"


def _single_machines(tables: Tables) -> MarginalNote | None:
    own = [r for r in known_rows(tables, "instance-counts") if r["feature"] == "vm"]
    whole = sum(r["subdomains"] for r in own)
    if not whole:
        return None
    part = sum(r["subdomains"] for r in own if r["instances"] == 1)
    machines = Portion(
        part, whole, "subdomain on virtual machines", "subdomains on virtual machines"
    ).sentence("has one address", "have one address")
    return MarginalNote(
        MEANING, f"{machines}: nothing else answers when that machine fails.", "outages"
    )


def _most_balancers(tables: Tables) -> MarginalNote | None:
    rows = [r for r in known_rows(tables, "top-features") if r["elb_ips"]]
    best = max(rows, key=lambda r: r["elb_ips"], default=None)
    if best is None:
        return None
    addresses = number(best["elb_ips"], "load-balancer address", "load-balancer addresses")
    names = Portion(best["elb"], best["aws_subdomains"], "", "").value
    return MarginalNote(
        EXCEPTION,
        f"{best['domain']} has {addresses}, the most of the best-ranked domains on Amazon, for "
        f"{names} {'' if best['aws_subdomains'] < SMALL else 'of its '}subdomains there.",
        domains=(best["domain"],),
    )


def _unclassified(tables: Tables) -> MarginalNote | None:
    rows = known_rows(tables, "patterns")
    part = sum(r["subdomains"] for r in rows if r["feature"] == "unclassified")
    whole = total_of(tables) if "providers" in tables else 0
    if not part or not whole:
        return None
    unseen = subdomains(part, whole).sentence("shows no known pattern", "show no known pattern")
    return doubt(f"{unseen}. A name may show several, so that shares add to more than 100 %.")


TABLES = (
    ReportTable(
        "patterns",
        patterns.patterns,
        _patterns,
        "A name may have several labels: Beanstalk and some Heroku names also count as load "
        "balancers. Instances are distinct addresses, or logical names for cloud services, "
        "Traffic Manager and Azure's CDN. The published figures disagree in three places. The "
        "60,273 PaaS names are not the sum of their parts (60,271). Heroku has 97 % of them in "
        "the text and 99.5 % in the table. The shares of domains fit some 38,000 EC2 domains, not "
        "38,291.",
        checks=(_check_patterns,),
        notes=(
            _single_machines,
            _most_balancers,
            _unclassified,
        ),
    ),
    ReportTable(
        "instance-counts",
        patterns.instance_counts,
        _instances,
        "Distinct instances per name with the feature. These are addresses: of virtual machines, "
        "or of the proxies of load balancers. The published text says that 15 % use three or more "
        "virtual machines; its own plot shows 35 %.",
        checks=(_check_instances,),
        distribution=("feature", "subdomains"),
    ),
)
