"""Providers and regions of names in SQL that engines of many machines run unchanged, for surveys
larger than one machine: counts from records and address ranges.

Only what DuckDB and Spark share is used: no ASOF join, no lists, no engine's own types. IPv4 only.
"""

from collections.abc import Iterator, Sequence

# A bucket is a /16, so that an equal number, not a range alone, finds the rows to compare.
BUCKET = 65_536
_OCTETS = " + ".join(
    f"CAST(split_part(data, '.', {place}) AS BIGINT) * {256 ** (4 - place)}"
    for place in range(1, 5)
)
# Each is a view on those before it. ``records`` (domain, name, type, data) and ``ranges`` (bucket,
# low, high, provider, region, kind) are the engine's own tables or files.
VIEWS: dict[str, str] = {
    "facts": """SELECT DISTINCT domain, name, type, data FROM records
WHERE type IN ('A', 'AAAA')
AND (name = domain OR right(name, length(domain) + 1) = concat('.', domain))""",
    "numbers_of": f"SELECT data, {_OCTETS} AS ip FROM "
    "(SELECT DISTINCT data FROM facts WHERE type = 'A') distinct_data",
    "bucketed": f"SELECT data, ip, CAST(floor(ip / {BUCKET}) AS BIGINT) AS bucket FROM numbers_of",
    "located": """SELECT b.data, r.provider, r.region, r.kind FROM bucketed b
JOIN ranges r ON b.bucket = r.bucket AND b.ip >= r.low AND b.ip <= r.high
WHERE r.kind IN ('cloud', 'cdn')""",
    "uses_of": """SELECT DISTINCT f.domain, f.name, l.provider, l.region, l.kind
FROM facts f JOIN located l ON f.data = l.data AND f.type = 'A'""",
    "outside": """SELECT DISTINCT f.name FROM facts f LEFT JOIN located l
ON f.data = l.data AND f.type = 'A' WHERE l.data IS NULL""",
    "owners": """SELECT name, min(provider) AS provider, count(DISTINCT provider) AS n
FROM uses_of GROUP BY name""",
}
# By table id.
RESULTS: dict[str, str] = {
    "providers": """SELECT concat(o.provider, CASE WHEN x.name IS NULL THEN ' only'
ELSE ' + other' END) AS class, count(*) AS subdomains
FROM owners o LEFT JOIN outside x ON o.name = x.name WHERE o.n = 1
GROUP BY concat(o.provider, CASE WHEN x.name IS NULL THEN ' only' ELSE ' + other' END)""",
    "regions": """SELECT provider, region, count(DISTINCT domain) AS domains,
count(DISTINCT name) AS subdomains FROM uses_of
WHERE kind = 'cloud' AND region IS NOT NULL GROUP BY provider, region""",
    "region-counts": """SELECT provider, regions, count(*) AS subdomains FROM (
SELECT provider, name, count(DISTINCT region) AS regions FROM uses_of
WHERE kind = 'cloud' AND region IS NOT NULL GROUP BY provider, name) counted
GROUP BY provider, regions""",
}
Range = tuple[int, int, int]


def split_ranges(starts: Sequence[int], labels: Sequence[int]) -> Iterator[tuple[int, Range]]:
    """(label, (bucket, low, high)) of disjoint intervals that begin at ``starts``, in order.

    An interval ends where the next begins; one without a label (below zero) is left out.
    """
    ends = [*(start - 1 for start in starts[1:]), 2**32 - 1]
    for start, end, label in zip(starts, ends, labels, strict=True):
        if label < 0:
            continue
        for bucket in range(start // BUCKET, end // BUCKET + 1):
            low, high = max(start, bucket * BUCKET), min(end, bucket * BUCKET + BUCKET - 1)
            yield label, (bucket, low, high)
