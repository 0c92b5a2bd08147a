"""Findings in one sentence, with the number in it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.reporting.study_headlines import STUDY_HEADLINES
from core.report_tables import Table
from core.wording import Portion, number, provider_name

Tables = Mapping[str, Table]
Row = dict[str, Any]
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


@dataclass(frozen=True, slots=True)
class Finding:
    """A figure, its statement, and the table that shows it."""

    value: str
    text: str
    table_id: str


@dataclass(frozen=True, slots=True)
class _Claim:
    """A portion with what it does, in the singular and the plural, and what follows from it."""

    portion: Portion
    singular: str
    plural: str
    so: str = ""

    def sentence(self) -> str:
        return self.portion.sentence(self.singular, self.plural)

    def finding(self, table_id: str) -> Finding:
        text = self.portion.tail(self.singular, self.plural)
        return Finding(self.portion.value, f"{text} {self.so}".strip(), table_id)


def headline(table_id: str, tables: Tables, n_domains: int | None = None) -> str:
    """Return the headline of one table, also when there is nothing to report.

    ``n_domains`` is how many domains were asked, where that is known.
    """
    stands_alone = table_id.startswith("dangling") and tables[table_id].rows
    if not _total(tables) and not stands_alone:
        return _nothing(n_domains)
    return _HEADLINES[table_id](tables)


def front_findings(tables: Tables) -> tuple[Finding, ...]:
    """Return the three findings of the start page; none where no name uses a cloud.

    Where all names stand behind a CDN there is no region to speak of, so others step in.
    """
    if not _total(tables):
        return ()
    claims = (
        ("region-counts", _single_region(tables)),
        ("regions", _best_region(tables)),
        ("patterns", _best_feature(tables)),
        ("providers", _leading_provider(tables)),
        ("name-servers", _servers_outside(tables)),
    )
    found = [claim.finding(table_id) for table_id, claim in claims if claim]
    return tuple(found[:3])


def _rows(table: Table) -> list[Row]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def _best(rows: Iterable[Row]) -> Row | None:
    """The row with the most subdomains, the first of equals."""
    return max(rows, key=lambda r: r["subdomains"], default=None)


def _provider_totals(tables: Tables) -> dict[str, int]:
    return {
        r["class"].removesuffix("total").strip(): r["subdomains"]
        for r in _rows(tables["providers"])
        if r["class"].endswith("total")
    }


def _total(tables: Tables) -> int:
    return _provider_totals(tables).get("", 0)


def _nothing(n_domains: int | None) -> str:
    if n_domains == 0:
        return "No domain was surveyed"
    if n_domains == 1:
        return "No cloud-using subdomain was found in the only domain asked"
    among = "these domains" if n_domains is None else number(n_domains, "domain")
    return f"No cloud-using subdomain was found among {among}"


def _hosted(part: int, tables: Tables, provider: str, whole: int | None = None) -> Portion:
    """Return a share of a provider's subdomains, of all of them without ``whole``."""
    name = provider_name(provider)
    if whole is None:
        whole = _provider_totals(tables).get(provider, 0)
    return Portion(part, whole, f"{name}-hosted subdomain", f"{name}-hosted subdomains")


def _leading_provider(tables: Tables) -> _Claim:
    totals = _provider_totals(tables)
    whole = totals.pop("")
    leader = max(totals, key=lambda p: totals[p])
    portion = Portion(totals[leader], whole, "cloud-using subdomain", "cloud-using subdomains")
    return _Claim(portion, f"uses {provider_name(leader)}", f"use {provider_name(leader)}")


def _best_feature(tables: Tables) -> _Claim | None:
    best = _best(r for r in _rows(tables["patterns"]) if r["feature"] != _UNCLASSIFIED)
    if best is None or not best["subdomains"]:
        return None
    label = best["feature"]
    words = _FEATURES.get(label, (f"shows the pattern {label}", f"show the pattern {label}"))
    return _Claim(_hosted(best["subdomains"], tables, best["provider"]), *words)


def _best_region(tables: Tables) -> _Claim | None:
    best = _best(_rows(tables["regions"]))
    if best is None:
        return None
    portion = _hosted(best["subdomains"], tables, best["provider"])
    alone = f"{best['only_here']:,} of them {'has' if best['only_here'] == 1 else 'have'}"
    return _Claim(
        portion,
        f"is in {best['region']}",
        f"are in {best['region']}",
        f"{alone} no other region to fall back on." if best["subdomains"] > 1 else "",
    )


def _leading_in_regions(tables: Tables) -> str | None:
    """The provider with the most names that have a region."""
    sizes: Counter[str] = Counter()
    for row in _rows(tables["region-counts"]):
        sizes[row["provider"]] += row["subdomains"]
    return max(sizes, key=lambda p: sizes[p]) if sizes else None


def _single_region(tables: Tables) -> _Claim | None:
    leader = _leading_in_regions(tables)
    if leader is None:
        return None
    own = [r for r in _rows(tables["region-counts"]) if r["provider"] == leader]
    part = sum(r["subdomains"] for r in own if r["regions"] == 1)
    portion = _hosted(part, tables, leader, sum(r["subdomains"] for r in own))
    return _Claim(portion, "is in a single region", "are in a single region")


def _servers_outside(tables: Tables) -> _Claim | None:
    rows = {r["location"]: r["name_servers"] for r in _rows(tables["name-servers"])}
    if not rows["total"]:
        return None
    one, many = ("name server" + s + " of cloud-using domains" for s in ("", "s"))
    portion = Portion(rows["other"], rows["total"], one, many)
    return _Claim(portion, "is not in any known cloud", "are not in any known cloud")


def _providers(tables: Tables) -> str:
    claim = _leading_provider(tables)
    portion = claim.portion
    if portion.is_small or portion.part == portion.whole:
        return claim.sentence()
    return f"{portion.value} of {portion.whole:,} {portion.many} {claim.plural}"


def _patterns(tables: Tables) -> str:
    claim = _best_feature(tables)
    if claim:
        return claim.sentence()
    whole = Portion(0, _total(tables), "cloud-using subdomain", "cloud-using subdomains")
    return whole.sentence("shows a known front-end pattern", "show a known front-end pattern")


_NO_REGION = "No front end is in a region of a known cloud"


def _regions(tables: Tables) -> str:
    claim = _best_region(tables)
    return claim.sentence() if claim else _NO_REGION


def _region_counts(tables: Tables) -> str:
    claim = _single_region(tables)
    return claim.sentence() if claim else _NO_REGION


def _region_means(tables: Tables) -> str:
    leader = _leading_in_regions(tables)
    if leader is None:
        return _NO_REGION
    own = [r for r in _rows(tables["domain-region-means"]) if r["provider"] == leader]
    part = sum(r["domains"] for r in own if r["mean_at_most"] == 1)
    name = provider_name(leader)
    portion = Portion(
        part, sum(r["domains"] for r in own), f"domain on {name}", f"domains on {name}"
    )
    return portion.sentence(
        "keeps every subdomain in one region", "keep every subdomain in one region"
    )


def _instances(tables: Tables) -> str:
    own = [r for r in _rows(tables["instance-counts"]) if r["feature"] == "vm"]
    whole = sum(r["subdomains"] for r in own)
    if not whole:
        return "No Amazon-hosted subdomain answers directly from a virtual machine"
    part = sum(r["subdomains"] for r in own if r["instances"] == 1)
    portion = Portion(
        part, whole, "subdomain on virtual machines", "subdomains on virtual machines"
    )
    return portion.sentence("answers from a single address", "answer from a single address")


_NO_SERVER = "No name server of the cloud-using domains is known"


def _name_servers(tables: Tables) -> str:
    claim = _servers_outside(tables)
    return claim.sentence() if claim else _NO_SERVER


def _server_counts(tables: Tables) -> str:
    rows = _rows(tables["name-server-counts"])
    if not rows:
        return _NO_SERVER
    part = sum(r["subdomains"] for r in rows if 3 <= r["name_servers"] <= 10)
    whole = sum(r["subdomains"] for r in rows)
    portion = Portion(part, whole, "cloud-using subdomain", "cloud-using subdomains")
    return portion.sentence(
        "relies on three to ten name servers", "rely on three to ten name servers"
    )


def _top_domains(tables: Tables) -> str:
    rows = _rows(tables["top-domains"])
    if not rows:
        return "None of these domains uses Amazon"
    best = rows[0]
    there = f"{best['aws_subdomains']:,} of its {best['subdomains']:,} subdomains"
    if best["aws_subdomains"] == best["subdomains"]:
        there = "its only subdomain" if best["subdomains"] == 1 else "all its subdomains"
    lead = f"{best['domain']}, ranked {best['rank']:,}, is the best-ranked domain on Amazon"
    return f"{lead}, with {there} there"


def _top_features(tables: Tables) -> str:
    rows = _rows(tables["top-features"])
    if not rows:
        return "None of these domains uses Amazon"
    part = sum(r["vm"] > 0 for r in rows)
    portion = Portion(part, len(rows), "domain on Amazon", "best-ranked domains on Amazon")
    return portion.sentence("uses virtual machines", "use virtual machines")


def _top_regions(tables: Tables) -> str:
    rows = _rows(tables["top-regions"])
    wide = sum(r["k2"] + r["k3_or_more"] > 0 for r in rows)
    portion = Portion(wide, len(rows), "cloud-using domain", "best-ranked cloud-using domains")
    return portion.sentence(
        "has a subdomain in more than one region", "have a subdomain in more than one region"
    )


_HEADLINES: dict[str, Callable[[Tables], str]] = {
    "providers": _providers,
    "patterns": _patterns,
    "regions": _regions,
    "region-counts": _region_counts,
    "domain-region-means": _region_means,
    "instance-counts": _instances,
    "name-servers": _name_servers,
    "name-server-counts": _server_counts,
    "top-domains": _top_domains,
    "top-features": _top_features,
    "top-regions": _top_regions,
    **STUDY_HEADLINES,
}
