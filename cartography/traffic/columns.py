"""Parse what each kind of log has beside the endpoints: sizes, transports, names, certificates.

The accepted rows are text; the result has the columns of ``lake.traffic``.
"""

from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from cartography.traffic.names import name_columns, read_first_name, read_host, read_subject
from cartography.traffic.text_columns import add_known

Columns = dict[str, pa.Array]
Numbers = Mapping[str, pa.Array]
# The fields of each kind that have to be numbers.
SIZES: dict[str, tuple[str, ...]] = {
    "conn": (
        "orig_bytes",
        "resp_bytes",
        "missed_bytes",
        "orig_pkts",
        "orig_ip_bytes",
        "resp_pkts",
        "resp_ip_bytes",
    ),
    "http": ("request_body_len", "response_body_len"),
    "ssl": (),
    "dns": (),
}
# Zeek's own list; a protocol that it cannot identify is "unknown_transport".
_TRANSPORTS = ["tcp", "udp", "icmp", "unknown_transport"]
_HASH = r"^[0-9a-fA-F]{32,128}$"
_FUID = r"^F[0-9A-Za-z]{5,30}$"


def read_volume(kind: str, numbers: Numbers) -> pa.Array | None:
    """Bytes of each row: on the wire where the log has them, else payload, else bodies."""
    if kind == "conn":
        return pc.coalesce(_ip_bytes(numbers), _payload_bytes(numbers))
    if kind == "http":
        return add_known(numbers["request_body_len"], numbers["response_body_len"])
    return None


def read_transport(raw: pa.Table) -> pa.Array | None:
    """TCP, UDP and the like; null for what is none of them; nothing for logs without the column."""
    if "proto" not in raw.column_names:
        return None
    name = pc.fill_null(pc.utf8_lower(raw["proto"].combine_chunks()), "unknown_transport")
    known = pc.is_in(name, value_set=pa.array(_TRANSPORTS))
    return pc.if_else(known, name, pa.scalar(None, pa.string()))


def conn_columns(raw: pa.Table, numbers: Numbers) -> Columns:
    """Sizes and the service of connections."""
    return {
        "service": pc.utf8_lower(raw["service"].combine_chunks()),
        "ip_bytes": _ip_bytes(numbers),
        "payload_bytes": _payload_bytes(numbers),
        "missed_bytes": numbers["missed_bytes"],
        "packets": add_known(numbers["orig_pkts"], numbers["resp_pkts"]),
    }


def http_columns(raw: pa.Table, numbers: Numbers) -> Columns:
    """Hosts of requests, with the bytes of their bodies."""
    bodies = add_known(numbers["request_body_len"], numbers["response_body_len"])
    return {**name_columns(raw["host"], read_host), "body_bytes": bodies}


def ssl_columns(raw: pa.Table, _numbers: Numbers) -> Columns:
    """Server names, and the first certificate of the chain: by name, by file, by fingerprint."""
    return {
        **name_columns(raw["server_name"], read_host),
        **name_columns(raw["subject"], read_subject, "subject_"),
        "fuid": _first(raw["cert_chain_fuids"], _FUID),
        "fingerprint": _first(raw["cert_chain_fps"], _HASH),
    }


def dns_columns(raw: pa.Table, _numbers: Numbers) -> Columns:
    """Names asked for."""
    return name_columns(raw["query"], read_host)


def x509_columns(raw: pa.Table, _numbers: Numbers) -> Columns:
    """Names of certificates, under both of their ids."""
    return {
        "fuid": _first(raw["id"], _FUID),
        "fingerprint": _first(raw["fingerprint"], _HASH),
        **name_columns(raw["certificate.subject"], read_subject),
        **name_columns(raw["san.dns"], read_first_name, "san_"),
    }


OWN_COLUMNS: dict[str, Callable[[pa.Table, Numbers], Columns]] = {
    "conn": conn_columns,
    "http": http_columns,
    "ssl": ssl_columns,
    "dns": dns_columns,
    "x509": x509_columns,
}


def _ip_bytes(numbers: Numbers) -> pa.Array:
    return add_known(numbers["orig_ip_bytes"], numbers["resp_ip_bytes"])


def _payload_bytes(numbers: Numbers) -> pa.Array:
    return add_known(numbers["orig_bytes"], numbers["resp_bytes"])


def _first(column: pa.ChunkedArray, form: str) -> pa.Array:
    """The first of a set where it has the form of an id, as text and JSON logs write sets."""
    plain = pc.utf8_trim(column.combine_chunks(), '[]" ')
    first = pc.list_element(pc.split_pattern(plain, ",", max_splits=1), 0)
    first = pc.utf8_trim(first, '" ')
    good = pc.match_substring_regex(first, form)
    return pc.if_else(good, first, pa.scalar(None, pa.string()))
