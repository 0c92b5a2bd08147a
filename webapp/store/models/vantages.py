"""Places that measure: own machines, probes of public networks and labelled synthetic ones."""

from django.conf import settings
from django.db import models


class VantagePoint(models.Model):
    """A place that measures. Its name is part of queues, keys and file names.

    ``public_address``, ``secret_sha256``, ``instance`` and ``load`` are for operators only; its
    location, to the city, is for everyone.
    """

    class Source(models.TextChoices):
        """Owner of the machine that measures."""

        OWN = "own"
        GLOBALPING = "globalping"
        ATLAS = "atlas"
        SYNTHETIC = "synthetic"  # a model made its values up: labelled wherever they are shown

    class State(models.TextChoices):
        """Administrative state; ``last_seen_at`` shows whether it is online."""

        INVITED = "invited"  # has a token, and has not used it yet
        JOINED = "joined"
        DRAINING = "draining"  # finishes what it has, takes nothing new
        REVOKED = "revoked"  # its credentials are gone

    name = models.SlugField(max_length=63, unique=True)
    source = models.CharField(max_length=12, choices=Source.choices, default=Source.OWN)
    state = models.CharField(max_length=8, choices=State.choices, default=State.INVITED)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True
    )
    city = models.CharField(max_length=80, default="", blank=True)
    country = models.CharField(max_length=2, default="", blank=True)
    continent = models.CharField(max_length=2, default="", blank=True)
    lat = models.FloatField(null=True, blank=True)
    lon = models.FloatField(null=True, blank=True)
    provider = models.CharField(max_length=120, default="", blank=True)
    asn = models.PositiveBigIntegerField(null=True, blank=True)
    # Probes per second, bytes per day, hours of the day (UTC); kept there and by the scheduler.
    limits = models.JSONField(default=dict)
    # Name and details at its public network.
    detail = models.JSONField(default=dict, blank=True)
    # The digest that the broker compares with the password; the password itself is not kept.
    secret_sha256 = models.CharField(max_length=64, default="", blank=True)
    # Id of its process, which distinguishes a second one of the same name.
    instance = models.CharField(max_length=64, default="", blank=True)
    version = models.CharField(max_length=40, default="", blank=True)
    clock_offset_ms = models.FloatField(null=True, blank=True)
    # How wrong the offset may be: half the round trip in which it was measured.
    clock_doubt_ms = models.FloatField(null=True, blank=True)
    public_address = models.GenericIPAddressField(null=True, blank=True)
    load = models.JSONField(default=dict, blank=True)
    # Why it is not used, or what is wrong with it.
    note = models.CharField(max_length=300, default="", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    joined_at = models.DateTimeField(null=True, blank=True)
    last_seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class JoinToken(models.Model):
    """A one-time invitation; only its digest is kept."""

    vantage = models.ForeignKey(VantagePoint, on_delete=models.CASCADE, related_name="tokens")
    sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.vantage}/{self.pk}"
