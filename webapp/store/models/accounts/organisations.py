"""Organisations: members with roles, and invitations."""

from typing import ClassVar

from django.conf import settings
from django.db import models

from webapp.store.models.bases import HashedToken


class Organisation(models.Model):
    """Accounts that see surveys, campaigns, audits, recommendations and pools together."""

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["name", "id"]

    def __str__(self) -> str:
        return self.slug


class Role(models.TextChoices):
    """Permissions of a member; each role includes those below it."""

    OWNER = "owner", "Owner"  # changes all roles, deletes the organisation
    ADMIN = "admin", "Admin"  # invites and removes members, manages all objects
    MEMBER = "member", "Member"  # adds objects of their own
    VIEWER = "viewer", "Viewer"  # reads


# Roles that manage members and all objects.
MANAGERS = (Role.OWNER, Role.ADMIN)


class Membership(models.Model):
    """One account in one organisation."""

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="memberships"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=8, choices=Role.choices, default=Role.VIEWER)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["user__username"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["organisation", "user"], name="one_membership_each")
        ]

    def __str__(self) -> str:
        return f"{self.organisation_id}/{self.user_id} {self.role}"


class OrganisationInvitation(HashedToken):
    """A token that makes one account a member, once; only its hash is stored."""

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="invitations"
    )
    role = models.CharField(max_length=8, choices=Role.choices, default=Role.VIEWER)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    # Whom it is for, so that members can distinguish invitations.
    note = models.CharField(max_length=80, default="", blank=True)

    def __str__(self) -> str:
        return f"{self.organisation_id}/{self.pk}"
