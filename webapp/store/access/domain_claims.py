"""Proof of control of domains and addresses: claims of accounts, and opt-outs without one.

Where ``NEPHOSCOPE_OWNERSHIP_PROOF`` requires it, accounts other than operators have zones
transferred and hosts probed only of domains and addresses that they proved to control. The same
proof excludes a domain from all measurements.
"""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from core.errors import BadInput, Conflict
from crawlers.engine.policy import DomainSet
from crawlers.files.domain_list import normalise_domain
from webapp.store.access import events
from webapp.store.models import DomainClaim

MAX_PER_ACCOUNT = 100
# A proof has to be repeated, since domains change hands; an opt-out stays.
VALID = timedelta(days=365)
# Opt-outs that were never proved are deleted.
PENDING = timedelta(days=7)


@dataclass(frozen=True)
class OptOuts:
    """What is excluded from all measurements: domains with everything below, and prefixes."""

    domains: frozenset[str] = frozenset()
    networks: tuple[str, ...] = ()

    @cached_property
    def _names(self) -> DomainSet:
        return DomainSet(self.domains)

    @cached_property
    def _prefixes(self) -> list[IPv4Network | IPv6Network]:
        return [ip_network(network) for network in self.networks]

    def covers(self, host: str) -> bool:
        """Whether a host name or an address is excluded."""
        address = _address(host)
        if address is None:
            return self._names.covers(host.rstrip(".").lower())
        return any(address in prefix for prefix in self._prefixes)


def normalise(text: str, *, is_prefix_allowed: bool = False) -> str:
    """A domain in lower-case ASCII, an address, or a prefix; raises ``BadInput``."""
    given = text.strip().strip("[]")
    try:
        if is_prefix_allowed and "/" in given:
            return str(ip_network(given))
        return str(ip_address(given))
    except ValueError:
        pass
    try:
        name = normalise_domain(given)
    except BadInput as error:
        raise BadInput(f"{given[:80]!r} {error}", field="name") from error
    if "." not in name:
        raise BadInput(f"{name!r} is a top-level domain", field="name")
    return name


def claim(owner: Any, text: str) -> DomainClaim:
    """Store a claim of an account, or return the one that it has; raises ``BadInput``."""
    name = normalise(text)
    known = DomainClaim.objects.filter(owner=owner, name=name).first()
    if known:
        return known
    if DomainClaim.objects.filter(owner=owner).count() >= MAX_PER_ACCOUNT:
        raise Conflict(f"an account has at most {MAX_PER_ACCOUNT} domains; delete one first")
    return DomainClaim.objects.create(
        purpose=DomainClaim.Purpose.OWNERSHIP, owner=owner, name=name, token=_new_token()
    )


def request_opt_out(text: str) -> DomainClaim:
    """Store an opt-out that is not proved yet; raises ``BadInput``."""
    name = normalise(text)
    _opt_outs().filter(verified_at=None, created_at__lt=timezone.now() - PENDING).delete()
    return DomainClaim.objects.create(
        purpose=DomainClaim.Purpose.OPT_OUT, name=name, token=_new_token()
    )


def _new_token() -> str:
    return secrets.token_hex(16)


def claims_of(owner: Any) -> QuerySet[DomainClaim]:
    """Return the claims of an account by name."""
    return DomainClaim.objects.filter(owner=owner)


def find_opt_out(token: str) -> DomainClaim | None:
    """Return the opt-out of a token, or None."""
    return _opt_outs().filter(token=token).first()


def _opt_outs() -> QuerySet[DomainClaim]:
    return DomainClaim.objects.filter(purpose=DomainClaim.Purpose.OPT_OUT)


def confirm(row: DomainClaim, method: str) -> None:
    """Record that control was proved."""
    row.verified_at = row.checked_at = timezone.now()
    row.method, row.error = method, ""
    row.save(update_fields=["verified_at", "checked_at", "method", "error"])
    events.record(row.owner, f"domain.{row.purpose}", f"{row.name} ({row.get_method_display()})")


def fail(row: DomainClaim, reason: str) -> None:
    """Record why a check failed; an earlier proof stays valid until it expires."""
    row.checked_at, row.error = timezone.now(), reason[:1000]
    row.save(update_fields=["checked_at", "error"])


def delete(owner: Any, pk: int) -> bool:
    """Delete a claim of an account; false where it has no such claim."""
    row = claims_of(owner).filter(pk=pk).first()
    if row is None:
        return False
    events.record(owner, "domain.delete", row.name)
    row.delete()
    return True


def approve(owner: Any, text: str) -> DomainClaim:
    """Accept a claim by the operator's word; raises ``BadInput``."""
    row = claim(owner, text)
    confirm(row, DomainClaim.Method.OPERATOR)
    return row


def add_opt_out(text: str) -> DomainClaim:
    """Exclude a domain, an address or a prefix by the operator's word; raises ``BadInput``."""
    name = normalise(text, is_prefix_allowed=True)
    row = _opt_outs().filter(name=name, verified_at__isnull=False).first()
    if row is None:
        row = DomainClaim.objects.create(
            purpose=DomainClaim.Purpose.OPT_OUT, name=name, token=_new_token()
        )
        confirm(row, DomainClaim.Method.OPERATOR)
    return row


def remove_opt_out(text: str) -> None:
    """Measure a domain, an address or a prefix again; raises ``BadInput``."""
    name = normalise(text, is_prefix_allowed=True)
    if not _opt_outs().filter(name=name).delete()[0]:
        raise BadInput(f"{name} is not opted out", field="name")
    events.record(None, "domain.opt-in", name)


def list_opt_outs() -> QuerySet[DomainClaim]:
    """Return the proved opt-outs by name."""
    return _opt_outs().filter(verified_at__isnull=False)


def opt_outs() -> OptOuts:
    """Return everything that is excluded from measurements by proved opt-outs."""
    names = list_opt_outs().values_list("name", flat=True).distinct()
    networks = tuple(name for name in names if "/" in name or is_address(name))
    return OptOuts(frozenset(names) - frozenset(networks), networks)


def needs_proof(user: Any) -> bool:
    """Whether a user needs proofs: no operator does, and no account where the setting is off."""
    return settings.OWNERSHIP_PROOF and not getattr(user, "is_staff", False)


def proven(user: Any) -> frozenset[str]:
    """Return domains and addresses of which an account has a valid proof."""
    if user is None or not user.is_authenticated:
        return frozenset()
    rows = claims_of(user).filter(verified_at__gt=timezone.now() - VALID)
    return frozenset(rows.values_list("name", flat=True))


def transferable(user: Any, domains: Iterable[str]) -> list[str]:
    """Return the proved domains that cover any of these domains."""
    names = DomainSet(proven(user))
    return sorted({found for domain in domains if (found := names.find(domain))})


def check_targets(
    targets: Iterable[Mapping[str, Any]], user: Any, *, is_operator: bool = False
) -> None:
    """Raise ``BadInput`` for a target that opted out or that the user has not proved to control."""
    excluded = opt_outs()
    names = None if is_operator or not needs_proof(user) else DomainSet(proven(user))
    for target in targets:
        host = str(target["host"]).rstrip(".").lower()
        if excluded.covers(host):
            raise BadInput(f"{host} has opted out of measurements", field="targets")
        if names is not None and not names.covers(host):
            raise BadInput(
                f"you have not proved that you control {host}: add it under Account, Domains, or "
                "ask the operator",
                field="targets",
            )


def is_address(name: str) -> bool:
    """Whether a claim is of an address, which has no TXT record."""
    return _address(name) is not None


def _address(host: str) -> Any:
    try:
        return ip_address(host)
    except ValueError:
        return None
