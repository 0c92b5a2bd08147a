"""Uploads that a worker reads: traffic logs, and countries of a survey's customers."""

from django.conf import settings
from django.db import models

from webapp.store.models.bases import LeasedJob, idempotency_constraints
from webapp.store.models.surveys import Survey


class TrafficUpload(LeasedJob):
    """Uploaded logs or captures and their import, for the owner alone.

    ``slug`` is the name of the import. The files are removed as soon as they are read, since they
    contain addresses of clients; imports of the command ``packets`` have no row and are public.
    """

    slug = models.SlugField(max_length=100, unique=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="traffic_uploads"
    )
    name = models.CharField(max_length=200)
    # Name, bytes and SHA-256 of each file, in the order in which they are read.
    files = models.JSONField(default=list)
    # ``client_networks`` and ``as_of``, as the command's.
    options = models.JSONField(default=dict)
    # Share of the packed bytes that are read, 0 to 1.
    progress = models.FloatField(default=0.0)
    idempotency_key = models.CharField(max_length=120, null=True, blank=True)  # noqa: DJ001

    class Meta:
        ordering = ["-requested_at", "-id"]
        constraints = idempotency_constraints("owner", "traffic_upload")

    def __str__(self) -> str:
        return self.slug


class CustomerFile(LeasedJob):
    """An uploaded file of customer countries of a survey; its rows are in the lake.

    The job computes the survey's report again.
    """

    survey = models.OneToOneField(Survey, on_delete=models.CASCADE, related_name="customer_file")
    name = models.CharField(max_length=200)
    rows = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.survey_id}/{self.name}"
