"""Measurement campaigns, their units of work and their finished tables; never a row per sample."""

from django.conf import settings
from django.db import models

from webapp.store.models.bases import FinishedTable, OwnedByOrganisation, WorkUnit


class Campaign(OwnedByOrganisation):
    """Targets times vantage points times rounds, measured by a schedule.

    Unit times are seconds since ``started_at`` plus the time spent in pauses (``paused_s``): a
    pause shifts the remaining units.
    """

    class State(models.TextChoices):
        """Life of a campaign; the last four are final."""

        WAITING = "waiting"  # for its starting time, or for the scheduler
        RUNNING = "running"
        PAUSED = "paused"
        FINISHED = "finished"
        PARTIAL = "partial"  # ended, but some slots were missed or failed to be made
        STOPPED = "stopped"
        FAILED = "failed"

    slug = models.SlugField(max_length=120, unique=True)
    name = models.CharField(max_length=200)
    # Null for public campaigns.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True
    )
    # The creator, also after publication: only they, and operators, may change it.
    maker = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    # The preset that the schedule came from; empty for one's own.
    preset = models.CharField(max_length=40, default="", blank=True)
    # Everything that shapes the measurement, so that a restart and a clone measure the same:
    # rounds and activities; places to measure; names of vantage points; limits and networks.
    schedule = models.JSONField(default=dict)
    targets = models.JSONField(default=list)
    vantages = models.JSONField(default=list)
    limits = models.JSONField(default=dict)
    seed = models.PositiveBigIntegerField(default=0)
    # Values that a model made up are labelled wherever they are shown.
    synthetic = models.BooleanField(default=False)
    label = models.CharField(max_length=200, default="", blank=True)
    # Measured by the command that started it, from its own machine; no worker takes part.
    in_process = models.BooleanField(default=False)
    predicted = models.JSONField(default=dict)
    summary = models.JSONField(default=dict)
    notes = models.JSONField(default=list)
    error = models.TextField(default="", blank=True)
    cloned_from = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="clones"
    )
    idempotency_key = models.CharField(max_length=120, null=True, blank=True, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    starts_at = models.DateTimeField(null=True, blank=True)  # not before this moment
    started_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    paused_s = models.FloatField(default=0.0)
    finished_at = models.DateTimeField(null=True, blank=True)
    reported_at = models.DateTimeField(null=True, blank=True)  # last interim or final report

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return self.slug

    @property
    def is_final(self) -> bool:
        return self.state in FINAL


FINAL = frozenset(
    {
        Campaign.State.FINISHED,
        Campaign.State.PARTIAL,
        Campaign.State.STOPPED,
        Campaign.State.FAILED,
    }
)


class CampaignUnit(WorkUnit):
    """Work of one vantage point in one window of one round.

    Its counters: ``{"failed": {"TIMEOUT": 1}, "missed": {"the slot was over": 2}, "octets": 2}``.
    """

    class State(models.TextChoices):
        """Life of a unit; the last three are final."""

        WAITING = "waiting"
        SENT = "sent"
        DONE = "done"
        MISSED = "missed"  # not measured in time; ``error`` has the reason
        FAILED = "failed"  # a result came that could not be used

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="units")
    key = models.CharField(max_length=80)
    activity = models.CharField(max_length=40)
    vantage = models.CharField(max_length=63)
    round = models.PositiveIntegerField()
    starts_s = models.FloatField()
    ends_s = models.FloatField()
    slots = models.PositiveIntegerField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    # The moment at which its window begins, fixed when it is first sent, whatever pauses follow.
    due_at = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    began_at = models.DateTimeField(null=True, blank=True)
    # Slots by how they ended; of those with a value or a failure, ``late`` ones began late.
    ok = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    missed = models.PositiveIntegerField(default=0)
    late = models.PositiveIntegerField(default=0)
    # The name of the part that holds its rows.
    part = models.CharField(max_length=80, default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "key"], name="campaign_unit_once")
        ]
        indexes = [models.Index(fields=["campaign", "state", "starts_s"], name="campaign_unit_due")]
        ordering = ["campaign_id", "starts_s", "key"]

    def __str__(self) -> str:
        return f"{self.campaign_id}/{self.key}"


class CampaignReport(FinishedTable):
    """One finished table of one campaign."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="reports")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "table_id"], name="campaign_report_once")
        ]

    def __str__(self) -> str:
        return f"{self.campaign_id}/{self.table_id}"
