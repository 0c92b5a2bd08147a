"""Validation of campaign requests: a definition with its plan and predicted cost.

Nothing is stored, so that pages can preview a campaign.
"""

import csv
import io
import json
import re
import socket
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from django.conf import settings

from core.errors import BadInput
from probes.net.ssrf_guard import why_forbidden
from probes.schedule import schedule as schedules
from probes.schedule.cost import predict
from probes.schedule.limits import CAMPAIGN_LIMITS, broken_limits, unsupported_probes
from probes.schedule.plan import Plan
from probes.schedule.presets import preset_data, preset_names
from probes.schedule.schedule import Schedule, read_schedule
from webapp.store.models import Campaign, VantagePoint

# Limits of units (one row each), targets and vantage points.
MAX_UNITS, MAX_TARGETS, MAX_VANTAGES = 250_000, 10_000, 20_000
# Bounds of a schedule and names of limits, for the schema of requests.
MAX_ROUNDS = schedules.MAX_ROUNDS
ROUND_S = (schedules.MIN_ROUND_S, schedules.MAX_ROUND_S)
ACTIVITY_PATTERN = f"^{schedules.ACTIVITY_NAME}$"
LIMIT_NAMES = CAMPAIGN_LIMITS
TARGET_FIELDS = ("name", "host", "port", "family", "path", "provider", "region", "zone")
# Hosts that inet_aton may accept as an address.
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_TEXTS = ("name", "host", "path", "provider", "region", "zone")
_KNOWN = frozenset(
    {
        "name",
        "preset",
        "schedule",
        "rounds",
        "round_s",
        "activities",
        "targets",
        "vantages",
        "limits",
        "allow",
        "deny",
        "seed",
        "starts_at",
        "label",
        "idempotency_key",
    }
)


@dataclass(frozen=True)
class Definition:
    """A validated campaign; ``refusals`` are reasons why it cannot start."""

    name: str
    preset: str
    plan: Plan
    targets: list[dict[str, Any]]
    limits: dict[str, Any]
    predicted: dict[str, Any]
    refusals: list[str] = field(default_factory=list)
    # Whether its vantage points are synthetic, so that a model makes its values.
    is_synthetic: bool = False

    @property
    def schedule(self) -> Schedule:
        return self.plan.schedule


@dataclass(frozen=True)
class VantageProfiles:
    """Source and limits of vantage points by name."""

    sources: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def build_definition(
    data: Mapping[str, Any], ends: VantageProfiles | None = None, *, operator: bool
) -> Definition:
    """Validate a request; raise ``BadInput`` that names the field.

    Operators may allow networks that are forbidden by default; others have those of the
    installation.
    """
    strange = sorted(set(data) - _KNOWN)
    if strange:
        raise BadInput(f"{strange[0]!r} is not known; there are {', '.join(sorted(_KNOWN))}")
    limits = _limits(data, operator=operator)
    known = ends or VantageProfiles()
    is_synthetic = _is_synthetic(known)
    targets = read_targets(data.get("targets") or (), limits, is_probed=not is_synthetic)
    vantages = _vantages(data.get("vantages") or ())
    schedule = schedule_of(data)
    plan = Plan.of(schedule, vantages, len(targets), _seed(data.get("seed", 0)))
    if plan.window_count > MAX_UNITS:
        raise BadInput(
            f"{plan.window_count:,} windows of vantage points are more than {MAX_UNITS:,}; use "
            "fewer rounds or vantage points",
            field="rounds",
        )
    predicted = predict(plan, known.sources)
    refusals = unsupported_probes(plan, known.sources)
    refusals += broken_limits(plan, predicted, limits, known.limits)
    name = str(data.get("name") or _title(data, plan))[:200]
    return Definition(
        name,
        str(data.get("preset") or ""),
        plan,
        targets,
        limits,
        predicted,
        refusals,
        is_synthetic,
    )


def _is_synthetic(ends: VantageProfiles) -> bool:
    """Whether all vantage points are synthetic; raises ``BadInput`` if only some are."""
    made_up = [n for n, source in ends.sources.items() if source == VantagePoint.Source.SYNTHETIC]
    if made_up and len(made_up) < len(ends.sources):
        raise BadInput(
            f"{made_up[0]} is synthetic: a campaign of others measures, one of synthetic vantage "
            "points does not; choose one kind",
            field="vantages",
        )
    return bool(made_up)


def schedule_of(data: Mapping[str, Any]) -> Schedule:
    """Build the schedule from a preset or a custom one, with overrides; raise ``BadInput``."""
    if data.get("schedule") and data.get("preset"):
        raise BadInput("give a preset or a schedule, not both", field="schedule")
    own = data.get("schedule") or preset_data(str(data.get("preset") or "latency"))
    if not isinstance(own, Mapping):
        raise BadInput("a schedule is a table of fields", field="schedule")
    changed = {k: data[k] for k in ("rounds", "round_s") if data.get(k) is not None}
    found = read_schedule({**own, **changed})
    chosen = data.get("activities")
    if not chosen:
        return found
    names = [a.name for a in found.activities]
    missing = [c for c in chosen if c not in names]
    if missing:
        raise BadInput(f"{missing[0]!r} is not one of {', '.join(names)}", field="activities")
    return replace(found, activities=tuple(a for a in found.activities if a.name in chosen))


def presets() -> dict[str, dict[str, Any]]:
    """Return all presets by name."""
    return {name: preset_data(name) for name in preset_names()}


def plan_of(campaign: Campaign) -> Plan:
    """Return the plan of a stored campaign."""
    return _plan(
        campaign.pk,
        json.dumps(campaign.schedule),
        tuple(campaign.vantages),
        len(campaign.targets),
        campaign.seed,
    )


@lru_cache(maxsize=16)
def _plan(pk: int, schedule: str, vantages: tuple[str, ...], targets: int, seed: int) -> Plan:
    return Plan(read_schedule(json.loads(schedule)), vantages, targets, seed)


def read_targets(
    given: str | Sequence[Mapping[str, Any]],
    limits: Mapping[str, Any],
    *,
    is_probed: bool = True,
) -> list[dict[str, Any]]:
    """Parse targets from a list or CSV text; raise ``BadInput`` that names the line.

    Forbidden addresses are refused here, unless nothing is sent to them; names are checked when
    they are resolved.
    """
    rows = target_rows(given) if isinstance(given, str) else list(given)
    if not rows:
        raise BadInput("name one target at least", field="targets")
    if len(rows) > MAX_TARGETS:
        raise BadInput(f"{len(rows):,} targets are more than {MAX_TARGETS:,}", field="targets")
    found = [_target(row, number) for number, row in enumerate(rows, 1)]
    for what, key in (("name", lambda t: t["name"]), ("address", lambda t: (t["host"], t["port"]))):
        if len({key(t) for t in found}) < len(found):
            raise BadInput(f"two targets have the same {what}", field="targets")
    for target in found if is_probed else ():
        _refuse_forbidden(target, limits)
    return found


def target_rows(text: str) -> list[dict[str, Any]]:
    """Rows of a CSV with a column ``host``, or plain addresses, one a line."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if lines and "host" not in lines[0].lower().split(","):
        return [{"host": line.strip()} for line in lines]
    return [dict(row) for row in csv.DictReader(io.StringIO("\n".join(lines)))]


def _target(row: Any, number: int) -> dict[str, Any]:
    if isinstance(row, str):
        row = {"host": row}
    if not isinstance(row, Mapping):
        raise BadInput("a target is a table of fields", line=number)
    row = {str(k).strip().lower(): v for k, v in row.items() if v not in (None, "")}
    strange = sorted(set(row) - set(TARGET_FIELDS))
    if strange:
        raise BadInput(f"a target has no field {strange[0]!r}", line=number)
    texts = {k: str(row.get(k, "")).strip()[:255] for k in _TEXTS}
    host, port = _split(texts["host"], row.get("port"), number)
    family = _whole(row.get("family", 0), (0, 6), number)
    if family not in (0, 4, 6):
        raise BadInput(f"family {family} is not one of 0, 4 and 6", line=number)
    return {
        **texts,
        "host": host,
        "port": port,
        "family": family,
        "path": texts["path"] or "/",
        "name": texts["name"] or (f"{host}:{port}" if port else host),
        "region": texts["region"] or texts["name"] or host,
    }


def _split(host: str, port: Any, number: int) -> tuple[str, int]:
    """Split ``HOST[:PORT]``."""
    if port is None and host.count(":") == 1:
        host, _, port = host.partition(":")
    elif port is None and host.startswith("[") and "]:" in host:
        host, _, port = host.rpartition(":")
    host = host.strip("[]")
    if host.count(":") == 1:
        raise BadInput(f"{host!r} holds a port, and another one is given", line=number)
    if not host or any(c.isspace() or not c.isprintable() for c in host):
        raise BadInput(f"{host!r} is not a host", line=number)
    return host, _whole(port or 0, (0, 65_535), number)


def _whole(value: Any, span: tuple[int, int], line: int) -> int:
    try:
        found = int(str(value).strip())
    except ValueError:
        raise BadInput(f"{value!r} is not a whole number", line=line) from None
    if not span[0] <= found <= span[1]:
        raise BadInput(f"{found} is not from {span[0]} to {span[1]}", line=line)
    return found


def _refuse_forbidden(target: Mapping[str, Any], limits: Mapping[str, Any]) -> None:
    address = _address_of(target["host"])
    if address is None:
        return
    reason = why_forbidden(address, tuple(limits["allow"]), tuple(limits["deny"]))
    if reason:
        raise BadInput(
            f"{target['name']}: {reason}; the operator may allow its network by name",
            field="targets",
        )


def _address_of(host: str) -> IPv4Address | IPv6Address | None:
    """Parse a host as an address; raise ``BadInput`` for non-canonical notations.

    Resolvers take "127.1", "2130706433" and "017700000001" for 127.0.0.1 (inet_aton), and have
    loopback for "localhost" (RFC 6761).
    """
    plain = unicodedata.normalize("NFKC", host).rstrip(".").lower()
    if plain == "localhost" or plain.endswith(".localhost"):
        return IPv4Address("127.0.0.1")
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        pass
    if not _NUMERIC.fullmatch(plain):
        return None
    try:
        meant = IPv4Address(socket.inet_aton(plain))
    except OSError:
        raise BadInput(f"{host!r} is neither an address nor a name", field="targets") from None
    raise BadInput(f"{host!r} is an address: write it as {meant}", field="targets")


def _vantages(given: Sequence[Any]) -> list[str]:
    names = list(dict.fromkeys(str(name).strip() for name in given))
    if not names:
        raise BadInput("name one vantage point at least", field="vantages")
    if len(names) > MAX_VANTAGES:
        raise BadInput(f"{len(names):,} vantage points are too many", field="vantages")
    return names


def _limits(data: Mapping[str, Any], *, operator: bool) -> dict[str, Any]:
    given = data.get("limits") or {}
    if not isinstance(given, Mapping):
        raise BadInput("limits are a table of fields", field="limits")
    strange = sorted(set(given) - set(CAMPAIGN_LIMITS))
    if strange:
        raise BadInput(
            f"{strange[0]!r} is not known; there are {', '.join(CAMPAIGN_LIMITS)}", field="limits"
        )
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
            raise BadInput(f"{value!r} is not a limit", field=f"limits.{name}")
    allow = list(data.get("allow") or ())
    if allow and not operator:
        raise BadInput("only the operator opens networks that are closed by nature", field="allow")
    allow += [n for n in settings.ALLOWED_NETWORKS if n not in allow]
    return {
        **given,
        "allow": _networks(allow, "allow"),
        "deny": _networks(data.get("deny") or (), "deny"),
    }


def _networks(given: Sequence[Any], where: str) -> list[str]:
    try:
        return [str(ip_network(str(text))) for text in given]
    except ValueError as error:
        raise BadInput(str(error), field=where) from error


def _seed(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise BadInput(f"{value!r} is not a seed; it is a whole number", field="seed")
    return value


def _title(data: Mapping[str, Any], plan: Plan) -> str:
    what = str(data.get("preset") or "measurement")
    return f"{what}: {len(plan.vantages)} vantage points, {plan.targets} targets"
