"""Start the campaigns that measure the zones of a survey: one for each region with probes in it."""

from typing import Any

from core.errors import BadInput, MissingData
from tasks.campaigns import commands
from tasks.zones.observations import addresses_of, zone_probes
from webapp.store.campaigns.plans import MAX_TARGETS
from webapp.store.models import Campaign, Survey, VantagePoint
from webapp.store.vantages.services import points
from webapp.store.zones import services

# Ten pings as in IMC'13, section 4.3.2, in two rounds a minute apart.
ROUND_S, ROUNDS, PINGS = 60.0, 2, 10
_PORT = 443


def measurable(survey: Survey, user: Any) -> dict[tuple[str, str], list[str]]:
    """Vantage points by (provider, region) in which the survey has addresses too."""
    probes = zone_probes()
    if not probes:
        return {}
    present = {(provider, region) for _, provider, region in addresses_of(survey)}
    seen = set(points(user).values_list("name", flat=True))
    found: dict[tuple[str, str], list[str]] = {}
    for name, cloud in sorted(probes.items()):
        key = (cloud["provider"], cloud["region"])
        if key in present and name in seen:
            found.setdefault(key, []).append(name)
    return found


def measure(survey: Survey, user: Any) -> list[Campaign]:
    """Start the campaigns and let them count; raises ``MissingData`` without a vantage point."""
    own = measurable(survey, user)
    if not own:
        raise MissingData(
            "no vantage point is in a zone of a region that this survey uses: join one with "
            "vantage invite NAME --cloud PROVIDER/REGION/ZONE/ACCOUNT"
        )
    hosts: dict[tuple[str, str], list[str]] = {key: [] for key in own}
    for address, provider, region in addresses_of(survey):
        if (provider, region) in hosts:
            hosts[provider, region].append(address)
    started = []
    for key, names in _largest_first(own, hosts):
        try:
            started.append(_start(survey, key, names, hosts[key], user))
        except BadInput:
            if not started:
                raise
            break  # the account has as many open campaigns as it may have
    return started


def _largest_first(
    own: dict[tuple[str, str], list[str]], hosts: dict[tuple[str, str], list[str]]
) -> list[tuple[tuple[str, str], list[str]]]:
    return sorted(own.items(), key=lambda item: (-len(hosts[item[0]]), item[0]))


def _start(
    survey: Survey, key: tuple[str, str], names: list[str], hosts: list[str], user: Any
) -> Campaign:
    provider, region = key
    targets = [
        {"name": a, "host": a, "port": _PORT, "provider": provider, "region": region}
        for a in hosts[:MAX_TARGETS]
    ]
    asked = {
        "name": f"Zones of {region}: {survey.name}"[:200],
        "schedule": _schedule(len(targets)),
        "targets": targets,
        "vantages": _of_one_kind(names),
        "public": survey.owner_id is None,
    }
    made = commands.start(asked, user)
    services.add_campaign(survey, made)
    return made


def _schedule(targets: int) -> dict[str, Any]:
    ping = {
        "name": "zones",
        "probe": "tcp-ping",
        "options": {"count": PINGS, "timeout_s": 1.0, "interval_s": 0.02},
        "slot_s": 0.3,
    }
    # A vantage point is at one target at a time.
    round_s = max(ROUND_S, 0.5 * targets)
    return {"round_s": round_s, "rounds": ROUNDS, "activities": [ping], "title": "Zones"}


def _of_one_kind(names: list[str]) -> list[str]:
    """Own machines, or synthetic vantage points where there are no others."""
    rows = VantagePoint.objects.filter(name__in=names)
    made_up = {p.name for p in rows if p.source == VantagePoint.Source.SYNTHETIC}
    return [n for n in names if n not in made_up] or names
