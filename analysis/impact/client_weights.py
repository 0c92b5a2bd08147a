"""Parse and write client weights by country, city and network.

Either a list of countries, cities and networks with weights, or columns of a domain list: a column
per country, or the columns country and weight.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping

from analysis.impact.clients.client_keys import ALIASES, read_country, read_key
from analysis.impact.internet_users import country_users
from core.errors import BadInput

Audience = dict[str, float]

MAX_LINES = 20_000
# In one cell of a domain list.
MAX_LETTERS = 100_000
# Larger lists are passed on unchanged; they have no weights by country.
MAX_LIST_BYTES = 32 * 1024 * 1024
# The weight is the last word of a line, so that names may hold spaces and commas.
_ENTRY = re.compile(r"(?P<client>\S.*?)[\s,;:=]+[\"']?(?P<weight>[0-9]+(?:[.][0-9]+)?)\s*%?[\"']?")
_UNQUOTED = re.compile(r"[\w/ .-]+")
MAX_LINE = 500
_HEADS = frozenset(
    {"country", "countries", "city", "network", "client", "code", "weight", "weights", "share"}
    | {"clients"}
)
_DOMAIN_WORDS = {"domain", "domains", "name", "host", "hostname", "site", "website", "url"}
_WEIGHT_WORDS = {"weight", "weights", "clients", "share", "users", "visits"}


def read_audience(data: bytes) -> Audience:
    """Read lines such as ``DE 40`` or ``country,weight``; raise BadInput naming the line."""
    lines = _decode(data).splitlines()
    found: Audience = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#") or (number == 1 and _is_header(line)):
            continue
        if number > MAX_LINES:
            raise BadInput(f"more than {MAX_LINES:,} lines of clients", field="audience")
        code, weight = _entry(line, number)
        if code in found:
            raise BadInput(f"{code} is listed twice", line=number, field="audience")
        found[code] = weight
    return _weighty(found)


def read_weights(given: Mapping[str, float]) -> Audience:
    """Check an object of weights by client; raise BadInput naming the client."""
    found: Audience = {}
    for client, weight in given.items():
        try:
            key = str(read_key(client))
        except ValueError as error:
            raise BadInput(str(error), field="audience") from error
        if not math.isfinite(weight) or weight < 0:
            raise BadInput(f"the weight of {key} is not a number from 0 up", field="audience")
        found[key] = found.get(key, 0.0) + weight
    return _weighty(found)


def write_audience(weights: Mapping[str, float]) -> str:
    """Return weights as lines that ``read_audience`` reads, the heaviest first."""
    rows = sorted(weights.items(), key=lambda row: (-row[1], row[0]))
    return "\n".join(f"{_quote(client)},{_plain(weight)}" for client, weight in rows)


def _quote(client: str) -> str:
    return client if _UNQUOTED.fullmatch(client) else f'"{client}"'


def _plain(weight: float) -> str:
    """Return a weight without an exponent."""
    return f"{weight:.9f}".rstrip("0").rstrip(".")


def split_list(data: bytes) -> tuple[bytes, Audience]:
    """Take weights by country out of a domain list; a list without any comes back as it is.

    Lines keep their numbers. Raise BadInput naming the line.
    """
    if len(data) > MAX_LIST_BYTES or b"\0" in data[:4096] or data[:2] == b"\x1f\x8b":
        return data, {}
    head = data.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].decode("utf-8", "replace")
    delimiter = max(",;\t", key=head.count)
    cells = [c.strip().strip("\"'") for c in head.split(delimiter)]
    plan = _columns(cells)
    return _split(data, delimiter, *plan) if plan else (data, {})


def _decode(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput("clients: not UTF-8 text; save it as UTF-8", field="audience") from error
    if "\0" in text:
        raise BadInput("clients: this is a binary file; use plain text", field="audience")
    return text


def _is_header(line: str) -> bool:
    return bool(_HEADS & set(re.split(r"[\W_]+", line.lower())))


def _entry(line: str, number: int) -> tuple[str, float]:
    # Longer lines are not matched, since the pattern may be slow on them.
    match = _ENTRY.fullmatch(line.strip()) if len(line) <= MAX_LINE else None
    if not match:
        text = line.strip()[:60]
        raise BadInput(
            f"{text!r} is not a client and a weight such as DE 40", line=number, field="audience"
        )
    client, weight = match["client"].strip("\"'"), float(match["weight"])
    if not math.isfinite(weight):
        raise BadInput(f"the weight of {client[:60]} is too large", line=number, field="audience")
    try:
        return str(read_key(client)), weight
    except ValueError as error:
        raise BadInput(str(error), line=number, field="audience") from error


def _country(text: str, number: int) -> str:
    code = read_country(text)
    if code is None:
        raise BadInput(f"{text[:60]!r} is not a known country", line=number, field="audience")
    return code


def _weighty(found: Audience) -> Audience:
    if found and not any(found.values()):
        raise BadInput("one client at least needs a weight above 0", field="audience")
    return {code: weight for code, weight in found.items() if weight}


def _columns(cells: list[str]) -> tuple[list[int], dict[int, str], tuple[int, int] | None] | None:
    """Return the columns of the domain, of countries by name, or of country and weight."""
    low = [c.lower() for c in cells]
    domain = next((a for a, c in enumerate(low) if c in _DOMAIN_WORDS), None)
    if domain is None:
        return None
    kept = [a for a, c in enumerate(low) if c == "rank"][:1] + [domain]
    if "country" in low and (weight := _WEIGHT_WORDS & set(low)):
        return kept, {}, (low.index("country"), low.index(min(weight)))
    known = country_users()
    codes = {a: ALIASES.get(c, c) for a, c in enumerate(cells) if a not in kept and len(c) == 2}
    named = {a: c for a, c in codes.items() if c in known}
    return (kept, named, None) if named else None


def _split(
    data: bytes,
    delimiter: str,
    kept: list[int],
    named: dict[int, str],
    pair: tuple[int, int] | None,
) -> tuple[bytes, Audience]:
    found: Audience = {}
    # The header's line stays, empty, so that reasons name the lines of the file.
    plain = [""]
    rows = csv.reader(io.StringIO(data.decode("utf-8-sig", "surrogateescape")), delimiter=delimiter)
    for number, row in enumerate(_readable(rows), 1):
        if number == 1:
            continue
        plain.append(",".join(row[a].strip() for a in kept if a < len(row)))
        for code, text in _weights_of(row, named, pair, number):
            found[code] = found.get(code, 0.0) + _weight(text, number)
    return "\n".join(plain).encode("utf-8", "surrogateescape"), _weighty(found)


def _readable(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    number = 0
    try:
        for number, row in enumerate(rows, 1):
            if max(map(len, row), default=0) > MAX_LETTERS:
                raise BadInput("a cell of this line is too long; is a quote open?", line=number)
            yield row
    except csv.Error as error:
        raise BadInput(f"this line cannot be read: {error}", line=number + 1) from error


def _weights_of(
    row: list[str], named: dict[int, str], pair: tuple[int, int] | None, number: int
) -> Iterable[tuple[str, str]]:
    if pair is None:
        return [(c, row[a].strip()) for a, c in named.items() if a < len(row) and row[a].strip()]
    if max(pair) >= len(row) or not row[pair[0]].strip():
        return []
    return [(_country(row[pair[0]].strip(), number), row[pair[1]].strip() or "0")]


def _weight(text: str, number: int) -> float:
    try:
        weight = float(text.rstrip("%"))
    except ValueError as error:
        raise BadInput(f"the weight {text[:40]!r} is not a number", line=number) from error
    if not math.isfinite(weight) or weight < 0:
        raise BadInput(f"the weight {text[:40]!r} is not from 0 up", line=number)
    return weight
