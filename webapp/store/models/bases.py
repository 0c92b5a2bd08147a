"""What several kinds of rows have in common: keys, links that share, leases and finished tables."""

from typing import ClassVar

from django.db import models


class HashedToken(models.Model):
    """What opens something to whoever has it, as a hash, until it is over or taken back."""

    sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True
        ordering: ClassVar = ["-created_at", "-id"]


class SharedByLink(models.Model):
    """What one link opens to be read, and nothing else, until its owner takes it back.

    The link follows from the seed and this installation's secret key
    (``webapp.store.access.share_links``), so that its owner can copy it again while the database
    alone opens nothing. A link without a seed was made when links were stored as they are: it
    opens, but cannot be shown again.
    """

    share_seed = models.CharField(max_length=64, default="", blank=True)
    share_sha256 = models.CharField(max_length=64, null=True, blank=True, unique=True)

    class Meta:
        abstract = True

    @property
    def is_shared(self) -> bool:
        return self.share_sha256 is not None


class Leased(models.Model):
    """Work that one worker has at a time; what it had counts only if the attempt is still its."""

    attempt = models.PositiveIntegerField(default=0)
    leased_until = models.DateTimeField(null=True, blank=True)
    error = models.TextField(default="", blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class WorkUnit(Leased):
    """A unit of work: what it counts while it runs, and what it left in the lake."""

    counters = models.JSONField(default=dict)
    # Manifest: rows per lake table, written in the transaction that ends the piece.
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
