"""Method notes of zones, sharing, customers, outages and single figures."""

STUDY_NOTES = {
    "zone-usage": (
        "One count per name and availability zone, for addresses whose zone was brought to the "
        "survey; all others are in the rows “unknown”, never guessed. “Only here” counts names "
        "with no other zone and no address of unknown zone. Published counts are in thousands. "
        "Its text lets 16.1 % of subdomains depend on us-east-1a alone, which repeats the 16.1 "
        "thousand domains of the table: an error, and the “only here” and outage tables show "
        "what the observations give."
    ),
    "zone-counts": (
        "Identified zones of one provider per name, over all its regions; names without one are "
        "left out of n. The published curve starts at 33.2 % for one zone and has the mean 1.95; "
        "times the names with a zone it gives Table 12's 1,290.0 thousand uses."
    ),
    "domain-zone-means": (
        "The unweighted mean over a domain's names with an identified zone, in classes by their "
        "upper edge. The published text says that 12 % of domains use two or more zones per "
        "name; its plot shows 12 % strictly above two, and some 23 % at two or more."
    ),
    "top-zones": (
        "Zones of the ten best-ranked domains on EC2: the distinct zones of all their names, and "
        "how many names use one, two or more; names without an identified zone are counted apart."
    ),
    "elb-sharing": (
        "Distinct names behind each address of a load balancer, in classes by their upper edge. "
        "The published text: about 4 % of addresses are shared by ten or more names."
    ),
    "name-server-sharing": (
        "Distinct cloud-using domains that each name server serves, in classes by their upper "
        "edge. No published figure says more than that many share the same."
    ),
    "name-server-operators": (
        "Operators by the registered domain of the server's host name; a few that use many such "
        "domains are one. A shop's own name for a rented server hides who runs it, so the large "
        "operators are lower bounds. “Only here” counts names all of whose name servers one "
        "operator runs."
    ),
    "customers": (
        "A domain's customer country is the one with the greatest weight among those that were "
        "imported for it, else that of its country-code top-level domain; codes sold all over "
        "the world (.io, .tv) say nothing. Names take over their domain's. Both readings of “not "
        "in the country”: none of the name's regions is there, or not all are. Names without a "
        "region are not known. The published figures rest on Alexa's client shares."
    ),
    "customer-countries": (
        "The same by customer country, for names with no region in it; the largest countries by "
        "names."
    ),
    "outages": (
        "A name is down when all its addresses are lost, or all name servers of its domain; "
        "partly when some addresses are (for an operator: some name servers). A server is lost "
        "when all its known addresses are. Addresses without a known zone survive a zone's "
        "failure; “at most” counts them as lost. Shares are of all cloud-using names. The "
        "published 16.1 % for us-east-1a is an error (see zones)."
    ),
    "outage-domains": (
        "A domain is down when all its names found with an address are, partly when any is hit; "
        "the second reading asks for its cloud-using names only. The published “61 % of EC2 "
        "domains, 2.3 % of the list” for us-east-1 follows from no published table: 67 % of EC2 "
        "domains have a name there. Dependencies between domains are not counted, so these are "
        "lower bounds."
    ),
    "dangling": (
        "A name whose alias leads to a provider's name that its own servers deny (NXDOMAIN); the "
        "rule of the missing name says whose it was. “Can be claimed” is by the provider's "
        "documented naming at the rule's date, not by a trial: no name was registered. Providers "
        "that answer for missing names (GitHub Pages, S3) are not seen, so the counts are "
        "lower bounds. Shares are of all dangling names; no published figure."
    ),
    "dangling-names": (
        "The dangling names themselves, first those whose target can be claimed, then by the "
        "rank of the domain; the first 200, all others are in the lake table fronts. No published "
        "figure."
    ),
    "text-figures": (
        "Figures of the study's text, each as a part of a whole. “10 % of EC2 domains with a "
        "virtual machine have three or more” counts distinct machines over a domain. The text's "
        "“nearly 80 %” of subdomains with 3 to 10 name servers reads 82 % in its plot. The last "
        "quarter is by rank, up to the greatest rank of the list."
    ),
}
