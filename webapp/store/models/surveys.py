"""Range tables, surveys with their shards, and the finished tables of a survey."""

from django.conf import settings
from django.db import models

from core.statuses import FINAL_STATES, SurveyState
from webapp.store.models.bases import (
    FinishedTable,
    OwnedByOrganisation,
    WorkUnit,
    idempotency_constraints,
)


class RangeTable(models.Model):
    """One imported file of provider ranges; the raw file is kept under the data folder."""

    provider = models.CharField(max_length=32)
    # Which of a provider's files this is (a national cloud, or all of a company's prefixes):
    # files of different variants are in force side by side.
    variant = models.CharField(max_length=32, default="", blank=True)
    as_of = models.DateField()
    # Empty for real files; a world's id for the files of an emulated Internet.
    origin = models.CharField(max_length=120, default="", blank=True)
    sha256 = models.CharField(max_length=64)
    file_name = models.CharField(max_length=255)
    counts = models.JSONField(default=dict)
    imported_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "sha256", "as_of", "origin"], name="range_table_once"
            )
        ]
        ordering = ["provider", "-as_of", "-imported_at"]

    def __str__(self) -> str:
        return f"{self.provider} {self.as_of} {self.origin}".strip()


class Survey(OwnedByOrganisation):
    """One survey of one domain list."""

    # Null for public surveys.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="surveys",
    )
    # The creator, also after publication: only they may cancel or withdraw it.
    maker = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )
    slug = models.SlugField(max_length=120, unique=True)
    name = models.CharField(max_length=200)
    state = models.CharField(
        max_length=16,
        choices=[(str(s), str(s)) for s in SurveyState],
        default=str(SurveyState.QUEUED),
    )
    # The emulated world that answered; empty when the real Internet did.
    world = models.CharField(max_length=120, default="", blank=True)
    # Everything that shapes the crawl, so that a resumed survey asks the same questions.
    options = models.JSONField(default=dict)
    list_sha256 = models.CharField(max_length=64)
    n_domains = models.PositiveIntegerField()
    n_rejected = models.PositiveIntegerField(default=0)
    n_duplicates = models.PositiveIntegerField(default=0)
    rejected = models.JSONField(default=list)
    notes = models.JSONField(default=list)
    estimated_queries = models.PositiveBigIntegerField(default=0)
    range_tables = models.ManyToManyField(RangeTable, related_name="surveys", blank=True)
    summary = models.JSONField(default=dict)
    error = models.TextField(default="", blank=True)
    idempotency_key = models.CharField(max_length=120, null=True, blank=True)  # noqa: DJ001
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = idempotency_constraints("maker", "survey")

    def __str__(self) -> str:
        return self.slug

    @property
    def is_final(self) -> bool:
        return self.state in FINAL_STATES


class Shard(WorkUnit):
    """A slice of a survey's domain list: the unit of work, of a lease and of a Parquet part."""

    class State(models.TextChoices):
        """Life of a shard; a running shard with an expired lease is resumed."""

        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    survey = models.ForeignKey(Survey, on_delete=models.CASCADE, related_name="shards")
    key = models.CharField(max_length=40)
    first = models.PositiveIntegerField()
    last = models.PositiveIntegerField()  # exclusive
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    worker = models.CharField(max_length=120, default="", blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["survey", "key"], name="shard_once")]
        ordering = ["survey_id", "first"]

    def __str__(self) -> str:
        return f"{self.survey_id}/{self.key}"


class Report(FinishedTable):
    """One finished table of one survey."""

    survey = models.ForeignKey(Survey, on_delete=models.CASCADE, related_name="reports")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["survey", "table_id"], name="report_once")]

    def __str__(self) -> str:
        return f"{self.survey_id}/{self.table_id}"
