"""Overview of all commands by subject, which ``manage.py`` prints without arguments."""

from core.release import VERSION

SUBJECTS: dict[str, dict[str, str]] = {
    "Where domains are hosted": {
        "survey": "domain list to report: names, places, tables",
        "resolve": "many names to their records, fast",
        "enumerate": "domains to their subdomains",
        "audit": "a policy applied to domains: findings, and a code for pipelines",
        "study": "bring zones and customers to a survey, compare it, study records",
        "zones": "zones of addresses, from own instances and round-trip times",
        "packets": "traffic logs and captures, by cloud and domain",
    },
    "What addresses are": {
        "ranges": "files of address ranges of providers",
        "asn": "origin ASes of addresses",
        "geolocation": "countries and cities of addresses",
    },
    "How well regions serve": {
        "campaign": "measurements from many places to many regions, round after round",
        "vantage": "own vantage points",
        "networks": "vantage points of Globalping and RIPE Atlas",
        "isp-diversity": "traceroutes to the ISPs behind each region",
        "regions": "the provably best k regions for given clients",
    },
    "Which machines are good": {
        "screening": "verdicts on machines, pools and their pay-off",
        "simulate": "experiments inside the data centre, compared with published figures",
    },
    "Where the truth is known": {
        "testbed": "an emulated Internet on loopback",
        "lab": "an Internet of network namespaces, for probes",
        "demo": "a new installation filled with emulated and synthetic data",
    },
    "The installation": {
        "run": "serve the site with everything it needs on this machine",
        "account": "accounts of people",
        "opt-out": "domains, addresses and networks that are not measured",
        "backup": "a copy of all data, without stopping the site",
        "upgrade": "whether this version fits the stored data, and its migrations",
        "lake": "the object storage of the lake: state, first upload, checks, garbage",
        "migrate": "bring the database up to date (PostgreSQL; SQLite does it itself)",
    },
}


def text() -> str:
    """The whole overview."""
    lines = [f"Nephoscope {VERSION} measures clouds from outside.", ""]
    lines += ["usage: manage.py COMMAND …; manage.py COMMAND --help tells more"]
    for subject, commands in SUBJECTS.items():
        lines += ["", subject]
        lines += [f"  {name:<17} {words}" for name, words in commands.items()]
    return "\n".join([*lines, "", "All options and shapes: docs/reference/commands.md"])
