"""The kinds of logs that describe traffic, the fields that are read, and how a kind is recognized.

Nothing else of a log is kept: no path, no user agent, no cookie.
"""

from collections.abc import Collection

_SIDES = ("ts", "uid", "id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p")
FIELDS: dict[str, tuple[str, ...]] = {
    "conn": (
        *_SIDES,
        "proto",
        "service",
        "local_orig",
        "local_resp",
        "orig_bytes",
        "resp_bytes",
        "missed_bytes",
        "orig_pkts",
        "orig_ip_bytes",
        "resp_pkts",
        "resp_ip_bytes",
    ),
    "http": (*_SIDES, "host", "request_body_len", "response_body_len"),
    "ssl": (*_SIDES, "server_name", "subject", "cert_chain_fuids", "cert_chain_fps"),
    "dns": (*_SIDES, "proto", "query"),
    "x509": ("id", "fingerprint", "certificate.subject", "san.dns"),
}
# What a log must have to be of use.
NEEDED: dict[str, tuple[str, ...]] = {
    kind: ("certificate.subject",) if kind == "x509" else ("id.orig_h", "id.resp_h")
    for kind in FIELDS
}
# Fields that identify a kind without a ``#path`` line. Logs of other kinds that share fields with
# these come first, so that a mail is not taken for a page.
TELLING: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sip", ("call_id", "request_from", "response_from")),
    ("smtp", ("helo", "mailfrom", "rcptto")),
    ("kerberos", ("request_type",)),
    ("quic", ("client_scid", "client_initial_dcid")),
    ("x509", ("certificate.subject", "certificate.serial")),
    ("http", ("request_body_len", "response_body_len", "status_code", "host")),
    ("ssl", ("server_name", "cipher", "ssl_history", "established", "resumed")),
    ("dns", ("query", "qtype_name", "qclass_name", "rcode_name")),
    ("conn", ("conn_state", "orig_bytes", "resp_bytes", "orig_ip_bytes", "resp_ip_bytes")),
)


def find_kind(path: str, fields: Collection[str]) -> str:
    """The kind by the log's own path, else by its fields; an unknown path stays what it is."""
    if path:
        return path.strip().lower()
    return next((kind for kind, own in TELLING if any(f in fields for f in own)), "")
