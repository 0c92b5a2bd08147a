"""Events of accounts and organisations, which are only ever added."""

from typing import Any, ClassVar, NoReturn

from django.db import models


def _refuse() -> NoReturn:
    raise TypeError("account events are append-only: they are neither changed nor deleted")


class AppendOnlyQuerySet(models.QuerySet["AccountEvent"]):
    """Rows that can be added and read."""

    def update(self, **kwargs: Any) -> NoReturn:
        _refuse()

    def delete(self) -> NoReturn:
        _refuse()

    def bulk_update(self, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse()

    def bulk_create(self, *args: Any, **kwargs: Any) -> NoReturn:
        # It may overwrite rows on a conflict, and does not call ``save``.
        _refuse()


class AccountEvent(models.Model):
    """Who did what to which object, when, and in which request.

    Actor and organisation are no foreign keys, so that no deletion changes an event.
    """

    at = models.DateTimeField(auto_now_add=True)
    actor_pk = models.BigIntegerField(null=True, blank=True)
    actor = models.CharField(max_length=150, default="", blank=True)
    organisation_pk = models.BigIntegerField(null=True, blank=True)
    action = models.CharField(max_length=40)
    subject = models.CharField(max_length=240, default="", blank=True)
    request_id = models.CharField(max_length=64, default="", blank=True)

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-at", "-id"]
        base_manager_name = "objects"
        indexes: ClassVar = [
            models.Index(fields=["actor_pk", "-at"], name="account_event_actor"),
            models.Index(fields=["organisation_pk", "-at"], name="account_event_organisation"),
        ]

    def __str__(self) -> str:
        return f"{self.at} {self.actor} {self.action} {self.subject}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Add the event; raise ``TypeError`` for one that is stored already."""
        if not self._state.adding or self.pk is not None:
            _refuse()
        super().save(*args, **{**kwargs, "force_insert": True})

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise ``TypeError``."""
        _refuse()
