"""Azure's service tags (JSON, every national cloud) and the older data-centre list (XML).

Regions come from the ``AzureCloud.<region>`` tags; every other tag is a service. Names of regions
that are not location codes are given their code, and the published name is kept.
"""

import re
from datetime import date
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from cartography.ranges.providers.azure_names import modern_region
from cartography.ranges.range_file import (
    RangeEntry,
    RangeFile,
    check_prefix,
    count_entries,
    list_of,
    load_json,
    require_entries,
    text_of,
)
from core.errors import BadInput
from core.statuses import AddressKind

PROVIDER = "azure"
# Download pages: the files behind them have a dated name that changes every week. As the files call
# them; a fifth would be in force beside them.
_CLOUDS = {"public", "china", "azuregovernment", "azuregermany"}
BASE_SERVICE = "AzureCloud"
# Edge addresses of Front Door; its backend addresses are ordinary ones.
_EDGE = {
    "AzureFrontDoor.Frontend",
    "AzureFrontDoor.FirstParty",
    "AzureFrontDoor.MicrosoftSecurity",
}
_DOWNLOADS = "download.microsoft.com"
_LINK = re.compile(rb"https?://[\w./:%-]+/ServiceTags_[A-Za-z]+_20\d{6}\.json")
_XML_MARK = b"<AzurePublicIpAddresses"


def match_score(data: bytes) -> float:
    """Return 1 for bytes in the form of one of this provider's files, else 0."""
    head = data[:4096]
    return _XML_MARK in head or b'"changeNumber"' in head or b'"addressPrefixes"' in head


def locate(page: bytes, url: str) -> str:
    """The address of the file that a download page leads to; raises ``BadInput``."""
    for found in _LINK.findall(page):
        link = str(found.decode("ascii"))
        if urlsplit(link).hostname in (_DOWNLOADS, urlsplit(url).hostname):
            return link
    raise BadInput(f"{url}: the page leads to no file of service tags")


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read either format; raises ``BadInput``, with ``field`` as-of where a date is missing.

    ``counts`` has ``tags`` too: the number of service tags, 0 for the older list.
    """
    if _XML_MARK in data[:4096]:
        variant, n_tags, edition = "public", 0, ""
        entries = _xml_entries(data)
    else:
        document = load_json(data)
        tags = list_of(document, "values")
        variant, n_tags = str(document.get("cloud", "")).lower(), len(tags)
        edition = str(document.get("changeNumber", ""))
        entries = tuple(e for i, tag in enumerate(tags, 1) for e in _tag_entries(tag, i))
    counts = count_entries(require_entries(entries), tags=n_tags)
    if as_of is None:
        raise BadInput(
            "Azure's files carry no date; give --as-of (the file's name has it)",
            field="as-of",
        )
    doubt = "" if variant in _CLOUDS else f"{variant!r} is not a known cloud of Azure"
    return RangeFile(PROVIDER, as_of, entries, counts, variant, edition, doubt)


def _tag_entries(tag: Any, number: int) -> list[RangeEntry]:
    where = f"tag {number}"
    if not isinstance(tag, dict) or not isinstance(tag.get("name"), str):
        raise BadInput(f"{where}: no name is given")
    name, properties = tag["name"], tag.get("properties")
    where = f"{where} ({name})"
    if not isinstance(properties, dict):
        raise BadInput(f"{where}: no properties are given")
    published = text_of(properties, "region", where) or None
    # A regional tag ends in the region; "AzureFrontDoor.Frontend" and its like do not.
    service = name.rpartition(".")[0] or name if published else name
    kind = AddressKind.CDN if service in _EDGE else AddressKind.CLOUD
    return [
        RangeEntry(
            prefix=check_prefix(text, where),
            provider=PROVIDER,
            service=service,
            region=modern_region(published) if published else None,
            kind=kind,
            region_as_published=published,
        )
        for text in list_of(properties, "addressPrefixes", where)
    ]


def _xml_entries(data: bytes) -> tuple[RangeEntry, ...]:
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise BadInput("the XML declares entities, which a range file never does")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise BadInput(f"the XML is damaged or cut off: {error}") from error
    return tuple(e for region in root.iter("Region") for e in _region_entries(region))


def _region_entries(region: ElementTree.Element) -> list[RangeEntry]:
    name = region.get("Name", "")
    if not name:
        raise BadInput("a Region element has no Name")
    return [
        RangeEntry(
            prefix=check_prefix(item.get("Subnet"), f"region {name}, entry {number}"),
            provider=PROVIDER,
            service=BASE_SERVICE,
            region=modern_region(name),
            region_as_published=name,
        )
        for number, item in enumerate(region.iter("IpRange"), 1)
    ]
