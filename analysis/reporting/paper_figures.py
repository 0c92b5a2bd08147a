"""Figures that the study's text gives outside its tables, each as a part of a whole."""

from analysis.deployment.cloud_names import Connection, count, fetch
from core.report_tables import SPEC_BY_ID, Cell, Table, share

_VMS = """SELECT domain, count(DISTINCT instance) AS k FROM labelled
WHERE provider = 'aws' AND label = 'vm' GROUP BY domain"""
_SHARERS = """SELECT instance, count(DISTINCT name) AS k FROM labelled
WHERE provider = 'aws' AND label = 'elb' GROUP BY instance"""
_ZONED = """SELECT n, count(*) AS k, max(region) <> min(region) AS spread
FROM region_locations WHERE provider = 'aws' AND zone IS NOT NULL GROUP BY n"""
_RANKS = """SELECT rank, (SELECT max(rank) FROM ranked) AS last
FROM ranked SEMI JOIN uses USING (domain)"""
_FULLEST = """(SELECT region FROM places WHERE provider = 'aws' GROUP BY region
ORDER BY count(DISTINCT name) DESC, region LIMIT 1)"""
_EC2 = (
    """SELECT p.domain, bool_or(region = fullest) AS partly, bool_and(region = fullest) AS wholly
FROM places p, (SELECT """
    + _FULLEST
    + """ AS fullest) WHERE provider = 'aws' GROUP BY p.domain"""
)
_SERVED = """SELECT domain, count(DISTINCT server) AS k FROM served GROUP BY domain"""
_RELYING = (
    f"""SELECT k FROM ns_domains JOIN cloud_domains USING (d) JOIN ({_SERVED}) USING (domain)"""
)
_AWS_NAMES = "(SELECT count(DISTINCT name) FROM uses WHERE provider = 'aws')"
_AWS_DOMAINS = "(SELECT count(DISTINCT domain) FROM uses WHERE provider = 'aws')"
# figure: a query that gives part and whole
FIGURES: dict[str, str] = {
    "domains in the top quarter of the list": (
        f"SELECT count(*) FILTER (4 * rank <= last), count(*) FROM ({_RANKS})"
    ),
    "domains in the last quarter of the list": (
        f"SELECT count(*) FILTER (4 * rank > 3 * last), count(*) FROM ({_RANKS})"
    ),
    "subdomains called www": (
        "SELECT count(*) FILTER (starts_with(text, 'www.')), count(*) "
        "FROM cloud JOIN name_texts USING (name)"
    ),
    "subdomains in a cloud and elsewhere": (
        "SELECT count(*) FILTER (ends_with(class, '+ other')), count(*) FROM cloud"
    ),
    "EC2 domains with a virtual machine in front": (
        f"SELECT count(*), {_AWS_DOMAINS} FROM ({_VMS})"
    ),
    "of these, with three or more machines": (
        f"SELECT count(*) FILTER (k >= 3), count(*) FROM ({_VMS})"
    ),
    "EC2 domains with a load balancer in front": (
        f"SELECT count(DISTINCT domain), {_AWS_DOMAINS} FROM labelled "
        "WHERE provider = 'aws' AND label = 'elb'"
    ),
    "load balancers' addresses with ten or more subdomains": (
        f"SELECT count(*) FILTER (k >= 10), count(*) FROM ({_SHARERS})"
    ),
    "EC2 subdomains in several zones, of these in several regions": (
        f"SELECT count(*) FILTER (k > 1 AND spread), count(*) FILTER (k > 1) FROM ({_ZONED})"
    ),
    "addresses in EC2 regions with an identified zone": (
        "SELECT count(zone), count(*) FROM address_locations "
        "WHERE provider = 'aws' AND region IS NOT NULL AND fronts"
    ),
    "EC2 domains with a name in the fullest region": (
        f"SELECT count(*) FILTER (partly), {_AWS_DOMAINS} FROM ({_EC2})"
    ),
    "EC2 domains with names in that region only": (
        f"SELECT count(*) FILTER (wholly), {_AWS_DOMAINS} FROM ({_EC2})"
    ),
    "listed domains with names in that region only": (
        f"SELECT count(*) FILTER (wholly), (SELECT count(*) FROM ranked) FROM ({_EC2})"
    ),
    "subdomains with three to ten name servers": (
        f"SELECT count(*) FILTER (k BETWEEN 3 AND 10), count(*) FROM ({_RELYING})"
    ),
}


def text_figures(connection: Connection) -> Table:
    """Every figure of ``FIGURES`` as (figure, share, part, whole)."""
    rows: list[tuple[Cell, ...]] = []
    for figure, query in FIGURES.items():
        part, whole = fetch(connection, query)[0]
        rows.append((figure, share(part, whole), part, whole))
    n = count(connection, "SELECT count(*) FROM cloud")
    return Table("text-figures", SPEC_BY_ID["text-figures"].columns, tuple(rows), n)
