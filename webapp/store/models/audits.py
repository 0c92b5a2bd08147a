"""Saved domain lists and policies, suppressions, and audits; findings are files beside."""

from typing import ClassVar

from django.conf import settings
from django.db import models

from webapp.store.models.bases import Leased, OwnedByOrganisation, idempotency_constraints
from webapp.store.models.campaigns import Campaign
from webapp.store.models.surveys import Survey


class SavedDocument(models.Model):
    """A document of an account that audits and schedules name; ``version`` counts its changes."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    slug = models.SlugField(max_length=120, unique=True)
    name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField()

    class Meta:
        abstract = True
        ordering: ClassVar = ["name", "id"]

    def __str__(self) -> str:
        return self.slug


class SavedList(SavedDocument):
    """A saved domain list; its text, as it was given, is a file (``webapp.store.audits.lists``)."""

    n_domains = models.PositiveIntegerField()
    n_duplicates = models.PositiveIntegerField(default=0)
    n_rejected = models.PositiveIntegerField(default=0)
    rejected = models.JSONField(default=list)
    notes = models.JSONField(default=list)


class SavedPolicy(SavedDocument):
    """A saved policy: the text as it was given, TOML or JSON."""

    document = models.TextField()
    # The rules that it applies, for lists of policies.
    rules = models.JSONField(default=list)


class AuditSuppression(models.Model):
    """A finding that an account accepts, in all of its audits or in those of one saved policy."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="audit_suppressions"
    )
    policy = models.ForeignKey(
        SavedPolicy,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="saved_suppressions",
    )
    rule = models.CharField(max_length=80)
    # A domain, or a glob that matches whole domains.
    subject = models.CharField(max_length=255)
    # One finding only; empty for all findings of the rule about the subject.
    fingerprint = models.CharField(max_length=64, default="", blank=True)
    reason = models.CharField(max_length=1000)
    # The person who accepts it, as they name themselves.
    accepted_by = models.CharField(max_length=200)
    expires = models.DateField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.rule} {self.subject}"


class Audit(OwnedByOrganisation, Leased):
    """A policy applied to the domains of a survey; the findings are a file beside.

    Policy and suppressions are copied, so that an audit shows what was applied after later changes.
    """

    class State(models.TextChoices):
        """Life of an audit; the last three are final."""

        QUEUED = "queued"
        SURVEYING = "surveying"  # its domains are being surveyed
        RUNNING = "running"
        FINISHED = "finished"
        PARTIAL = "partial"  # judged, but its survey lacks some of its domains
        FAILED = "failed"

    class Source(models.TextChoices):
        """What was to be audited."""

        DOMAINS = "domains"
        DOMAIN_LIST = "domain-list"
        SURVEY = "survey"

    slug = models.SlugField(max_length=120, unique=True)
    name = models.CharField(max_length=200)
    # Null for public audits.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="audits",
    )
    # The creator, also after publication: only they may delete it.
    maker = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    source = models.CharField(max_length=12, choices=Source.choices)
    saved_list = models.ForeignKey(
        SavedList, on_delete=models.SET_NULL, null=True, blank=True, related_name="audits"
    )
    # The survey that is judged: the one that was named, or the one that the audit started.
    survey = models.ForeignKey(
        Survey, on_delete=models.SET_NULL, null=True, blank=True, related_name="audits"
    )
    list_sha256 = models.CharField(max_length=64)
    saved_policy = models.ForeignKey(
        SavedPolicy, on_delete=models.SET_NULL, null=True, blank=True, related_name="audits"
    )
    policy_name = models.CharField(max_length=80)
    policy_sha256 = models.CharField(max_length=64)
    policy_document = models.TextField()
    suppressions = models.JSONField(default=list, blank=True)
    # The campaign that measured latencies and routes, where one was named.
    campaign = models.ForeignKey(
        Campaign, on_delete=models.SET_NULL, null=True, blank=True, related_name="audits"
    )
    # The audit that this one is compared with.
    previous = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="following"
    )
    # Findings by fingerprint that a client sent to compare with, instead of another audit.
    baseline = models.JSONField(null=True, blank=True)
    fail_on = models.CharField(max_length=8)
    strict = models.BooleanField(default=False)
    # The path of the domain list in the repository of the client, for formats that anchor findings.
    list_path = models.CharField(max_length=400, default="", blank=True)
    # The step that is under way: ``{"step": "judge", "done": 1, "of": 3}``.
    progress = models.JSONField(default=dict, blank=True)
    # The report without its findings (``audits.output.document``), empty until it has ended.
    report = models.JSONField(default=dict, blank=True)
    # Findings by rule, most severe first, each with its rows in the file.
    groups = models.JSONField(default=list, blank=True)
    exit_code = models.PositiveSmallIntegerField(null=True, blank=True)
    request_sha256 = models.CharField(max_length=64, default="", blank=True)
    idempotency_key = models.CharField(max_length=120, null=True, blank=True)  # noqa: DJ001
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["state", "leased_until"], name="audit_state"),
            models.Index(fields=["maker", "list_sha256", "policy_name"], name="audit_series"),
        ]
        constraints = idempotency_constraints("maker", "audit")

    def __str__(self) -> str:
        return self.slug

    @property
    def is_final(self) -> bool:
        return self.state in ENDED


ENDED = frozenset({Audit.State.FINISHED, Audit.State.PARTIAL, Audit.State.FAILED})
