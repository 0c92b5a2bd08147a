"""A world's published prefixes in the providers' own file formats, with its domain list.

The product imports these files as it imports real ones.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from testbed.world.model import PublishedRange, PublishedRanges, World

# Names of the worlds' regions in Azure's older list.
OLD_AZURE_NAMES = {
    "eastus": "useast",
    "westus": "uswest",
    "northcentralus": "usnorth",
    "southcentralus": "ussouth",
    "northeurope": "europenorth",
    "westeurope": "europewest",
    "southeastasia": "asiasoutheast",
    "eastasia": "asiaeast",
}
_README = """The published prefixes and the domain list of the emulated Internet {world}.

Everything here is generated. Origin of its distributions: {origin}.

- domains.csv: rank,domain
- aws-ip-ranges.json, azure-public-ips.xml (the format before 2019), azure-service-tags.json (the
  format since), google-cloud.json: prefixes in the formats of the providers, where the world
  uses them, as of {as_of}
{notes}"""


def write_files(world: World, folder: Path) -> dict[str, Path]:
    """Write all files of a world; gives the path of each.

    Keys are ``domains``, ``readme``, the provider names, and ``azure-tags`` for Azure's newer
    format. A provider with ranges from a real file gets none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "domains": ("domains.csv", world.domain_list().decode()),
        "readme": ("README.txt", _readme(world)),
    }
    for table in world.ranges:
        texts |= _files_of(table, world.as_of) if table.source == "invented" else {}
    for name, text in texts.values():
        (folder / name).write_text(text, encoding="utf-8")
    return {key: folder / name for key, (name, _) in texts.items()}


def _readme(world: World) -> str:
    notes = "".join(f"- {note}\n" for note in world.notes)
    return _README.format(world=world.id, origin=world.origin, as_of=world.as_of, notes=notes)


def _files_of(table: PublishedRanges, as_of: date) -> dict[str, tuple[str, str]]:
    if table.provider == "aws":
        return {"aws": ("aws-ip-ranges.json", aws_json(table.entries, as_of))}
    if table.provider == "azure":
        return {
            "azure": ("azure-public-ips.xml", azure_xml(table.entries)),
            "azure-tags": ("azure-service-tags.json", azure_tags(table.entries)),
        }
    if table.provider == "google":
        return {"google": ("google-cloud.json", google_json(table.entries, as_of))}
    return {}


def aws_json(entries: Iterable[PublishedRange], as_of: date) -> str:
    """Format ``ip-ranges.json``, with one row per prefix and service."""
    rows: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
    for entry in entries:
        wide = ":" in entry.prefix
        key = "ipv6_prefix" if wide else "ip_prefix"
        region = entry.region or "GLOBAL"
        row = {key: entry.prefix, "region": region, "service": entry.service}
        rows[wide].append(row)
    head = {"syncToken": str(as_of.toordinal()), "createDate": f"{as_of}-00-00-00"}
    return json.dumps({**head, "prefixes": rows[False], "ipv6_prefixes": rows[True]}, indent=1)


def azure_xml(entries: Iterable[PublishedRange]) -> str:
    """Format the list of data-centre ranges in use before 2019."""
    blocks = [
        f"  <Region Name={quoteattr(OLD_AZURE_NAMES.get(region, region))}>\n"
        + "".join(f"    <IpRange Subnet={quoteattr(prefix)} />\n" for prefix in prefixes)
        + "  </Region>\n"
        for region, prefixes in _by_region(entries).items()
    ]
    head = '<?xml version="1.0" encoding="utf-8"?>\n<AzurePublicIpAddresses>\n'
    return f"{head}{''.join(blocks)}</AzurePublicIpAddresses>\n"


def azure_tags(entries: Iterable[PublishedRange]) -> str:
    """Format service tags: one for each region, and one for all regions."""
    regions = _by_region(entries)
    everything = [prefix for prefixes in regions.values() for prefix in prefixes]
    tags = [_tag("AzureCloud", "", everything)]
    tags += [_tag(f"AzureCloud.{r}", r, prefixes) for r, prefixes in regions.items()]
    return json.dumps({"changeNumber": 1, "cloud": "Public", "values": tags}, indent=1)


def _tag(name: str, region: str, prefixes: list[str]) -> dict[str, Any]:
    properties = {
        "changeNumber": 1,
        "region": region,
        "regionId": 0,
        "platform": "Azure",
        "systemService": "",
        "addressPrefixes": prefixes,
    }
    return {"name": name, "id": name, "properties": properties}


def google_json(entries: Iterable[PublishedRange], as_of: date) -> str:
    """Format ``cloud.json``."""
    rows = [
        {
            "ipv6Prefix" if ":" in e.prefix else "ipv4Prefix": e.prefix,
            "service": e.service,
            "scope": e.region,
        }
        for e in entries
    ]
    head = {"syncToken": str(as_of.toordinal()), "creationTime": f"{as_of}T00:00:00"}
    return json.dumps({**head, "prefixes": rows}, indent=1)


def _by_region(entries: Iterable[PublishedRange]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for entry in entries:
        found[entry.region or ""].append(entry.prefix)
    return dict(found)
