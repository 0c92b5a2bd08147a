"""A world's prefixes in the providers' own file formats, and its domain list."""

import json
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

from testbed.addresses import EDGE
from testbed.worlds import World, domain_list

# The older list's own names for the regions of 2013.
_OLD_NAMES = {
    "eastus": "useast",
    "westus": "uswest",
    "northcentralus": "usnorth",
    "southcentralus": "ussouth",
    "northeurope": "europenorth",
    "westeurope": "europewest",
    "southeastasia": "asiasoutheast",
    "eastasia": "asiaeast",
}


def write_files(world: World, folder: Path) -> dict[str, Path]:
    """Write range files and ``domains.csv``; returns the path of each by provider or kind."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "aws": (folder / "aws-ip-ranges.json", aws_json(world)),
        "azure": (folder / "azure-public-ips.xml", azure_xml(world)),
        "domains": (folder / "domains.csv", domains_csv(world)),
    }
    for path, text in files.values():
        path.write_text(text)
    return {name: path for name, (path, _) in files.items()}


def domains_csv(world: World) -> str:
    """``rank,domain`` lines."""
    return "".join(f"{rank},{domain}\n" for rank, domain in domain_list(world))


def aws_json(world: World) -> str:
    """``ip-ranges.json``; every prefix stands in it twice, as the real ones do."""
    rows = [
        {"ip_prefix": prefix, "region": region or "GLOBAL", "service": service}
        for region, kind, prefix in _prefixes(world, "aws")
        for service in ("AMAZON", "CLOUDFRONT" if kind == EDGE else "EC2")
    ]
    created = f"{world.date}-00-00-00"
    return json.dumps({"syncToken": "1", "createDate": created, "prefixes": rows}, indent=1)


def azure_xml(world: World) -> str:
    """The list of data-centre ranges as it was before 2019."""
    regions: dict[str, list[str]] = {}
    for region, _, prefix in _prefixes(world, "azure"):
        regions.setdefault(_OLD_NAMES.get(region, region), []).append(prefix)
    body = "".join(
        f"  <Region Name={quoteattr(name)}>\n"
        + "".join(f"    <IpRange Subnet={quoteattr(p)} />\n" for p in prefixes)
        + "  </Region>\n"
        for name, prefixes in regions.items()
    )
    head = '<?xml version="1.0" encoding="utf-8"?>\n<AzurePublicIpAddresses>\n'
    return f"{head}{body}</AzurePublicIpAddresses>\n"


def _prefixes(world: World, provider: str) -> Iterator[tuple[str, str, str]]:
    for (owner, region, kind), prefixes in world.blocks.items():
        if owner == provider:
            for prefix in prefixes:
                yield region, kind, prefix
