"""Abstract models: tokens, share links, objects of organisations, leases, units, tables."""

from typing import ClassVar

from django.db import models


def idempotency_constraints(field: str, name: str) -> list[models.BaseConstraint]:
    """Make ``idempotency_key`` unique per user in ``field``, and among rows without one.

    Keys are unique per user, so that a key never reveals another user's row.
    """
    return [
        models.UniqueConstraint(
            fields=[field, "idempotency_key"],
            condition=models.Q(**{f"{field}__isnull": False}),
            name=f"{name}_key_of_{field}",
        ),
        models.UniqueConstraint(
            fields=["idempotency_key"],
            condition=models.Q(**{f"{field}__isnull": True}),
            name=f"{name}_key_of_nobody",
        ),
    ]


class HashedToken(models.Model):
    """A secret token, stored as a hash, until it expires or is revoked."""

    sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True
        ordering: ClassVar = ["-created_at", "-id"]


class SharedByLink(models.Model):
    """A row with one read-only share link, until its owner revokes it.

    The link is derived from the seed and the installation's secret key
    (``webapp.store.access.share_links``), so that its owner can copy it again while the database
    alone grants no access. A link without a seed is from a version that stored links in plain: it
    is valid, but cannot be shown again.
    """

    share_seed = models.CharField(max_length=64, default="", blank=True)
    share_sha256 = models.CharField(max_length=64, null=True, blank=True, unique=True)

    class Meta:
        abstract = True

    @property
    def is_shared(self) -> bool:
        return self.share_sha256 is not None


class OwnedByOrganisation(models.Model):
    """A row that the members of an organisation see beside its owner, if it is in one."""

    organisation = models.ForeignKey(
        "store.Organisation",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )

    class Meta:
        abstract = True


class Leased(models.Model):
    """Work that one worker leases at a time; results count only for the current attempt."""

    attempt = models.PositiveIntegerField(default=0)
    leased_until = models.DateTimeField(null=True, blank=True)
    error = models.TextField(default="", blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class LeasedJob(Leased):
    """A job in the background with its state; a lost one is claimed again."""

    class State(models.TextChoices):
        """Life of a job; it waits again when it is requested again."""

        WAITING = "waiting"
        RUNNING = "running"
        FINISHED = "finished"
        FAILED = "failed"

    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    requested_at = models.DateTimeField()

    class Meta:
        abstract = True

    @property
    def has_ended(self) -> bool:
        return self.state in (self.State.FINISHED, self.State.FAILED)


class WorkUnit(Leased):
    """A leased unit of work with its counters and its manifest of lake rows."""

    counters = models.JSONField(default=dict)
    # Manifest: rows per lake table, written in the transaction that ends the unit.
    rows = models.JSONField(default=dict)

    class Meta:
        abstract = True


class FinishedTable(models.Model):
    """One finished table of a survey or campaign, as pages and API show it."""

    table_id = models.CharField(max_length=40)
    columns = models.JSONField()
    rows = models.JSONField()
    n = models.PositiveBigIntegerField()
    headline = models.TextField()
    checks = models.JSONField(default=list)
    computed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True
