"""Domains and addresses with proofs of control, for measurements or to opt out."""

from typing import ClassVar

from django.conf import settings
from django.db import models


class DomainClaim(models.Model):
    """A challenge to who controls a domain or an address, and whether it was met.

    A claim of ownership permits its account zone transfers and probes. An opt-out has no account
    and excludes the domain, with everything below it, from all measurements.
    """

    class Purpose(models.TextChoices):
        """What the proof is for."""

        OWNERSHIP = "ownership", "Ownership"
        OPT_OUT = "opt-out", "Opt-out"

    class Method(models.TextChoices):
        """How control was proved."""

        DNS = "dns", "TXT record"
        FILE = "file", "File"
        OPERATOR = "operator", "By the operator"

    purpose = models.CharField(max_length=10, choices=Purpose.choices)
    # A domain in ASCII, an address or, by the operator alone, a prefix.
    name = models.CharField(max_length=253)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="domain_claims",
    )
    # Published in DNS or a file: not a secret, but not guessable.
    token = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    checked_at = models.DateTimeField(null=True, blank=True)
    verified_at = models.DateTimeField(null=True, blank=True)
    method = models.CharField(max_length=8, choices=Method.choices, default="", blank=True)
    # Why the last check failed.
    error = models.TextField(default="", blank=True)

    class Meta:
        ordering: ClassVar = ["name", "id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "name"], name="one_claim_of_an_account"),
            models.CheckConstraint(
                condition=models.Q(purpose="ownership", owner__isnull=False)
                | models.Q(purpose="opt-out", owner__isnull=True),
                name="claim_of_an_account_or_opt_out",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["purpose", "verified_at"], name="domain_claim_verified")
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.name}"
