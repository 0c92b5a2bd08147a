"""From a command's or request's options to the options that a crawl keeps."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from tasks.resolvers import Resolving, engine_config, load_wordlist, servers_of


def resolving_from(options: Mapping[str, Any]) -> Resolving:
    """Options of one crawl, checked now so that a mistake is reported before any work."""
    chosen = Resolving(
        name_servers=tuple(options.get("name_server") or settings.NAME_SERVERS),
        rate=options.get("rate"),
        window=options.get("window"),
        retries=options.get("retries"),
        timeout_s=options.get("timeout"),
        wordlist=load_wordlist(options.get("wordlist")),
        axfr=not options.get("no_axfr", False),
        aaaa=not options.get("no_aaaa", False),
        allowed_networks=tuple(options.get("allow_network") or settings.ALLOWED_NETWORKS),
    )
    engine_config(chosen, servers_of(chosen))
    return chosen
