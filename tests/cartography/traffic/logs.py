"""A small world for traffic: sample ranges, made-up logs, and an import of them."""

from pathlib import Path

import pyarrow.parquet as pq

from cartography.placement.cloud_table import PrefixTable
from cartography.traffic.address_cache import LocalNetworks
from cartography.traffic.anonymization import Pseudonymizer
from cartography.traffic.log_import import FlowImport
from cartography.traffic.table_by_date import TablesByDate
from core.providers import PROVIDERS
from lake.traffic import FlowWriter
from tests.cartography.ranges.files import read_sample

# The cast: a machine of each place.
VIRGINIA, OREGON, CLOUDFRONT = "198.51.100.5", "198.51.100.130", "198.51.100.200"
AZURE, GOOGLE, GOOGLES_OWN = "192.0.2.20", "203.0.113.5", "203.0.113.130"
V6_VIRGINIA = "2001:db8:1::5"
ALICE, BOB, STRANGER = "10.0.0.1", "10.0.0.2", "9.9.9.9"
KEY = bytes(range(32))
TABLE = PrefixTable.build(
    [
        read_sample(name)
        for name in (
            "aws-sample.json",
            "azure-tags-sample.json",
            "google-cloud-sample.json",
            "google-goog-sample.json",
        )
    ]
)
CONN = (
    "ts",
    "uid",
    "id.orig_h",
    "id.orig_p",
    "id.resp_h",
    "id.resp_p",
    "proto",
    "service",
    "orig_bytes",
    "resp_bytes",
    "local_orig",
    "local_resp",
    "missed_bytes",
    "orig_pkts",
    "orig_ip_bytes",
    "resp_pkts",
    "resp_ip_bytes",
    "tunnel_parents",
)
HTTP = (
    "ts",
    "uid",
    "id.orig_h",
    "id.orig_p",
    "id.resp_h",
    "id.resp_p",
    "trans_depth",
    "host",
    "uri",
    "request_body_len",
    "response_body_len",
)
SSL = (
    "ts",
    "uid",
    "id.orig_h",
    "id.orig_p",
    "id.resp_h",
    "id.resp_p",
    "version",
    "server_name",
    "subject",
    "cert_chain_fuids",
    "established",
)
X509 = ("ts", "id", "certificate.version", "certificate.subject", "san.dns")
DNS = ("ts", "uid", "id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p", "proto", "query", "answers")
FIELDS = {"conn": CONN, "http": HTTP, "ssl": SSL, "x509": X509, "dns": DNS}
_USUAL = {
    "ts": "1719792000.500000",
    "id.orig_p": "40000",
    "id.resp_p": "443",
    "proto": "tcp",
    "orig_ip_bytes": "100",
    "resp_ip_bytes": "900",
    "trans_depth": "1",
    "established": "T",
}


def header(kind, fields=None, path=None):
    own = "\t".join(fields or FIELDS[kind])
    lines = ["#separator \\x09", "#set_separator\t,", "#empty_field\t(empty)", "#unset_field\t-"]
    lines += [f"#path\t{path or kind}", "#open\t2024-07-01-00-00-00", f"#fields\t{own}"]
    return "".join(f"{line}\n" for line in lines)


def row(kind, fields=None, **values):
    """A line of a log; ``orig_h`` stands for ``id.orig_h``."""
    long = {f"id.{k}" if k in ("orig_h", "orig_p", "resp_h", "resp_p") else k for k in values}
    given = dict(
        zip(sorted(long), [values[k.removeprefix("id.")] for k in sorted(long)], strict=True)
    )
    cells = {**_USUAL, **given}
    return "\t".join(str(cells.get(f, "-")) for f in fields or FIELDS[kind]) + "\n"


def conn(uid="C1", orig_h=ALICE, resp_h=VIRGINIA, **more):
    return row("conn", uid=uid, orig_h=orig_h, resp_h=resp_h, **more)


def read(folder: Path, *contents, networks=(), name="log", number=0):
    """Import texts or bytes as files; gives the accounts, and the tables of the lake by kind."""
    paths = []
    for i, content in enumerate(contents):
        paths.append(folder / f"{name}{number}.{i}")
        paths[-1].write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_paths(folder / f"out{number}", paths, networks)


def read_paths(out: Path, paths, networks=(), table=TABLE):
    calendar = TablesByDate(lambda _day: table, [], PROVIDERS, LocalNetworks(networks))
    reading = FlowImport(FlowWriter(out), calendar, Pseudonymizer(KEY))
    for path in paths:
        reading.read(path)
    reading.writer.close()
    parts = {path.stem: pq.read_table(path).to_pylist() for path in out.glob("*.parquet")}
    return reading.accounts, parts
