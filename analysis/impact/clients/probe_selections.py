"""Parse selections of probes of RIPE Atlas and Globalping: one client each, by its network.

The JSON of their APIs: Atlas probes (``results`` with ``country_code`` and ``asn_v4``), Globalping
probes (``location``) and measurements (``results`` with ``probe``).
"""

import json
from collections.abc import Mapping
from typing import Any

from analysis.deployment.countries import continents
from analysis.impact.clients.client_keys import LAST_ASN, ClientKey
from core.errors import BadInput

MAX_PROBES = 100_000


def read_probes(document: Any) -> dict[str, float]:
    """Return the number of probes by client; raise ``BadInput`` naming the probe."""
    rows = document
    if isinstance(document, Mapping):
        rows = document.get("results", document.get("probes"))
    if not isinstance(rows, list) or not rows:
        raise BadInput("the JSON is no list of probes of RIPE Atlas or Globalping")
    if len(rows) > MAX_PROBES:
        raise BadInput(f"the selection has more than {MAX_PROBES:,} probes")
    found: dict[str, float] = {}
    for number, row in enumerate(rows, 1):
        key = str(_key(row, number))
        found[key] = found.get(key, 0.0) + 1.0
    return found


def parse_json(data: bytes) -> Any:
    """Parse bytes; raise ``BadInput`` naming the line."""
    try:
        return json.loads(data)
    except UnicodeDecodeError as error:
        raise BadInput("the JSON is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise BadInput(f"it is not JSON: {error.msg}", line=error.lineno) from error
    except RecursionError as error:
        raise BadInput("the JSON is nested too deeply") from error


def _key(row: Any, number: int) -> ClientKey:
    if not isinstance(row, Mapping):
        raise BadInput(f"probe {number} is not a JSON object")
    place = next(
        (row[name] for name in ("location", "probe") if isinstance(row.get(name), Mapping)), row
    )
    country = place.get("country_code") or place.get("country")
    if not isinstance(country, str) or country.upper() not in continents():
        raise BadInput(f"probe {number} has no country that is known: {str(country)[:40]!r}")
    asn = next((place[name] for name in ("asn", "asn_v4", "asn_v6") if place.get(name)), None)
    if asn is None:
        return ClientKey(country.upper())
    if not isinstance(asn, int) or isinstance(asn, bool) or not 0 < asn <= LAST_ASN:
        raise BadInput(f"probe {number}: {str(asn)[:40]!r} is not an AS number")
    return ClientKey(country.upper(), asn=asn)
