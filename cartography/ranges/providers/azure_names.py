"""Azure's other names of its regions, and the location code of each.

The XML list (2013 to 2020) puts the place first (``useast``, ``europewest``) and shortens some
names (``francec``); the service tags use location codes except for a few short names.
"""

_CODES = {
    "northcentralus": ("usnorth",),
    "southcentralus": ("ussouth",),
    "westcentralus": ("uswestcentral",),
    "centralus": ("uscentral",),
    "eastus": ("useast",),
    "eastus2": ("useast2",),
    "westus": ("uswest",),
    "westus2": ("uswest2",),
    "westus3": ("uswest3",),
    "centraluseuap": ("uscentraleuap",),
    "eastus2euap": ("useast2euap",),
    "eastusstg": ("usstagee",),
    "southcentralusstg": ("usstagec",),
    "westeurope": ("europewest",),
    "northeurope": ("europenorth",),
    "northeurope2": ("europenorth2",),
    "eastasia": ("asiaeast",),
    "southeastasia": ("asiasoutheast",),
    "centralindia": ("indiacentral",),
    "southindia": ("indiasouth",),
    "westindia": ("indiawest",),
    "australiacentral": ("australiac",),
    "australiacentral2": ("australiac2",),
    "brazilsoutheast": ("brazilse",),
    "francecentral": ("francec", "centralfrance"),
    "francesouth": ("frances", "southfrance"),
    "germanynorth": ("germanyn",),
    "germanywestcentral": ("germanywc",),
    "norwayeast": ("norwaye",),
    "norwaywest": ("norwayw",),
    "swedencentral": ("swedenc",),
    "swedensouth": ("swedens",),
    "switzerlandnorth": ("switzerlandn",),
    "switzerlandwest": ("switzerlandw",),
    "southafricanorth": ("southafrican",),
    "southafricawest": ("southafricaw",),
    "uaecentral": ("uaec",),
    "uaenorth": ("uaen",),
    "italynorth": ("italyn",),
    "israelcentral": ("israelc",),
    "qatarcentral": ("qatarc",),
    "chilecentral": ("chilec",),
    "usgovvirginia": ("usgoveast",),
    "usgovtexas": ("usgovsc",),
}
_CODE_OF = {name: code for code, names in _CODES.items() for name in names}


def modern_region(name: str) -> str:
    """The location code of a region; a name that is a code, or is not known, stays itself."""
    name = name.lower()
    return _CODE_OF.get(name, name)
