"""Import speed tests of M-Lab from CSV exports of its tables.

Column names differ by table, year and tool: they are compared without dots, underscores and case.
"""

import csv
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from analysis.campaigns.importers.public_matrices import MAX_RTT_MS, read_errors_as_bad_input
from core.errors import BadInput
from core.files import open_text
from lake.campaigns import table_of

# Normalised column names by meaning; the first one present counts.
_NAMES = {
    "at": ("atesttime", "testtime", "starttime", "logtime", "timestamp", "time", "date"),
    "vantage": (
        "client",
        "clientname",
        "clientnetworkasnumber",
        "clientasn",
        "asn",
        "clientnetworkasname",
        "clientasname",
        "isp",
        "clientgeocountrycode",
        "clientcountrycode",
        "clientcountry",
        "countrycode",
        "country",
    ),
    "region": (
        "site",
        "serversite",
        "serversitename",
        "server",
        "serverhostname",
        "metro",
        "servermetro",
        "serverciatacode",
    ),
    "rate": (
        "ameanthroughputmbps",
        "meanthroughputmbps",
        "downloadmbps",
        "downmeanmbps",
        "downloadspeed",
        "meandownloadthroughputmbps",
        "throughputmbps",
        "mbps",
        "download",
    ),
    "rtt": ("aminrtt", "minrtt", "minrttms", "downminrtt", "rtt", "latency"),
    "loss": ("alossrate", "lossrate", "packetloss", "packetretransmitrate"),
}
# Mbit/s in bytes per second.
_BYTES = 125_000
# (minimum, units per second): exports have seconds, milliseconds or microseconds since 1970.
_EPOCHS = ((1e14, 1e6), (1e11, 1e3), (0.0, 1.0))


def read_mlab(path: Path, round_s: int = 900) -> tuple[pa.Table, pa.Table]:
    """Read speed tests: samples of throughput (bytes/s) and of minimum round-trip times (ms).

    Raise ``BadInput`` naming the line or column.
    """
    rates, rtts = [], []
    with read_errors_as_bad_input(path), open_text(path) as stream:
        reader = csv.DictReader(stream)
        columns = {k: _column(k, reader.fieldnames or ()) for k in _NAMES}
        for line in reader:
            try:
                head = _test(line, columns, round_s)
                rate, rtt, loss = (_value(line, columns[k]) for k in ("rate", "rtt", "loss"))
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
                raise BadInput(f"{path.name}: {error}", line=reader.line_num) from error
            detail = json.dumps({"loss_rate": loss[0]}) if loss else ""
            kept = [r * _BYTES for r in rate]
            rates.append({**_ended(head, kept), "probe": "mlab-throughput", "detail": detail})
            rtts.append({**_ended(head, rtt), "probe": "mlab-min-rtt"})
    return table_of("samples", rates), table_of("samples", rtts if columns["rtt"] else [])


def _ended(head: Mapping[str, Any], values: list[float]) -> dict[str, Any]:
    return {**head, "values": values, "status": "OK" if values else "TIMEOUT"}


def _column(kind: str, names: Iterable[str]) -> str:
    known = {_plain(name): name for name in names if name}
    for name in _NAMES[kind]:
        if name in known:
            return known[name]
    if kind in ("loss", "rtt"):
        return ""
    present = ", ".join(names) or "none"
    raise BadInput(
        f"no column tells {_MEANINGS[kind]}, such as {_EXAMPLES[kind]}; there are: {present}",
        field=kind,
    )


_MEANINGS = {
    "at": "when it was",
    "vantage": "whose test it was",
    "region": "where the server is",
    "rate": "Mbit/s",
}
_EXAMPLES = {
    "at": "TestTime or date",
    "vantage": "ClientASN or client.Geo.CountryCode",
    "region": "Site or server.Site",
    "rate": "MeanThroughputMbps",
}


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


def _test(line: Mapping[str, str], columns: Mapping[str, str], round_s: int) -> dict[str, Any]:
    at = _parse_time(line[columns["at"]].strip())
    return {
        "round": int(at.timestamp()) // round_s,
        "vantage": line[columns["vantage"]],
        "target": line[columns["region"]],
        "region": line[columns["region"]],
        "at": at,
        "sent": 1,
    }


def _parse_time(text: str) -> datetime:
    """Parse a timestamp of an export; without a time zone it is UTC."""
    if text.replace(".", "", 1).isdigit() and len(text) > len("20240101"):
        number = float(text)
        part = next(unit for least, unit in _EPOCHS if number >= least)
        return datetime.fromtimestamp(number / part, UTC)
    at = datetime.fromisoformat(text.removesuffix(" UTC"))
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _value(line: Mapping[str, str], column: str) -> list[float]:
    text = (line.get(column) or "").strip()
    found = [] if text.lower() in ("", "null", "nan", "none") else [float(text)]
    # No link carries as many Mbit/s, and no packet travels as long.
    if not all(0.0 <= value <= MAX_RTT_MS for value in found):
        raise ValueError(f"{text!r} is not a measured value")
    return found
