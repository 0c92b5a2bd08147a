"""Find the ISPs next to the clouds in files of traceroutes, for ``isp-diversity``.

RIPE Atlas, scamper and Globalping as JSON, and parts of own campaigns: detected by their contents.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.campaigns.importers.globalping import read_globalping
from analysis.campaigns.importers.ripe_atlas import AtlasFiles
from analysis.campaigns.importers.scamper import read_scamper
from analysis.campaigns.routes import diversity
from analysis.campaigns.routes.address_owners import Addresses
from analysis.campaigns.routes.downstream_isp import ROUTES, find_isps
from cartography.asn.names import read_as_names
from core.errors import BadInput, reason_of
from core.files import DamagedStream, PlainReader

_HEAD_OCTETS = 1 << 16
_MOST_ROWS = 200_000


@dataclass
class Traces:
    """What was read: routes, and how many results, probes and reached targets there were."""

    routes: list[pa.Table] = field(default_factory=list)
    results: int = 0
    reached: int = 0
    malformed: int = 0
    probes: set[str] = field(default_factory=set)

    def add(self, table: pa.Table, addresses: Addresses) -> None:
        """Find the ISPs of a table of paths."""
        self.results += table.num_rows
        self.reached += pc.sum(table["reached"]).as_py() or 0
        self.probes |= set(pc.unique(table["vantage"].cast(pa.string())).to_pylist())
        self.routes.append(find_isps(table, addresses))

    def table(self) -> pa.Table:
        """All routes."""
        return pa.concat_tables(self.routes) if self.routes else ROUTES.empty_table()


def read_traces(files: Sequence[Path], addresses: Addresses) -> Traces:
    """Read files of any known form; raises ``BadInput`` naming the one that is of none."""
    found = Traces()
    by_form: dict[str, list[Path]] = {}
    for path in files:
        by_form.setdefault(form_of(path), []).append(path)
    for form, paths in by_form.items():
        for table in _READERS[form](paths, found):
            found.add(table, addresses)
    if not found.results:
        names = ", ".join(path.name for path in files)
        raise BadInput(
            f"there is no traceroute in {names}; {found.malformed:,} results are of another kind"
            " or damaged"
        )
    return found


def form_of(path: Path) -> str:
    """What a file holds, by its beginning; raises ``BadInput``."""
    head = _head(path)
    if head.startswith(b"PAR1"):
        return "lake"
    if b'"prb_id"' in head or b'"msm_id"' in head:
        return "atlas"
    compact = head.replace(b" ", b"")
    if b'"type":"trace"' in compact or b'"type":"tracelb"' in compact or b"cycle-start" in compact:
        return "scamper"
    if b'"results"' in compact and b'"probe"' in compact:
        return "globalping"
    raise BadInput(
        f"{path.name} is neither RIPE Atlas, scamper or Globalping JSON nor a part of the lake"
    )


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return PlainReader(file).read(_HEAD_OCTETS)
    except (OSError, DamagedStream) as error:
        raise BadInput(f"cannot read {path}: {reason_of(error)}") from error


def _atlas(paths: Sequence[Path], found: Traces) -> Iterator[pa.Table]:
    files = AtlasFiles(paths)
    yield from files.traceroutes()
    found.malformed += files.malformed


def _scamper(paths: Sequence[Path], found: Traces) -> Iterator[pa.Table]:
    imported = read_scamper(paths)
    found.malformed += imported.malformed
    yield imported.paths


def _globalping(paths: Sequence[Path], found: Traces) -> Iterator[pa.Table]:
    imported = read_globalping(paths)
    found.malformed += imported.malformed
    yield imported.paths


def _lake(paths: Sequence[Path], found: Traces) -> Iterator[pa.Table]:
    for path in paths:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(_MOST_ROWS):
                yield pa.Table.from_batches([batch])


_READERS = {"atlas": _atlas, "scamper": _scamper, "globalping": _globalping, "lake": _lake}


def isp_document(found: Traces, names: dict[int, str]) -> dict[str, Any]:
    """The stable JSON form: per zone, the ISPs of certain routes, and the unknown by reason."""
    routes = found.table()
    shares = _by_zone(diversity.isp_shares(routes, diversity.ZONE))
    unknown = _by_zone(diversity.unknown_reasons(routes, diversity.ZONE))
    doubtful = _by_zone(_doubtful(routes))
    regions = []
    for row in diversity.diversity_table(routes, diversity.ZONE):
        key = tuple(row[k] for k in diversity.ZONE)
        regions.append(
            {
                **dict(zip(diversity.ZONE, key, strict=True)),
                "traces": row["routes"],
                "distinct": row["isps"],
                "effective": row["effective"],
                "isps": [_isp(r, names) for r in shares.get(key, ())],
                "unknown": {r["reason"]: r["routes"] for r in unknown.get(key, ())},
                "certain": row["certain"],
                "doubtful": row["doubtful"],
                "doubtful_isps": [_isp(r, names) for r in doubtful.get(key, ())],
                "distinct_with_doubtful": row["isps_with_doubtful"],
                "ends": row["ends"],
            }
        )
    traces = {
        "results": found.results,
        "probes": len(found.probes),
        "reached": found.reached,
        "malformed": found.malformed,
    }
    hint = find_hint(regions)
    notes = [*NOTES, hint] if hint else list(NOTES)
    return {"traces": traces, "regions": regions, "notes": notes}


def find_hint(regions: Sequence[dict[str, Any]]) -> str:
    """What to do where no route is certain; empty where one is."""
    if any(row["certain"] for row in regions):
        return ""
    reasons: Counter[str] = Counter()
    for row in regions:
        reasons.update(row["unknown"])
    listed = ", ".join(f"{reason.replace('_', ' ')} {n:,}" for reason, n in reasons.most_common())
    most = reasons.most_common(1)
    way = _NO_CLOUD if most and most[0][0] == "no_cloud_end" else _NO_ORIGIN
    return f"no route is certain ({listed or 'no cloud was reached'}): {way}"


_NO_CLOUD = (
    "no table of ranges holds an end of them; see manage.py ranges list, and import one with"
    " manage.py ranges import PROVIDER FILE, or name one with --ranges PROVIDER=F"
)
_NO_ORIGIN = (
    "a table of origin ASes that is small, or of another year than the traceroutes, leaves networks"
    " without a name; see manage.py asn list, and choose a table with --asn-as-of DATE or --asn F"
)


NOTES = (
    "distinct counts ISPs of certain routes, and is a lower bound: one that carried no measured "
    "route was not seen",
    "share is of certain routes; routes with a silent or unannounced hop before the ISP are "
    "doubtful, and counted apart",
)


def _doubtful(routes: pa.Table) -> list[dict[str, Any]]:
    kept = routes.filter(pc.and_(pc.is_valid(routes["isp"]), routes["doubtful"]))
    # They are counted as if they were certain.
    sure = kept.set_column(
        kept.schema.get_field_index("doubtful"), "doubtful", pa.repeat(pa.scalar(False), len(kept))
    )
    return diversity.isp_shares(sure, diversity.ZONE)


def _by_zone(rows: Sequence[dict[str, Any]]) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row[k] for k in diversity.ZONE), []).append(row)
    return found


def _isp(row: dict[str, Any], names: dict[int, str]) -> dict[str, Any]:
    asn = row["isp"]
    return {"asn": asn, "name": names.get(asn, ""), "traces": row["routes"], "share": row["share"]}


def read_names(path: Path) -> dict[int, str]:
    """Names of ASes from a list of any known form; raises ``BadInput``."""
    try:
        return read_as_names(path.read_bytes())
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    except BadInput as error:
        raise BadInput(f"{path.name}: {error}", field="--names") from error


def read_prefixes(path: Path) -> list[str]:
    """Prefixes of exchanges, the first word of each line; raises ``BadInput``."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}: {reason_of(error)}") from error
    words = [line.replace(",", " ").split() for line in lines if not line.startswith("#")]
    return [w[0] for w in words if w]
