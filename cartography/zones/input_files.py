"""Parse files of own instances, targets, round trips and AZ IDs into observations.

CSV with a header, JSON Lines, a JSON list, or one JSON object with a list per kind.
"""

import csv
import io
import ipaddress
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from cartography.zones.observations import Observations, RoundTrip, Sample, Target, ZoneId
from cartography.zones.pings import read_columns
from core.errors import BadInput

_T = TypeVar("_T")
# A slip of units (seconds or microseconds) shows as a round trip that no ping has.
_LONGEST_MS = 60_000.0


class Row(NamedTuple):
    """One row of a file, with where it is."""

    line: int
    fields: dict[str, str]

    def need(self, name: str) -> str:
        """A field that must be there; raises ``BadInput``."""
        value = self.fields.get(name, "")
        if not value:
            raise BadInput(f"{name} is missing", line=self.line)
        return value


def read_samples(data: bytes) -> tuple[list[Sample], list[ZoneId]]:
    """Own instances, and the AZ IDs that stand beside them; raises ``BadInput``."""
    samples: list[Sample] = []
    ids: dict[ZoneId, None] = {}
    for row in rows_of(data, "samples"):
        region = row.fields.get("region", "")
        own = Sample(region, row.need("account"), row.need("zone"), _address(row, "address"))
        samples.append(own)
        if zone_id := row.fields.get("zone_id", ""):
            ids[ZoneId(region, own.account, own.label, zone_id)] = None
    return samples, list(ids)


def read_targets(data: bytes) -> list[Target]:
    """Targets, each once; raises ``BadInput``."""
    return list(dict.fromkeys(_target(row) for row in rows_of(data, "targets")))


def _target(row: Row) -> Target:
    internal = _address(row, "internal") if row.fields.get("internal") else ""
    return Target(row.need("region"), row.need("target"), internal)


def read_round_trips(data: bytes) -> list[RoundTrip]:
    """Smallest round trip per target and probe's zone; raises ``BadInput``.

    It is ``None`` where no ping was answered. The region may be left out where the target's is
    known, the account where the zone is a common name already.
    """
    if (found := read_columns(data, _LONGEST_MS)) is not None:
        return found
    smallest: dict[tuple[str, str, str, str], float | None] = {}
    for row in rows_of(data, "rtts"):
        fields = row.fields
        key = (
            fields.get("region", ""),
            row.need("target"),
            fields.get("account", ""),
            row.need("zone"),
        )
        value, known = _rtt_ms(row), smallest.get(key)
        smallest[key] = value if known is None else known if value is None else min(known, value)
    return [RoundTrip(*key, value) for key, value in smallest.items()]


def read_zone_ids(data: bytes) -> list[ZoneId]:
    """AZ IDs by account and label; raises ``BadInput``."""
    return [
        ZoneId(row.need("region"), row.need("account"), row.need("zone"), row.need("zone_id"))
        for row in rows_of(data, "zone_ids")
    ]


def observe(
    samples: Sequence[bytes],
    targets: Sequence[bytes],
    rtts: Sequence[bytes],
    zone_ids: Sequence[bytes] = (),
) -> Observations:
    """All files together; raises ``BadInput``.

    Without targets, every address that was probed and is no own instance is one.
    """
    own = [read_samples(data) for data in samples]
    instances = [s for part, _ in own for s in part]
    ids = [z for _, part in own for z in part] + _read(zone_ids, read_zone_ids)
    wanted = list(dict.fromkeys(_read(targets, read_targets)))
    trips = list(_with_regions(_read(rtts, read_round_trips), instances, wanted))
    if not wanted:
        known = {(s.region, s.address) for s in instances}
        probed = dict.fromkeys((t.region, t.target) for t in trips)
        wanted = [Target(*pair) for pair in probed if pair not in known]
    _check(wanted, ids)
    return Observations(tuple(instances), tuple(wanted), tuple(trips), tuple(dict.fromkeys(ids)))


def _with_regions(
    trips: Sequence[RoundTrip], own: Sequence[Sample], targets: Sequence[Target]
) -> Iterator[RoundTrip]:
    """Round trips with the region of their target, which may be an own instance."""
    regions = {s.address: s.region for s in own} | {t.target: t.region for t in targets}
    every = set(regions.values())
    only = every.pop() if len(every) == 1 else ""
    for trip in trips:
        region = trip.region or regions.get(trip.target, only)
        if not region:
            raise BadInput("its region is not known; add a column region", field=trip.target)
        yield trip if trip.region else trip._replace(region=region)


def _read(files: Sequence[bytes], read: Callable[[bytes], list[_T]]) -> list[_T]:
    return [row for data in files for row in read(data)]


def _check(targets: Sequence[Target], ids: Sequence[ZoneId]) -> None:
    """What no single row shows: a target or label with two meanings."""
    internal: dict[tuple[str, str], str] = {}
    for target in targets:
        if internal.setdefault(target[:2], target.internal) != target.internal:
            raise BadInput("it has two internal addresses", field=f"target {target.target}")
    named: dict[tuple[str, str, str], str] = {}
    for row in ids:
        if named.setdefault(row[:3], row.zone_id) != row.zone_id:
            raise BadInput("it has two zone IDs", field=f"zone {row.label} of {row.account}")


def rows_of(data: bytes, kind: str) -> Iterator[Row]:
    """Rows of a file in any of the forms; raises ``BadInput``."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"the file is not UTF-8 at byte {error.start}", field=kind) from error
    lead = text.lstrip()[:1]
    if lead in ("[", "{"):
        return _json_rows(text, kind)
    return _csv_rows(text, kind)


def _csv_rows(text: str, kind: str) -> Iterator[Row]:
    # The reader refuses a lone carriage return, which some spreadsheets end lines with.
    reader = csv.DictReader(io.StringIO(text, newline=None))
    try:
        if not reader.fieldnames:
            raise BadInput("the file is empty", field=kind)
        reader.fieldnames = [name.strip().lower() for name in reader.fieldnames]
        for row in reader:
            fields = {k: (v or "").strip() for k, v in row.items() if isinstance(k, str)}
            if any(fields.values()):
                yield Row(reader.line_num, fields)
    except csv.Error as error:
        raise BadInput(f"the CSV is damaged: {error}", line=reader.line_num) from error


def _json_rows(text: str, kind: str) -> Iterator[Row]:
    for n, item in enumerate(_items(text, kind), start=1):
        if not isinstance(item, dict):
            raise BadInput(f"entry {n} is not an object", field=kind)
        yield Row(n, {str(k).lower(): "" if v is None else str(v).strip() for k, v in item.items()})


def _items(text: str, kind: str) -> Sequence[Any]:
    """A list, the list of that kind in an object, or one object per line."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        return [_line(n, line) for n, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if isinstance(document, dict) and isinstance(document.get(kind), list):
        return list(document[kind])
    return document if isinstance(document, list) else [document]


def _line(number: int, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput(f"this is not JSON: {error.msg}", line=number) from error


def _address(row: Row, name: str) -> str:
    text = row.need(name)
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        raise BadInput(f"{text!r} is not an {name}", line=row.line) from error


def _rtt_ms(row: Row) -> float | None:
    text = row.fields.get("rtt_ms", "")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= _LONGEST_MS:
        raise BadInput(f"{text!r} is not a round-trip time in milliseconds", line=row.line)
    return value
