"""What belongs to people who sign in: tokens of programs, links that share, failed sign-ins."""

from django.conf import settings
from django.db import models

from webapp.store.models.bases import Key
from webapp.store.models.campaigns import Campaign


class ApiToken(Key):
    """A program's key to one person's things; only the hash of it is stored."""

    class Scope(models.TextChoices):
        """What a token may do; who may change may read as well."""

        READ = "read", "Read"
        WRITE = "write", "Read and change"

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=80)
    # The first characters, by which a person tells tokens apart.
    prefix = models.CharField(max_length=16)
    scope = models.CharField(max_length=8, choices=Scope.choices, default=Scope.READ)

    def __str__(self) -> str:
        return f"{self.owner_id}/{self.prefix}"


class ShareLink(Key):
    """An address that opens one survey to whoever has it, to be read and nothing else.

    The token follows from the seed and this installation's secret key, so that its owner can copy
    it again while the database alone opens nothing.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="share_links"
    )
    survey = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="share_links")
    seed = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"{self.owner_id}/{self.pk}"


class SignInFailure(models.Model):
    """One refused attempt, by keyed hashes of what was tried, so that guessing can be slowed."""

    key = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["key", "at"], name="sign_in_failure_recent")]

    def __str__(self) -> str:
        return f"{self.key[:8]} {self.at}"
