"""Organisations: creation, members and roles, invitations, and which objects are in them."""

import secrets
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.text import slugify

from core.errors import BadInput, Conflict, Forbidden
from webapp.store.access import events
from webapp.store.access.tokens import digest
from webapp.store.access.visibility import manageable, visible
from webapp.store.models import (
    Audit,
    Campaign,
    Membership,
    Organisation,
    OrganisationInvitation,
    Pool,
    Recommendation,
    Role,
    ShareLink,
    Survey,
)
from webapp.store.models.accounts.organisations import MANAGERS

MARK = "nephinv_"
MAX_ORGANISATIONS = 20  # per account
MAX_MEMBERS = 500
MAX_INVITATIONS = 50
INVITATION_DAYS = 7
# Roles that an invitation may give.
INVITED_ROLES = (Role.VIEWER, Role.MEMBER, Role.ADMIN)
# What an organisation may hold, and the field by which addresses name it.
KINDS: dict[str, tuple[Any, str]] = {
    "survey": (Survey, "slug"),
    "campaign": (Campaign, "slug"),
    "audit": (Audit, "slug"),
    "recommendation": (Recommendation, "token"),
    "pool": (Pool, "key"),
}


def create(user: Any, name: str) -> Organisation:
    """Create an organisation owned by the user; raise ``BadInput`` for a bad name."""
    title = name.strip()
    if not title or len(title) > 80:
        raise BadInput("an organisation has a name of 1 to 80 characters", field="name")
    if memberships_of(user).count() >= MAX_ORGANISATIONS:
        raise Conflict(f"an account is in {MAX_ORGANISATIONS} organisations at most; leave one")
    with transaction.atomic():
        # A random end, so that no address can be guessed from a name.
        slug = f"{slugify(title)[:60] or 'organisation'}-{secrets.token_hex(5)}"
        row = Organisation.objects.create(name=title, slug=slug)
        Membership.objects.create(organisation=row, user=user, role=Role.OWNER)
        events.record(user, "organisation.create", title, row.pk)
    return row


def memberships_of(user: Any) -> QuerySet[Membership]:
    """Return the memberships of a user, by name of the organisation."""
    rows = Membership.objects.filter(user=user.pk).select_related("organisation")
    return rows.order_by("organisation__name", "pk")


def find_membership(user: Any, slug: str) -> Membership | None:
    """Return the membership of the user in the organisation of this slug."""
    return memberships_of(user).filter(organisation__slug=slug).first()


def members(organisation: Organisation) -> list[Membership]:
    """Return the members of an organisation, by name."""
    return list(organisation.memberships.select_related("user"))


def find_member(organisation: Organisation, name: str) -> Membership:
    """Return the member of this name; raise ``BadInput``."""
    row = organisation.memberships.select_related("user").filter(user__username=name).first()
    if row is None:
        raise BadInput(f"no member is named {name!r}", field="name")
    return row


def change_role(actor: Membership, target: Membership, role: str) -> None:
    """Give a member another role.

    Admins change roles below owner; owners change all. The last owner keeps the role.
    """
    if role not in Role.values:
        raise BadInput(f"a role is one of {', '.join(Role.values)}", field="role")
    _require_power(actor, target.role, role)
    with transaction.atomic():
        _lock(actor.organisation)
        if target.role == Role.OWNER and role != Role.OWNER:
            _require_another_owner(target)
        Membership.objects.filter(pk=target.pk).update(role=role)
        subject = f"{target.user.get_username()}: {target.role} to {role}"
        events.record(actor.user, "member.role", subject, actor.organisation_id)


def remove_member(actor: Membership, target: Membership) -> None:
    """Remove a member, or leave; what they added stays and is passed to an owner."""
    if actor.pk != target.pk:
        _require_power(actor, target.role)
    with transaction.atomic():
        _lock(actor.organisation)
        if target.role == Role.OWNER:
            _require_another_owner(target)
        heir = actor.user if actor.pk != target.pk else _other_owners(target)[0].user
        _pass_on(target, heir)
        name = target.user.get_username()
        events.record(actor.user, "member.remove", name, actor.organisation_id)
        target.delete()


def leave_all(user: Any) -> None:
    """Leave every organisation, as a deleted account does.

    Raise ``Conflict`` where others would be without an owner. An organisation without other
    members is deleted; its objects return to their creators.
    """
    rows = list(memberships_of(user))
    with transaction.atomic():
        for row in rows:
            if row.organisation.memberships.count() == 1:
                row.organisation.delete()
            else:
                remove_member(row, row)


def delete(actor: Membership) -> None:
    """Delete an organisation; its objects return to their creators."""
    if actor.role != Role.OWNER:
        raise Forbidden("only an owner may delete an organisation")
    events.record(actor.user, "organisation.delete", actor.organisation.name, actor.organisation_id)
    actor.organisation.delete()


def _lock(organisation: Organisation) -> None:
    """Keep other changes of the members waiting until the end of the transaction."""
    Organisation.objects.select_for_update().get(pk=organisation.pk)


def _require_power(actor: Membership, *roles: str) -> None:
    """Raise ``Forbidden`` unless the actor may change members with these roles."""
    if actor.role == Role.OWNER:
        return
    if actor.role != Role.ADMIN:
        raise Forbidden("only owners and admins may change members")
    if Role.OWNER in roles:
        raise Forbidden("only an owner may change owners")


def _other_owners(row: Membership) -> list[Membership]:
    owners = row.organisation.memberships.filter(role=Role.OWNER).exclude(pk=row.pk)
    return list(owners.select_related("user").order_by("pk"))


def _require_another_owner(row: Membership) -> None:
    if not _other_owners(row):
        name = row.organisation.name
        raise Conflict(f"{row.user.get_username()} is the only owner of {name}; name another first")


def _pass_on(row: Membership, heir: Any) -> None:
    """Pass the objects of a leaving member to another, and revoke the links that they made."""
    for kind, (model, _) in KINDS.items():
        inside = model._default_manager.filter(organisation=row.organisation_id)
        if kind in ("survey", "campaign", "audit"):
            ShareLink.objects.filter(**{f"{kind}__in": inside}, owner=row.user_id).update(
                revoked_at=timezone.now()
            )
            inside.filter(maker=row.user_id).update(maker=heir, idempotency_key=None)
        elif kind == "recommendation":
            inside.filter(owner=row.user_id).update(idempotency_key=None)
        inside.filter(owner=row.user_id).update(owner=heir)


def invite(actor: Membership, role: str, note: str = "") -> tuple[OrganisationInvitation, str]:
    """Create an invitation; return it with its secret, which cannot be shown again."""
    _require_power(actor)
    if role not in INVITED_ROLES:
        raise BadInput(f"invite as one of {', '.join(INVITED_ROLES)}", field="role")
    if invitations(actor).count() >= MAX_INVITATIONS:
        raise Conflict(f"{MAX_INVITATIONS} invitations are open already; revoke one first")
    secret = MARK + secrets.token_urlsafe(32)
    row = OrganisationInvitation.objects.create(
        organisation=actor.organisation,
        role=role,
        note=note.strip()[:80],
        created_by=actor.user,
        sha256=digest(secret),
        expires_at=timezone.now() + timedelta(days=INVITATION_DAYS),
    )
    subject = f"{row.note or 'anyone with the link'} as {role}"
    events.record(actor.user, "invitation.create", subject, actor.organisation_id)
    return row, secret


def invitations(actor: Membership) -> QuerySet[OrganisationInvitation]:
    """Return the open invitations of an organisation, for those who may invite."""
    if actor.role not in MANAGERS:
        return OrganisationInvitation.objects.none()
    return _open_invitations().filter(organisation=actor.organisation_id)


def _open_invitations() -> QuerySet[OrganisationInvitation]:
    # An invitation ends with the role of its creator.
    rows = OrganisationInvitation.objects.filter(
        revoked_at=None,
        last_used_at=None,
        expires_at__gt=timezone.now(),
        created_by__is_active=True,
    )
    still = Membership.objects.filter(
        organisation=OuterRef("organisation"), user=OuterRef("created_by"), role__in=MANAGERS
    )
    return rows.filter(Exists(still)).select_related("organisation", "created_by")


def find_invitation(secret: str) -> OrganisationInvitation | None:
    """Return the open invitation of a secret."""
    return _open_invitations().filter(sha256=digest(secret)).first()


def revoke_invitation(actor: Membership, pk: int) -> bool:
    """Revoke an invitation; return false if there is none that the actor may revoke."""
    row = invitations(actor).filter(pk=pk).first()
    if row is None:
        return False
    OrganisationInvitation.objects.filter(pk=pk).update(revoked_at=timezone.now())
    events.record(actor.user, "invitation.revoke", row.note, actor.organisation_id)
    return True


def accept(user: Any, secret: str) -> Organisation:
    """Make the user a member by an invitation, which then is used; raise ``BadInput``."""
    row = find_invitation(secret)
    if row is None:
        raise BadInput("this invitation was used or revoked, or has expired", field="invitation")
    if find_membership(user, row.organisation.slug):
        raise Conflict(f"you are a member of {row.organisation.name} already")
    if row.organisation.memberships.count() >= MAX_MEMBERS:
        raise Conflict(f"an organisation has at most {MAX_MEMBERS} members")
    if memberships_of(user).count() >= MAX_ORGANISATIONS:
        raise Conflict(f"an account is in {MAX_ORGANISATIONS} organisations at most; leave one")
    with transaction.atomic():
        unused = OrganisationInvitation.objects.filter(pk=row.pk, last_used_at=None)
        if not unused.update(last_used_at=timezone.now()):
            raise BadInput("this invitation was used already", field="invitation")
        Membership.objects.create(organisation=row.organisation, user=user, role=row.role)
        events.record(user, "member.join", f"as {row.role}", row.organisation_id)
    return row.organisation


def objects_of(organisation: Organisation, user: Any) -> list[tuple[str, Any]]:
    """Return (kind, row) of the objects in an organisation that the user may see."""
    return [
        (kind, row)
        for kind, (model, _) in KINDS.items()
        for row in visible(model._default_manager.filter(organisation=organisation), user)[:200]
    ]


def own_objects(user: Any) -> list[tuple[str, Any]]:
    """Return (kind, row) of the objects of a user that are in no organisation."""
    return [
        (kind, row)
        for kind, (model, _) in KINDS.items()
        for row in manageable(model._default_manager.filter(organisation=None), user)[:200]
    ]


def key_of(kind: str, row: Any) -> str:
    """Return what names an object in addresses."""
    return str(getattr(row, KINDS[kind][1]))


def _find_managed(user: Any, kind: str, key: str) -> Any:
    """Return an object that the user manages; raise ``BadInput``."""
    if kind not in KINDS:
        raise BadInput(f"a kind is one of {', '.join(KINDS)}", field="kind")
    model, field = KINDS[kind]
    row = manageable(model._default_manager.filter(**{field: key}), user).first()
    if row is None:
        raise BadInput(f"you manage no {kind} {key!r}", field="id")
    return row


def add_object(actor: Membership, kind: str, key: str) -> None:
    """Add an object that the actor created, so that all members see it."""
    if actor.role == Role.VIEWER:
        raise Forbidden("viewers add nothing; ask an admin for the role of a member")
    row = _find_managed(actor.user, kind, key)
    if row.organisation_id not in (None, actor.organisation_id):
        raise Conflict(f"this {kind} is in another organisation; remove it from there first")
    type(row)._default_manager.filter(pk=row.pk).update(organisation=actor.organisation)
    events.record(actor.user, f"{kind}.add", key, actor.organisation_id)


def remove_object(actor: Membership, kind: str, key: str) -> None:
    """Remove an object from the organisation; it returns to its creator."""
    row = _find_managed(actor.user, kind, key)
    if row.organisation_id != actor.organisation_id:
        raise BadInput(f"the organisation has no {kind} {key!r}", field="id")
    type(row)._default_manager.filter(pk=row.pk).update(organisation=None)
    events.record(actor.user, f"{kind}.remove", key, actor.organisation_id)
