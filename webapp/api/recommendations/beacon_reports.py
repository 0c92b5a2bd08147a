"""What browsers ask of a beacon: its script, and the address that reports are sent to.

Both are public, set no cookie and read none. Of the sender's address only the country is used.
"""

import json
from functools import lru_cache
from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from core.errors import BadInput
from webapp.api.framework.problems import problem
from webapp.api.framework.request_bodies import MAX_BEACON_BYTES
from webapp.store.models import Beacon
from webapp.store.recommendations import beacons
from webapp.store.requests.address_rates import AddressRates

# The script is kept by browsers for so long: changed settings arrive after it.
SCRIPT_AGE_S = 3600
# Reports of one address in a minute and process; many browsers may share one.
_rates = AddressRates(30)


@require_safe
def script(request: HttpRequest, key: str) -> HttpResponse:
    """The script of a beacon with its settings."""
    beacon = beacons.find(key)
    if beacon is None:
        return _plain(404)
    settings = {
        "share": beacon.sample_share,
        "report": request.build_absolute_uri(f"/beacon/{beacon.key}"),
        "targets": beacon.targets,
    }
    # "<" would end a script that is written into a page.
    text = json.dumps(settings, separators=(",", ":")).replace("<", "\\u003c")
    return HttpResponse(
        f"{_source()}({text});\n",
        content_type="text/javascript; charset=utf-8",
        headers={
            "Cache-Control": f"public, max-age={SCRIPT_AGE_S}",
            "Cross-Origin-Resource-Policy": "cross-origin",
        },
    )


@lru_cache(maxsize=1)
def _source() -> str:
    """Return the script without comments and indentation."""
    lines = Path(__file__).with_name("beacon.js").read_text(encoding="utf-8").splitlines()
    plain = (line.strip() for line in lines)
    return "\n".join(line for line in plain if line and not line.startswith("//")).rstrip(";")


@csrf_exempt
@require_POST
def receive(request: HttpRequest, key: str) -> HttpResponse:
    """Count a report: 204; 403 for an origin that is not the beacon's, 429 beyond a limit."""
    beacon = beacons.find(key)
    if beacon is None:
        return _plain(404)
    origin = request.headers.get("Origin", "")
    if origin not in beacon.origins:
        return problem(403, "refused", "the origin is not one of the beacon")
    answer = _receive(request, beacon)
    answer["Access-Control-Allow-Origin"] = origin
    answer["Vary"] = "Origin"
    return answer


def _receive(request: HttpRequest, beacon: Beacon) -> HttpResponse:
    address = str(request.META.get("REMOTE_ADDR", ""))
    if not _rates.allow(address):
        return problem(429, "beacon-reports", "too many reports of one address", retry_after=60)
    try:
        rows = beacons.read_report(_document(request), beacon)
        beacons.count(beacon, beacons.country_of_address(address), rows)
    except beacons.TooManyReports as error:
        return problem(429, "beacon-reports", str(error), retry_after=3600)
    except BadInput as error:
        return problem(422, "bad-input", str(error))
    return _plain(204)


def _document(request: HttpRequest) -> object:
    data = request.read(MAX_BEACON_BYTES + 1)
    if len(data) > MAX_BEACON_BYTES:
        raise BadInput(f"a report has at most {MAX_BEACON_BYTES:,} bytes")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadInput("a report is JSON") from error


def _plain(status: int) -> HttpResponse:
    return HttpResponse(status=status, content_type="text/plain")
