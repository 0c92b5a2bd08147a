"""Azure's service tags (JSON) and the older list of data-centre ranges (XML).

Regions come from the ``AzureCloud.<region>`` tags; every other tag is a service. The XML names
regions in its own older way: they are given their modern codes, and the old name is kept.
"""

import re
from datetime import date
from typing import Any
from xml.etree import ElementTree

from cartography.ranges.form import RangeEntry, RangeFile, check_prefix, count_entries
from cartography.ranges.form import list_of, load_json
from core.errors import BadInput
from core.statuses import AddressKind

PROVIDER = "azure"
BASE_SERVICE = "AzureCloud"
_EDGE = ("AzureFrontDoor.Frontend", "AzureFrontDoor.FirstParty", "AzureFrontDoor.MicrosoftSecurity")
_ORDINALS = r"(central|east|north|south|west|southeast|northeast|northcentral|southcentral|westcentral)"
# Names that the rule "place, direction" turned round does not give.
_MODERN = {
    "usnorth": "northcentralus",
    "ussouth": "southcentralus",
    "uswestcentral": "westcentralus",
    "europewest": "westeurope",
    "europenorth": "northeurope",
    "asiaeast": "eastasia",
    "asiasoutheast": "southeastasia",
    "japaneast": "japaneast",
    "japanwest": "japanwest",
    "brazilsouth": "brazilsouth",
    "brazilne": "brazilnortheast",
    "australiaeast": "australiaeast",
    "australiasoutheast": "australiasoutheast",
    "australiac": "australiacentral",
    "australiac2": "australiacentral2",
    "australiacentral": "australiacentral",
    "australiacentral2": "australiacentral2",
    "canadacentral": "canadacentral",
    "canadaeast": "canadaeast",
    "koreacentral": "koreacentral",
    "koreasouth": "koreasouth",
    "koreas2": "koreasouth2",
    "francec": "francecentral",
    "frances": "francesouth",
    "indiacentral": "centralindia",
    "indiasouth": "southindia",
    "indiawest": "westindia",
    "uknorth": "uknorth",
    "uksouth": "uksouth",
    "uksouth2": "uksouth2",
    "ukwest": "ukwest",
    "uscentraleuap": "centraluseuap",
    "useast2euap": "eastus2euap",
    "usstagee": "eastusstage",
    "usstagec": "southcentralusstage",
    # Short names that the service tags themselves use beside the long ones.
    "centralfrance": "francecentral",
    "southfrance": "francesouth",
    "germanyn": "germanynorth",
    "germanywc": "germanywestcentral",
    "norwaye": "norwayeast",
    "norwayw": "norwaywest",
    "switzerlandn": "switzerlandnorth",
    "switzerlandw": "switzerlandwest",
    "brazilse": "brazilsoutheast",
    "usstagec2": "southcentralusstage",
}


def recognises(data: bytes) -> bool:
    """Whether the bytes look like one of this provider's files."""
    head = data[:4096]
    return b"<AzurePublicIpAddresses" in head or b'"changeNumber"' in head


def modern_region(name: str) -> str:
    """The modern code of an older region name; a name that is modern or unknown stays.

    ``uscentral`` and ``useast2`` follow the rule "direction and number behind the place".
    """
    name = name.lower()
    if name in _MODERN:
        return _MODERN[name]
    turned = re.fullmatch(rf"(us){_ORDINALS}(\d?)", name)
    return f"{turned[2]}{turned[1]}{turned[3]}" if turned else name


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read either format; raises ``BadInput``."""
    if b"<AzurePublicIpAddresses" in data[:4096]:
        return _parse_xml(data, as_of)
    return _parse_tags(data, as_of)


def _parse_tags(data: bytes, as_of: date | None) -> RangeFile:
    document = load_json(data)
    if as_of is None:
        raise BadInput(
            "service tags carry no date; give --as-of (it stands in the file's name)", field="as-of"
        )
    tags = list_of(document, "values")
    entries = tuple(e for i, tag in enumerate(tags, 1) for e in _tag_entries(tag, i))
    if not entries:
        raise BadInput("the file lists no prefix")
    counts = count_entries(entries, tags=len(tags))
    return RangeFile(PROVIDER, as_of, entries, counts, str(document.get("cloud", "")).lower())


def _tag_entries(tag: Any, number: int) -> list[RangeEntry]:
    where = f"tag {number}"
    if not isinstance(tag, dict) or not isinstance(tag.get("name"), str):
        raise BadInput(f"{where}: no name is given")
    name, properties = tag["name"], tag.get("properties")
    if not isinstance(properties, dict):
        raise BadInput(f"{where} ({name}): no properties are given")
    published = str(properties.get("region") or "")
    service = str(properties.get("systemService") or name.partition(".")[0])
    kind = AddressKind.CDN if name.startswith(_EDGE) else AddressKind.CLOUD
    return [
        RangeEntry(
            prefix=check_prefix(text, f"{where} ({name})"),
            provider=PROVIDER,
            service=service,
            region=modern_region(published) if published else None,
            kind=kind,
            region_as_published=published or None,
        )
        for text in list_of(properties, "addressPrefixes")
    ]


def _parse_xml(data: bytes, as_of: date | None) -> RangeFile:
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise BadInput("the XML declares entities, which a range file never does")
    try:
        root = ElementTree.fromstring(data.decode("utf-8-sig"))
    except (ElementTree.ParseError, UnicodeDecodeError, ValueError) as error:
        raise BadInput(f"the XML is damaged or cut off: {error}") from error
    entries = tuple(e for region in root.iter("Region") for e in _region_entries(region))
    if not entries:
        raise BadInput("the file lists no prefix")
    # The older list carries no date either, only its file name did; it began to matter in 2013.
    if as_of is None:
        raise BadInput(
            "the older Azure list carries no date; give --as-of (it stands in the file's name)",
            field="as-of",
        )
    return RangeFile(PROVIDER, as_of, entries, count_entries(entries, tags=0), "public")


def _region_entries(region: ElementTree.Element) -> list[RangeEntry]:
    name = region.get("Name", "")
    if not name:
        raise BadInput("a Region element has no Name")
    return [
        RangeEntry(
            prefix=check_prefix(item.get("Subnet"), f"region {name}"),
            provider=PROVIDER,
            service=BASE_SERVICE,
            region=modern_region(name),
            region_as_published=name,
        )
        for item in region.iter("IpRange")
    ]
