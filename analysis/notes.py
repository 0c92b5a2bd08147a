"""Method notes: how each table is made, its readings, and what its source contradicts."""

_COMMON = (
    "A name counts when it answers with an address or an alias. Addresses are matched against the "
    "providers' published ranges by longest prefix; the whole CNAME chain is followed."
)
_NOTES = {
    "providers": (
        "A name is “only” in a cloud when all its addresses are; two clouds outrank “other”. "
        "For domains two readings stand side by side: over all names found in the domain (as "
        "published) and over its cloud-using names only. The published share of Azure + Other "
        "subdomains, “<0.01 %”, computes to 0.03 %."
    ),
    "patterns": (
        "Labels are a set, not a partition: Beanstalk and some Heroku names also count as load "
        "balancers. Instances are distinct addresses, or logical names for cloud services and "
        "Traffic Manager. The published 60,273 PaaS names do not equal the sum of their parts "
        "(60,271), and the published text gives other shares than its table."
    ),
    "regions": (
        "One count per name and region; CDN addresses are left out, since an edge says nothing "
        "about where the origin stands. Domains add to more than their number because some use "
        "several regions. “Only here” counts names with no other region in any cloud."
    ),
    "region-counts": "Regions of one provider per name, CDN left out; the published curve was read "
    "from a plot.",
    "domain-region-means": "The unweighted mean over a domain's names that have a region.",
    "instance-counts": "Distinct instances per name with the feature. The published text says that "
    "15 % use three or more virtual machines; its own plot shows 35 %.",
    "name-servers": "Distinct host names in NS answers of cloud-using domains, placed by their "
    "addresses; the first place that applies counts, from CloudFront down to elsewhere.",
    "name-server-counts": "Name servers of the domain that a cloud-using name belongs to; names of "
    "domains without an NS answer are left out of n.",
    "top-domains": "The ten best-ranked domains with a name on EC2; totals come from enumeration "
    "and are lower bounds, since a word list misses what it does not hold.",
    "top-features": "Features of the same ten domains; the published table also marks CDNs other "
    "than CloudFront, which are not detected yet.",
    "top-regions": "The fourteen best-ranked domains with a name in any cloud; k counts names by "
    "the number of regions they use.",
}


def method_note(table_id: str) -> str:
    """The note of one table."""
    return f"{_NOTES[table_id]} {_COMMON}"
