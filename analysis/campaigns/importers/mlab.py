"""Speed tests of M-Lab, as exports of its tables give them in CSV, become samples.

Names of columns differ by table, year and tool: points, underscores and letters' case are nothing.
"""

import csv
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from analysis.campaigns.importers.public_matrices import LONGEST_MS, sound_file
from core.errors import BadInput
from core.files import open_text
from lake.campaigns import table_of

# What a column is called without points, underscores and capitals; the first that is there counts.
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
# Tests tell seconds since 1970 in some exports, and thousandths or millionths in others.
_EPOCHS = ((1e14, 1e6), (1e11, 1e3), (0.0, 1.0))


def read_mlab(path: Path, round_s: int = 900) -> tuple[pa.Table, pa.Table]:
    """Speed tests as CSV: samples of throughput (bytes per second) and of least round trips (ms).

    Raises ``BadInput`` naming the line or column.
    """
    rates, rtts = [], []
    with sound_file(path), open_text(path) as stream:
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
    told = ", ".join(names) or "none"
    raise BadInput(
        f"no column tells {_MEANINGS[kind]}, such as {_EXAMPLES[kind]}; there are: {told}",
        field=kind,
    )


_MEANINGS = {
    "at": "when it was",
    "vantage": "whose test it was",
    "region": "where the server stands",
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
    at = _moment(line[columns["at"]].strip())
    return {
        "round": int(at.timestamp()) // round_s,
        "vantage": line[columns["vantage"]],
        "target": line[columns["region"]],
        "region": line[columns["region"]],
        "at": at,
        "sent": 1,
    }


def _moment(text: str) -> datetime:
    """A moment as exports write it; without a zone it is UTC."""
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
    if not all(0.0 <= value <= LONGEST_MS for value in found):
        raise ValueError(f"{text!r} is no measured value")
    return found
