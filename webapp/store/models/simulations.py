"""Runs of experiments of the simulator."""

from django.conf import settings
from django.db import models

from webapp.store.models.bases import Leased


class Simulation(Leased):
    """A run of an experiment: parameters, seed, and its results when it has finished.

    ``token`` is its address. One without an owner is opened by it; an owned one by its owner alone.
    A cancelled run has no result.
    """

    class State(models.TextChoices):
        """Life of a run; one without heartbeats of its worker is started again."""

        QUEUED = "queued"
        RUNNING = "running"
        FINISHED = "finished"
        FAILED = "failed"
        CANCELLED = "cancelled"

    token = models.CharField(max_length=40, unique=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True
    )
    experiment = models.CharField(max_length=60)
    parameters = models.JSONField(default=dict)
    seed = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=9, choices=State.choices, default=State.QUEUED)
    # Share of the work that is done, 0 to 1.
    progress = models.FloatField(default=0.0)
    result = models.JSONField(null=True, blank=True)
    headline = models.TextField(default="", blank=True)
    charts = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return self.token

    @property
    def has_ended(self) -> bool:
        return self.state in (self.State.FINISHED, self.State.FAILED, self.State.CANCELLED)
