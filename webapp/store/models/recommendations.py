"""Requests for the best regions, with their answers."""

from django.conf import settings
from django.db import models

from webapp.store.models.bases import (
    Leased,
    OwnedByOrganisation,
    SharedByLink,
    idempotency_constraints,
)


class Recommendation(OwnedByOrganisation, SharedByLink, Leased):
    """A question for the best regions and its answer; its input files are in a folder.

    ``token`` is its address. One without an owner is opened by it; an owned one opens to its owner,
    and to others by a link only, which is made and taken back by the owner.
    """

    class State(models.TextChoices):
        """Life of a recommendation; a running one with an expired lease is resumed."""

        AWAITING = "awaiting"  # the survey that describes the present deployment
        QUEUED = "queued"
        RUNNING = "running"
        FINISHED = "finished"
        FAILED = "failed"

    token = models.CharField(max_length=40, unique=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True
    )
    shared_at = models.DateTimeField(null=True, blank=True)
    title = models.CharField(max_length=200, default="", blank=True)
    # The survey with the current deployment.
    survey = models.ForeignKey(
        "store.Survey",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="recommendations",
    )
    # Where the samples come from, and which of them are modelled.
    source = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.QUEUED)
    options = models.JSONField(default=dict)
    # Names of the files that were given, by what they are.
    files = models.JSONField(default=list)
    progress = models.JSONField(default=dict)
    result = models.JSONField(null=True, blank=True)
    idempotency_key = models.CharField(max_length=120, null=True, blank=True)  # noqa: DJ001
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = idempotency_constraints("owner", "recommendation")

    def __str__(self) -> str:
        return self.token
