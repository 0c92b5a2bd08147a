"""Method notes: how each table is made, its readings, and what its source contradicts.

The long form of each note is a page in ``docs/methods``.
"""

from analysis.reporting.study_notes import STUDY_NOTES

_COMMON = (
    "A name counts when it answers with an address or an alias. Addresses are matched against the "
    "providers' published ranges by longest prefix; the whole CNAME chain is followed."
)
_NOTES = {
    **STUDY_NOTES,
    "providers": (
        "A name is “only” in a cloud when all its addresses are; two clouds outrank “other”. "
        "Domains are counted in two ways: over all names found in the domain (as "
        "published) and over its cloud-using names only. By the second, the authors' own material "
        "has 36,173 domains on EC2 only and 1,825 on EC2 and elsewhere, against 3,277 and 34,721 "
        "published. The published share of Azure + Other subdomains, “<0.01 %”, computes to 0.03 %."
    ),
    "patterns": (
        "Labels are a set, not a partition: Beanstalk and some Heroku names also count as load "
        "balancers. Instances are distinct addresses, or logical names for cloud services, "
        "Traffic Manager and Azure's CDN. The published 60,273 PaaS names do not equal the sum of "
        "their parts (60,271), its text gives Heroku 97 % of them where its table gives 99.5 %, "
        "and its domain shares fit some 38,000 EC2 domains rather than 38,291."
    ),
    "regions": (
        "One count per name and region; CDN addresses are left out, since an edge says nothing "
        "about where the origin is hosted. Domains add to more than their number because some use "
        "several regions. “Only here” counts names with no other region in any cloud. The source "
        "calls Ireland Azure's eu-west and the Netherlands its eu-north; Azure's own names are the "
        "other way round, and the places decide here."
    ),
    "region-counts": (
        "Regions of one provider per name, CDN left out; a name without a region is left out of n. "
        "The mean of the published curve agrees with its region table (1.06 on EC2, 1.26 on Azure)."
    ),
    "domain-region-means": (
        "The unweighted mean over a domain's names that have a region of the provider; a domain "
        "is in the first class whose upper edge its mean does not pass."
    ),
    "instance-counts": (
        "Distinct instances per name with the feature: addresses of virtual machines, and of the "
        "load balancers' proxies. The published text says that 15 % use three or more virtual "
        "machines; its own plot shows 35 %."
    ),
    "name-servers": (
        "Distinct host names in NS answers of cloud-using domains, placed by their addresses; the "
        "first place that applies counts, from CloudFront down to elsewhere. In 2013 Route 53 "
        "was in CloudFront's range, so the published 2,062 hold both."
    ),
    "name-server-counts": (
        "Name servers of the domain that a cloud-using name belongs to; names of domains without "
        "an NS answer are left out of n."
    ),
    "top-domains": (
        "The ten best-ranked domains with a name on AWS. Totals come from enumeration and are "
        "lower bounds, since a word list misses what it does not hold."
    ),
    "top-features": (
        "Features of the same ten domains; PaaS is Beanstalk and Heroku with or without a load "
        "balancer. The published table also marks CDNs other than CloudFront, which are not "
        "detected."
    ),
    "top-regions": (
        "The fifteen best-ranked domains with a name in any cloud; k counts names by the number "
        "of regions they use, over all providers. The published fourteen leave out conduit.com, "
        "which its other tables rank 38th: by the definition it belongs here."
    ),
}


def method_note(table_id: str) -> str:
    """The note of one table; raise ``KeyError`` for a table that is not known."""
    return f"{_NOTES[table_id]} {_COMMON}"
