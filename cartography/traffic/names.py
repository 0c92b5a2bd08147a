"""Parse the names of a flow: HTTP hosts, TLS server names and certificate names.

Columns may be hostile. The result has the clean name and its registered domain, or the reason why
there is none.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from publicsuffixlist import PublicSuffixList

from cartography.addresses.prefixes import pack_address

MISSING, ADDRESS, INVALID = "no name", "an address", "not a name"
_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
# Distinguished names escape commas by a backslash; older logs separate by slashes.
_COMMON_NAME = re.compile(r"(?:^|(?<!\\)[,/])\s*CN\s*=\s*((?:\\.|[^,\\/])*)", re.IGNORECASE)
_PORT = re.compile(r":\d{0,5}$")


class ParsedName(NamedTuple):
    """A name and its registered domain, or neither and the reason."""

    name: str | None
    domain: str | None
    reason: str | None


NAMELESS = ParsedName(None, None, MISSING)


def unescape(text: str) -> str:
    r"""Zeek's ``\xHH`` as the bytes that they stand for."""
    if "\\x" not in text:
        return text
    raw = _ESCAPE.sub(lambda m: chr(int(m[1], 16)), text)
    try:
        return raw.encode("latin-1").decode()
    except UnicodeError:
        return raw


def read_host(text: str) -> ParsedName:
    """A Host header or a server name: with or without port, in any case."""
    host = unescape(text).strip().lower()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
        return ParsedName(None, None, ADDRESS if pack_address(host) else INVALID)
    if pack_address(host):
        return ParsedName(None, None, ADDRESS)
    return _read_name(_PORT.sub("", host))


def read_subject(text: str) -> ParsedName:
    """The common name of a certificate's subject; a wildcard represents what is under it."""
    found = _COMMON_NAME.search(unescape(text))
    if not found:
        return NAMELESS
    return read_host(found[1].replace("\\", "").strip().removeprefix("*."))


def read_first_name(text: str) -> ParsedName:
    """The first name of a set, as Zeek writes sets in text and in JSON."""
    first = text.strip().removeprefix("[").removesuffix("]").split(",")[0].strip().strip('"')
    return read_host(first.removeprefix("*.")) if first != "(empty)" else NAMELESS


def _read_name(host: str) -> ParsedName:
    name = host.rstrip(".")
    if pack_address(name):
        return ParsedName(None, None, ADDRESS)
    if not name:
        return NAMELESS
    if not name.isascii():
        try:
            name = name.encode("idna").decode()
        except UnicodeError:
            return ParsedName(None, None, INVALID)
    labels = name.split(".")
    valid = len(name) <= 253 and all(_LABEL.fullmatch(label) for label in labels)
    # A single label is a machine of a private network, no domain.
    if not valid or len(labels) < 2 or labels[-1].isdigit():
        return ParsedName(None, None, INVALID)
    return ParsedName(name, registered_domain(name), None)


@cache
def _suffixes() -> PublicSuffixList:
    # By registries only: with the list's private part each CloudFront distribution would be a
    # separate domain, where the study counts cloudfront.net.
    return PublicSuffixList(only_icann=True)


@lru_cache(maxsize=100_000)
def registered_domain(name: str) -> str:
    """The registered domain of a name, or the whole name if it is a suffix itself."""
    return _suffixes().privatesuffix(name) or name


def name_columns(
    column: pa.ChunkedArray, read: Callable[[str], ParsedName], prefix: str = ""
) -> dict[str, pa.Array]:
    """``name``, ``domain`` and ``reason`` of a column, each distinct text read once."""
    encoded = column.combine_chunks().dictionary_encode()
    known = [read(text) for text in encoded.dictionary.to_pylist()] + [NAMELESS]
    at = encoded.indices.fill_null(len(known) - 1).to_numpy().astype(np.int64)
    return {
        f"{prefix}{field}": pa.array([getattr(n, field) for n in known], pa.string()).take(
            pa.array(at)
        )
        for field in ParsedName._fields
    }
