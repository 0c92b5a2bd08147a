"""Schedules, their runs and events; endpoints that are alerted, and deliveries to them."""

from django.conf import settings
from django.db import models

from webapp.store.models.audits import Audit
from webapp.store.models.campaigns import Campaign
from webapp.store.models.surveys import Survey


class Schedule(models.Model):
    """A survey, campaign or audit that recurs, by a cron expression or an interval.

    Exactly one of ``cron`` and ``interval_minutes`` is set. The row holds all of its state, so that
    a process that ends at any moment loses nothing.
    """

    class Kind(models.TextChoices):
        """What recurs."""

        SURVEY = "survey"
        CAMPAIGN = "campaign"
        AUDIT = "audit"

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="schedules"
    )
    slug = models.SlugField(max_length=120, unique=True)
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    # The request as the API takes it for one survey, campaign or audit.
    request = models.JSONField()
    cron = models.CharField(max_length=120, default="", blank=True)
    interval_minutes = models.PositiveIntegerField(null=True, blank=True)
    # An IANA name; cron expressions are about its local time.
    time_zone = models.CharField(max_length=64, default="UTC")
    is_active = models.BooleanField(default=True)
    # Null while it is not active.
    next_due = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "id"]
        indexes = [models.Index(fields=["is_active", "next_due"], name="schedule_due")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(cron="", interval_minutes__isnull=False)
                | (~models.Q(cron="") & models.Q(interval_minutes__isnull=True)),
                name="schedule_cron_or_interval",
            )
        ]

    def __str__(self) -> str:
        return self.slug


class ScheduleRun(models.Model):
    """One due time of a schedule, what it started, and what changed since the run before."""

    class State(models.TextChoices):
        """Life of a run; the last three are final."""

        DUE = "due"  # to be started
        STARTED = "started"
        COMPARED = "compared"
        FAILED = "failed"  # it could not start, or gave no data
        SKIPPED = "skipped"  # the run before was still under way

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="runs")
    due_at = models.DateTimeField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.DUE)
    # One process starts a run at a time; one that is killed leaves it to another after this.
    leased_until = models.DateTimeField(null=True, blank=True)
    # Due times that passed while nothing ran, beside this one.
    missed = models.PositiveIntegerField(default=0)
    survey = models.ForeignKey(
        Survey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    campaign = models.ForeignKey(
        Campaign, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    audit = models.ForeignKey(
        Audit, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    # The run that this one was compared with.
    previous = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    # Number of events by kind.
    changes = models.JSONField(default=dict)
    error = models.TextField(default="", blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-due_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["schedule", "due_at"], name="schedule_run_once")
        ]

    def __str__(self) -> str:
        return f"{self.schedule_id} {self.due_at}"


class ScheduleEvent(models.Model):
    """One change between two runs, or a run without data; ``event_id`` never changes."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="schedule_events"
    )
    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="events")
    run = models.ForeignKey(ScheduleRun, on_delete=models.CASCADE, related_name="events")
    event_id = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=40)
    subject = models.CharField(max_length=300, default="", blank=True)
    # By this the same matter is recognised in another run: the subject, or a fingerprint.
    key = models.CharField(max_length=300, default="", blank=True)
    before = models.TextField(default="", blank=True)
    after = models.TextField(default="", blank=True)
    detail = models.JSONField(default=dict)
    # Number of consecutive runs with an event of this kind about this subject, this one included.
    repeats = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["schedule", "kind", "key"], name="schedule_event_key")]

    def __str__(self) -> str:
        return self.event_id


class AlertEndpoint(models.Model):
    """Where events of an account are sent: a webhook, a Slack-compatible webhook or e-mail.

    The signing secret is derived from the seed and the installation's secret key, so that the
    database alone signs nothing.
    """

    class Format(models.TextChoices):
        """Form of the messages."""

        WEBHOOK = "webhook", "Signed webhook"
        SLACK = "slack", "Slack-compatible webhook"
        EMAIL = "email", "E-mail"

    class State(models.TextChoices):
        """Whether anything is sent."""

        ACTIVE = "active"
        UNCONFIRMED = "unconfirmed"  # the owner of an e-mail address has not confirmed it yet
        DISABLED = "disabled"

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="alert_endpoints"
    )
    slug = models.SlugField(max_length=120, unique=True)
    name = models.CharField(max_length=200)
    format = models.CharField(max_length=8, choices=Format.choices)
    # A URL or an e-mail address.
    target = models.CharField(max_length=1000)
    kinds = models.JSONField(default=list)
    # Null for all schedules of the account.
    schedule = models.ForeignKey(
        Schedule, on_delete=models.CASCADE, null=True, blank=True, related_name="endpoints"
    )
    # Alerts of one kind about one subject in consecutive runs before they stop; 0 for no limit.
    quiet_after = models.PositiveIntegerField(default=3)
    # The local hour of one message a day; null where events are sent at once.
    digest_hour = models.PositiveSmallIntegerField(null=True, blank=True)
    time_zone = models.CharField(max_length=64, default="UTC")
    next_digest = models.DateTimeField(null=True, blank=True)
    last_digest = models.DateTimeField(null=True, blank=True)
    state = models.CharField(max_length=12, choices=State.choices, default=State.ACTIVE)
    disabled_reason = models.CharField(max_length=300, default="", blank=True)
    seed = models.CharField(max_length=64, default="", blank=True)
    # Signatures of the secret before are sent too, until then.
    previous_seed = models.CharField(max_length=64, default="", blank=True)
    previous_until = models.DateTimeField(null=True, blank=True)
    # One worker sends to an endpoint at a time, so that messages keep their order.
    lease = models.CharField(max_length=32, default="", blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.slug


class AlertDelivery(models.Model):
    """One message to one endpoint; it is repeated with the same id until it is accepted."""

    class State(models.TextChoices):
        """Life of a delivery; the last two are final."""

        WAITING = "waiting"
        DELIVERED = "delivered"
        FAILED = "failed"  # given up

    endpoint = models.ForeignKey(AlertEndpoint, on_delete=models.CASCADE, related_name="deliveries")
    message_id = models.CharField(max_length=64)
    kind = models.CharField(max_length=40)
    event = models.ForeignKey(
        ScheduleEvent, on_delete=models.SET_NULL, null=True, blank=True, related_name="deliveries"
    )
    # The message as it is sent, frozen so that repetitions are the same.
    payload = models.JSONField()
    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    # Messages of an endpoint are sent in this order, then by id.
    queued_at = models.DateTimeField()
    next_attempt_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True, blank=True)
    last_status = models.PositiveIntegerField(null=True, blank=True)
    last_reason = models.CharField(max_length=300, default="", blank=True)
    # The last attempts: moment, status, reason and duration in milliseconds.
    log = models.JSONField(default=list)

    class Meta:
        ordering = ["-queued_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["endpoint", "message_id"], name="alert_delivery_once")
        ]
        indexes = [
            models.Index(fields=["endpoint", "state", "queued_at"], name="alert_delivery_queue")
        ]

    def __str__(self) -> str:
        return self.message_id
