"""The best-ranked domains: names, features and regions."""

from collections.abc import Iterator

from analysis.deployment import top_domains
from analysis.reporting.tables.marginal_note import (
    EXCEPTION,
    MEANING,
    MarginalNote,
    doubt,
    known_rows,
)
from analysis.reporting.tables.report_table import ReportTable, Rows, Tables, rows_of
from core.report_tables import TOP_CLOUD_DOMAINS, TOP_EC2_DOMAINS
from core.wording import Portion


def _top_domains(tables: Tables) -> str:
    rows = rows_of(tables, "top-domains")
    if not rows:
        return "None of these domains uses Amazon"
    best = rows[0]
    there = f"{best['aws_subdomains']:,} of its {best['subdomains']:,} subdomains"
    if best["aws_subdomains"] == best["subdomains"]:
        there = "its only subdomain" if best["subdomains"] == 1 else "all its subdomains"
    lead = f"{best['domain']}, ranked {best['rank']:,}, is the best-ranked domain on Amazon"
    return f"{lead}, with {there} there"


def _top_features(tables: Tables) -> str:
    rows = rows_of(tables, "top-features")
    if not rows:
        return "None of these domains uses Amazon"
    part = sum(r["vm"] > 0 for r in rows)
    portion = Portion(part, len(rows), "domain on Amazon", "best-ranked domains on Amazon")
    return portion.sentence("uses virtual machines", "use virtual machines")


def _top_regions(tables: Tables) -> str:
    rows = rows_of(tables, "top-regions")
    wide = sum(r["k2"] + r["k3_or_more"] > 0 for r in rows)
    portion = Portion(wide, len(rows), "cloud-using domain", "best-ranked cloud-using domains")
    return portion.sentence(
        "has a subdomain in more than one region", "have a subdomain in more than one region"
    )


def _check_top_domains(rows: Rows) -> Iterator[str]:
    top, features = rows["top-domains"], rows["top-features"]
    for table_id, limit in (
        ("top-domains", TOP_EC2_DOMAINS),
        ("top-features", TOP_EC2_DOMAINS),
        ("top-regions", TOP_CLOUD_DOMAINS),
    ):
        order = [(r["rank"], r["domain"]) for r in rows[table_id]]
        if order != sorted(order) or len(order) > limit:
            yield f"{table_id}: not the {limit} best-ranked domains in order"
    keys = ("rank", "domain", "aws_subdomains")
    if [[r[k] for k in keys] for r in top] != [[r[k] for k in keys] for r in features]:
        yield "top-features: not the same domains and names as top-domains"
    for row in top:
        if row["aws_subdomains"] > row["subdomains"]:
            yield f"top-domains: {row['domain']} has more names on AWS than names"


def _check_top_features(rows: Rows) -> Iterator[str]:
    for row in rows["top-features"]:
        if any(row[k] > row["aws_subdomains"] for k in ("vm", "paas", "elb", "cdn")):
            yield f"top-features: {row['domain']} has a feature on more names than it has"
        if (row["elb"] > 0) != (row["elb_ips"] > 0):
            yield f"top-features: {row['domain']} has load balancers without addresses"


def _check_top_regions(rows: Rows) -> Iterator[str]:
    for row in rows["top-regions"]:
        placed = row["k1"] + row["k2"] + row["k3_or_more"]
        if placed > row["cloud_subdomains"] or (placed > 0) != (row["regions"] > 0):
            yield f"top-regions: the names of {row['domain']} do not add up"


def _share_on_amazon(tables: Tables) -> MarginalNote | None:
    rows = known_rows(tables, "top-domains")
    whole = sum(r["subdomains"] for r in rows)
    if len(rows) < 2 or not whole:
        return None
    claim = Portion(
        sum(r["aws_subdomains"] for r in rows), whole, "subdomain", "subdomains"
    ).sentence("is on Amazon", "are on Amazon")
    return MarginalNote(
        MEANING,
        f"{claim}, of the {len(rows)} best-ranked domains that use it: most of their names are "
        "elsewhere."
        if 2 * sum(r["aws_subdomains"] for r in rows) < whole
        else f"{claim}, of the {len(rows)} best-ranked domains that use it.",
        "providers",
    )


def _most_on_amazon(tables: Tables) -> MarginalNote | None:
    rows = [r for r in known_rows(tables, "top-domains") if r["subdomains"] >= 2]
    best = max(rows, key=lambda r: r["aws_subdomains"] / r["subdomains"], default=None)
    if best is None or len(rows) < 2:
        return None
    return MarginalNote(
        EXCEPTION,
        f"{best['domain']} has the greatest share on Amazon: {best['aws_subdomains']:,} of "
        f"{best['subdomains']:,} subdomains.",
        domains=(best["domain"],),
    )


def _top_doubt(tables: Tables) -> MarginalNote | None:
    rows = known_rows(tables, "top-domains")
    if not rows:
        return None
    least = min(r["subdomains"] for r in rows)
    most = max(r["subdomains"] for r in rows)
    return doubt(
        f"{least:,} to {most:,} subdomains were found in each domain; a word list misses what it "
        "does not hold, so that these are lower bounds."
    )


TABLES = (
    ReportTable(
        "top-domains",
        top_domains.top_domains,
        _top_domains,
        "The ten best-ranked domains with a name on AWS. The totals come from enumeration. They "
        "are lower bounds, since a word list finds only the names that it holds.",
        checks=(_check_top_domains,),
        notes=(
            _share_on_amazon,
            _most_on_amazon,
            _top_doubt,
        ),
    ),
    ReportTable(
        "top-features",
        top_domains.top_features,
        _top_features,
        "Features of the same ten domains. PaaS is Beanstalk and Heroku, with or without a load "
        "balancer. The published table also marks CDNs other than CloudFront, which are not "
        "detected.",
        checks=(_check_top_features,),
    ),
    ReportTable(
        "top-regions",
        top_domains.top_regions,
        _top_regions,
        "The fifteen best-ranked domains with a name in any cloud. The columns count names by "
        "their number of regions, over all providers. The published table has fourteen and leaves "
        "out conduit.com. Other tables of the study rank it 38th, so it belongs here.",
        checks=(_check_top_regions,),
    ),
)
