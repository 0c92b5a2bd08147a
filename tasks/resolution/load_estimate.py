"""The load that a run of ``resolve`` puts on each server, computed without sending anything."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from crawlers.dns.public_suffix import registered_domain
from crawlers.files.name_list import NameList
from tasks.resolution.engine_factory import Resolving, engine_config, servers_of
from tasks.resolution.list_file import open_names
from tasks.resolution.resolve_command import ListJob

# Domains with the most names that are listed one by one.
_LISTED_DOMAINS = 20


class Load(NamedTuple):
    """What one server, or the servers of one domain, would receive.

    ``questions`` are first queries, ``most_queries`` includes all retransmissions. ``rate_qps`` is
    the limit in force (none: unlimited) and ``least_s`` the time that it makes the run last.
    """

    target: str
    questions: int
    most_queries: int
    rate_qps: float | None

    @property
    def least_s(self) -> float:
        return self.questions / self.rate_qps if self.rate_qps else 0.0

    def __str__(self) -> str:
        limit = f"{self.rate_qps:,g} queries/s" if self.rate_qps else "no limit"
        least = f", at least {_duration(self.least_s)}" if self.rate_qps else ""
        return (
            f"{self.target}: {self.questions:,} questions, at most {self.most_queries:,} queries, "
            f"{limit}{least}"
        )


def estimate_load(job: ListJob, options: Resolving) -> Iterator[Load]:
    """The load on each server in turn; with ``iterative``, on the domains with the most names.

    Reads the whole list; raises ``BadInput`` as the run itself would.
    """
    with open_names(job.names_file) as source:
        questions = NameList(source, job.types, job.subnet).questions()
        if job.iterative:
            yield from _by_domain((question.name for question in questions), options)
        else:
            yield from _by_server(sum(1 for _ in questions), options)


def _by_server(questions: int, options: Resolving) -> Iterator[Load]:
    """Servers are queried in turn, so each receives an equal share."""
    servers = servers_of(options)
    config = engine_config(options, servers)
    limits = [config.rate_per_server, config.total_rate and config.total_rate / len(servers)]
    rate = min((limit for limit in limits if limit), default=None)
    for number, server in enumerate(servers):
        share = questions // len(servers) + (number < questions % len(servers))
        # Retries go to the other servers in turn.
        yield Load(str(server), share, share * (1 + config.retries), rate)


def _by_domain(names: Iterator[str], options: Resolving) -> Iterator[Load]:
    """The questions to the name servers of each domain; those of the zones above are cached."""
    counts = Counter(map(registered_domain, names))
    config = engine_config(options, [])
    limits = [config.zone_rate, config.rate_per_server, config.total_rate]
    rate = min((limit for limit in limits if limit), default=None)
    tries = 1 + config.retries
    for domain, n in counts.most_common(_LISTED_DOMAINS):
        yield Load(f"name servers of {domain}", n, n * tries, rate)
    rest = sum(counts.values()) - sum(n for _, n in counts.most_common(_LISTED_DOMAINS))
    if rest:
        more = len(counts) - _LISTED_DOMAINS
        yield Load(f"name servers of {more:,} further domains", rest, rest * tries, None)


def _duration(seconds: float) -> str:
    whole = math.ceil(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {whole % 60} s"
