"""The second factor of an account: time-based one-time passwords (RFC 6238)."""

from django.conf import settings
from django.db import models


class SecondFactor(models.Model):
    """The authenticator of an account, and hashes of its recovery codes.

    The secret is derived from the seed and the installation's secret key, so that the database
    alone gives no code.
    """

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="second_factor"
    )
    seed = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    # Required at sign-in once a first code was right.
    confirmed_at = models.DateTimeField(null=True, blank=True)
    # The time step of the last accepted code: none is accepted twice.
    last_step = models.BigIntegerField(default=0)
    recovery_sha256 = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"second factor of {self.owner_id}"
