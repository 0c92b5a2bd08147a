"""Lines of access logs in every form that is read, and the address tables of their clients."""

import json

from cartography.asn.files import read_origins
from cartography.asn.tables import OriginTable
from cartography.geolocation.files import read_places
from cartography.geolocation.tables import PlaceTable

PLACES = (
    b"192.0.2.0/24,DE,DE-BE,Berlin,\n198.51.100.0/24,FR,,Paris,\n2001:db8::/32,JP,,Tokyo,\n"
    b"203.0.113.0/25,DE,DE-BY,Munich,\n"
)
ROUTES = (
    b"192.0.2.0/24\t64500\n198.51.100.0/24\t64501\n203.0.113.0/24\t64502\n2001:db8::/32\t64503\n"
)
CLOUDFRONT_HEAD = (
    "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) "
    "cs-uri-stem sc-status cs(Referer) cs(User-Agent)\n"
)


def common(address):
    return f'{address} - frank [10/Oct/2023:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326\n'


def combined(address):
    return (
        f'{address} - - [10/Oct/2023:13:55:36 +0000] "GET /q?\\"x\\" HTTP/1.1" 304 - '
        '"https://site.example/" "Mozilla/5.0 (X11; rv:109.0) [en]"\n'
    )


def vhost(address):
    return f"www.site.example:443 {combined(address)}"


def balancer(address):
    client = f"[{address}]:46532" if ":" in address else f"{address}:46532"
    return (
        f"https 2023-10-10T13:55:36.186641Z app/front/24d {client} 10.0.0.66:9000 0.08 0.04 0.03 "
        '200 200 0 57 "GET https://site.example:443/ HTTP/1.1" "curl/7.46.0" ECDHE TLSv1.2\n'
    )


def cloudfront(address):
    row = ("2023-10-10", "13:55:36", "FRA2", "512", address, "GET", "d1.cloudfront.net", "/")
    return "\t".join((*row, "200", "-", "Mozilla/5.0%20(X11)")) + "\n"


def nginx_json(address):
    row = {"time": "2023-10-10T13:55:36Z", "request": 'GET /"{remote_addr}', "nested": {"a": [1]}}
    return json.dumps({**row, "remote_addr": address, "status": 200}) + "\n"


# Head and line of each form by the name that a report gives it.
FORMS = {
    "common": ("", common),
    "combined": ("", combined),
    "vhost": ("", vhost),
    "balancer": ("", balancer),
    "cloudfront": (CLOUDFRONT_HEAD, cloudfront),
    "json": ("", nginx_json),
}


def place_table():
    return PlaceTable.build(read_places(PLACES))


def route_table():
    return OriginTable.build(read_origins(ROUTES))
