"""API tokens, share links and failed sign-ins."""

from django.conf import settings
from django.db import models

from webapp.store.models.audits import Audit
from webapp.store.models.bases import HashedToken
from webapp.store.models.campaigns import Campaign
from webapp.store.models.surveys import Survey


class ApiToken(HashedToken):
    """An API token of a user; only its hash is stored."""

    class Scope(models.TextChoices):
        """Permission of a token; WRITE includes READ."""

        READ = "read", "Read"
        WRITE = "write", "Read and change"

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=80)
    # The first characters, which identify the token in lists.
    prefix = models.CharField(max_length=16)
    scope = models.CharField(max_length=8, choices=Scope.choices, default=Scope.READ)
    # Subjects that it is limited to (``webapp.store.access.token_subjects``); empty for all.
    subjects = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"{self.owner_id}/{self.prefix}"


class ExternalIdentity(models.Model):
    """A person at an OpenID Connect provider, who signs in to one account here.

    Issuer and subject identify a person; names and mail addresses may pass to others.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="external_identities"
    )
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    # What the provider calls the person, for lists.
    label = models.CharField(max_length=150, default="", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="external_identity_unique")
        ]

    def __str__(self) -> str:
        return f"{self.owner_id}/{self.issuer}"


class ShareLink(HashedToken):
    """A link that gives read access to one survey, one measurement campaign or one audit.

    Its token is derived from the seed and the installation's secret key, so that its owner can copy
    it again while the database alone grants no access.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="share_links"
    )
    # The target: exactly one of the three.
    survey = models.ForeignKey(
        Survey, on_delete=models.CASCADE, null=True, blank=True, related_name="share_links"
    )
    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, null=True, blank=True, related_name="share_links"
    )
    audit = models.ForeignKey(
        Audit, on_delete=models.CASCADE, null=True, blank=True, related_name="share_links"
    )
    seed = models.CharField(max_length=64)

    class Meta(HashedToken.Meta):
        constraints = [
            models.CheckConstraint(
                condition=models.Q(survey__isnull=False, campaign__isnull=True, audit__isnull=True)
                | models.Q(survey__isnull=True, campaign__isnull=False, audit__isnull=True)
                | models.Q(survey__isnull=True, campaign__isnull=True, audit__isnull=False),
                name="share_link_opens_one",
            )
        ]

    def __str__(self) -> str:
        return f"{self.owner_id}/{self.pk}"

    @property
    def kind(self) -> str:
        targets = {"survey": self.survey_id, "campaign": self.campaign_id, "audit": self.audit_id}
        return next(kind for kind, pk in targets.items() if pk is not None)

    @property
    def slug(self) -> str:
        return self.opened.slug

    @property
    def name(self) -> str:
        return self.opened.name

    @property
    def opened(self) -> Survey | Campaign | Audit:
        """The object that the link gives access to."""
        opened = self.survey or self.campaign or self.audit
        assert opened is not None
        return opened


class SignInFailure(models.Model):
    """One failed attempt, as a keyed hash of name or address, for throttling."""

    key = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["key", "at"], name="sign_in_failure_recent")]

    def __str__(self) -> str:
        return f"{self.key[:8]} {self.at}"
