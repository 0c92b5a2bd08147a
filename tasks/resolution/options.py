"""From a command's or request's options to the options that a crawl keeps."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from tasks.resolution.engine_factory import Resolving, engine_config, load_wordlist, servers_of
from tasks.resolution.name_sources import USUAL_PERMUTATIONS, check_options, chosen_sources


def resolving_from(options: Mapping[str, Any]) -> Resolving:
    """Options of one crawl, checked now so that a mistake is reported before any work."""
    chosen = Resolving(
        name_servers=tuple(options.get("name_server") or settings.NAME_SERVERS),
        rate=options.get("rate"),
        window=options.get("window"),
        retries=options.get("retries"),
        timeout_s=options.get("timeout"),
        wordlist=load_wordlist(options.get("wordlist")),
        aaaa=not options.get("no_aaaa", False),
        allowed_networks=tuple(options.get("allow_network") or settings.ALLOWED_NETWORKS),
        zone_rate=options.get("zone_rate"),
        total_rate=options.get("total_rate"),
        case_mixing=bool(options.get("case_mixing")),
        root_servers=tuple(options.get("root_server") or ()),
        **_sources_from(options),
    )
    engine_config(chosen, servers_of(chosen))
    check_options(chosen)
    return chosen


def _sources_from(options: Mapping[str, Any]) -> dict[str, Any]:
    imports, server = options.get("imports") or (), options.get("ct_server") or ""
    n_altered = options.get("permutations")
    given = {"import": bool(imports), "certificates": bool(server), "permutations": bool(n_altered)}
    names = chosen_sources(options.get("sources"), given)
    altered = USUAL_PERMUTATIONS if n_altered is None else n_altered
    return {
        "axfr": "axfr" in names and not options.get("no_axfr", False),
        "words": "words" in names,
        "nsec": "nsec" in names,
        "imports": tuple(str(Path(p).resolve()) for p in imports) if "import" in names else (),
        "ct_server": server if "certificates" in names else "",
        "contact": options.get("contact") or "",
        "permutations": altered if "permutations" in names else 0,
    }
