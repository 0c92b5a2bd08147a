"""Pools of virtual machines that are screened: their tokens, machines, reports and others' logs.

A row of a report holds what pages and decisions need; the report itself lies in a pack file.
"""

from django.conf import settings
from django.db import models

from webapp.store.models.bases import HashedToken, OwnedByOrganisation, SharedByLink


class Pool(OwnedByOrganisation, SharedByLink):
    """A pool of machines that are compared with each other; ``key`` is its slug in addresses.

    ``revision`` increases with each change of its findings; ``analysed_revision`` is the revision
    of the stored ``findings``.
    """

    key = models.CharField(max_length=24, unique=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="pools",
    )
    name = models.CharField(max_length=120)
    # Stalls per 100 s up to which a machine is good, and over which it is bad.
    low = models.FloatField(default=13.0)
    high = models.FloatField(default=65.0)
    # How many good machines are wanted, what one launch costs, and in which money.
    wanted = models.PositiveIntegerField(default=10)
    price = models.FloatField(default=0.0)
    currency = models.CharField(max_length=8, default="", blank=True)
    # Whether its machines count in the public comparison of instance types.
    contributes = models.BooleanField(default=False)
    n_reports = models.PositiveBigIntegerField(default=0)
    n_bytes = models.PositiveBigIntegerField(default=0)
    revision = models.PositiveBigIntegerField(default=0)
    network_revision = models.PositiveBigIntegerField(default=0)
    analysed_revision = models.PositiveBigIntegerField(default=0)
    tested_revision = models.PositiveBigIntegerField(default=0)
    # Marks have moved, and a worker has yet to judge all reports by them.
    is_to_judge = models.BooleanField(default=False)
    leased_until = models.DateTimeField(null=True, blank=True)
    analysed_at = models.DateTimeField(null=True, blank=True)
    findings = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    last_report_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return self.key


class PoolToken(HashedToken):
    """A write-only token of one pool; only its hash is stored."""

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=80, default="", blank=True)
    # The first characters, which identify the token in lists.
    prefix = models.CharField(max_length=16)

    def __str__(self) -> str:
        return f"{self.pool_id}/{self.prefix}"


class PoolInstance(models.Model):
    """One machine: its name and the hash of its machine id, with its newest verdict.

    A server that others call and that never reported has a row without a verdict.
    """

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="instances")
    name = models.CharField(max_length=300)
    machine = models.CharField(max_length=64, default="", blank=True)
    addresses = models.JSONField(default=list)
    host = models.JSONField(default=dict)
    verdict = models.CharField(max_length=12, default="", blank=True)
    sure = models.BooleanField(default=False)
    judged_from = models.DateTimeField(null=True, blank=True)
    stalls = models.PositiveIntegerField(default=0)
    seconds = models.FloatField(default=0.0)
    per_100s = models.FloatField(null=True, blank=True)
    rate_low = models.FloatField(null=True, blank=True)
    rate_high = models.FloatField(null=True, blank=True)
    p999_ms = models.FloatField(null=True, blank=True)
    good_chance = models.FloatField(null=True, blank=True)
    cause = models.CharField(max_length=16, default="", blank=True)
    # Verdict of network tests (good, bad, not-enough), and the owner's label (good, bad).
    truth = models.CharField(max_length=12, default="", blank=True)
    truth_sure = models.BooleanField(default=False)
    truth_p999_ms = models.FloatField(null=True, blank=True)
    label = models.CharField(max_length=4, default="", blank=True)
    n_reports = models.PositiveIntegerField(default=0)
    first_seen_at = models.DateTimeField(null=True, blank=True)
    last_seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["pool", "name", "machine"], name="instance_once")
        ]

    def __str__(self) -> str:
        return f"{self.pool_id}/{self.name}"


class PoolReport(models.Model):
    """One stored report; ``pack``, ``offset`` and ``length`` locate its body."""

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="reports")
    instance = models.ForeignKey(PoolInstance, on_delete=models.CASCADE, related_name="reports")
    token = models.ForeignKey(PoolToken, on_delete=models.SET_NULL, null=True, blank=True)
    report_id = models.CharField(max_length=32)
    fingerprint = models.CharField(max_length=64)
    started_at = models.DateTimeField()
    received_at = models.DateTimeField()
    has_sleeps = models.BooleanField(default=False)
    has_network = models.BooleanField(default=False)
    has_battery = models.BooleanField(default=False)
    verdict = models.CharField(max_length=12, default="", blank=True)
    per_100s = models.FloatField(null=True, blank=True)
    cause = models.CharField(max_length=16, default="", blank=True)
    summary = models.JSONField(default=dict)
    pack = models.CharField(max_length=80)
    offset = models.PositiveBigIntegerField()
    length = models.PositiveIntegerField()

    class Meta:
        ordering = ["-started_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["pool", "report_id"], name="pool_report_once")
        ]
        indexes = [
            models.Index(fields=["pool", "received_at"], name="pool_report_arrival"),
            models.Index(fields=["instance", "started_at"], name="pool_report_history"),
        ]

    def __str__(self) -> str:
        return f"{self.pool_id}/{self.report_id}"


class PoolLog(models.Model):
    """A log of another tool that was put beside a pool's own results."""

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="logs")
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=20)
    sha256 = models.CharField(max_length=64)
    n_bytes = models.PositiveBigIntegerField()
    # A summary and points of the distribution per thread, job or machine.
    series = models.JSONField(default=list)
    n_series = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [models.UniqueConstraint(fields=["pool", "sha256"], name="pool_log_once")]

    def __str__(self) -> str:
        return f"{self.pool_id}/{self.name}"


class PublishedType(models.Model):
    """An instance type in the public comparison: what is shown of it, and of what it consists."""

    provider = models.CharField(max_length=40)
    instance_type = models.CharField(max_length=80)
    # Null while it is withheld.
    document = models.JSONField(null=True, blank=True)
    # Of each publication, digests of the data of its tenants by keyed hash of the tenant.
    history = models.JSONField(default=list)
    published_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["provider", "instance_type"]
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "instance_type"], name="published_type_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.provider}/{self.instance_type}"
