"""Forms of a new schedule and of endpoints that alerts are sent to."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings

from tasks.schedules.messages import TITLES
from webapp.store.audits import documents, policies
from webapp.store.audits.selectors import campaigns_for, surveys_for
from webapp.store.models import AlertEndpoint, SavedList, SavedPolicy, Schedule
from webapp.store.schedules import kinds
from webapp.store.schedules.services import Recurrence, schedules_of

DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
EVERY = (
    ("day", "Every day"),
    ("week", "Every week"),
    ("month", "On the first of each month"),
    ("hours", "Every so many hours"),
    ("cron", "By a cron expression"),
)
HOURS = tuple((hour, f"{hour:02d}:00") for hour in range(24))
_AT_ONCE = ("", "Immediately")
_PLAIN = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}


def zones() -> list[str]:
    """Names of time zones, for the list of suggestions."""
    return sorted(name for name in available_timezones() if "/" in name or name == "UTC")


def _zone_field(label: str) -> forms.CharField:
    return forms.CharField(
        max_length=64,
        initial="UTC",
        label=label,
        help_text="Such as Europe/Oslo",
        widget=forms.TextInput(attrs={**_PLAIN, "list": "zones"}),
    )


class ScheduleForm(forms.Form):
    """When a schedule is due; forms of kinds add what recurs."""

    kind = ""
    name = forms.CharField(max_length=200, strip=True)
    every = forms.ChoiceField(
        choices=EVERY, initial="day", label="Recurs", help_text="Decides what is used"
    )
    at = forms.TimeField(
        required=False,
        initial="02:30",
        help_text="Local time of the day",
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
    )
    weekday = forms.ChoiceField(
        choices=list(enumerate(DAYS)), initial=1, label="Day of the week", help_text="Used by weeks"
    )
    hours = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=8_760,
        initial=6,
        label="Hours between runs",
        help_text="Used by hours",
    )
    cron = forms.CharField(
        required=False,
        max_length=120,
        label="Cron expression",
        help_text="Such as 30 2 * * 1-5",
        widget=forms.TextInput(attrs=_PLAIN),
    )
    time_zone = _zone_field("Time zone")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        needed = {"hours": "hours", "cron": "cron"}.get(cleaned.get("every", ""), "at")
        if not cleaned.get(needed) and needed not in self.errors:
            self.add_error(needed, "Fill this in.")
        return cleaned

    @property
    def recurrence(self) -> Recurrence:
        """When runs are due."""
        data, zone = self.cleaned_data, self.cleaned_data["time_zone"]
        if data["every"] == "hours":
            return Recurrence("", data["hours"] * 60, zone)
        if data["every"] == "cron":
            return Recurrence(data["cron"], None, zone)
        minute, hour = data["at"].minute, data["at"].hour
        days = {"day": "* * *", "week": f"* * {data['weekday']}", "month": "1 * *"}[data["every"]]
        return Recurrence(f"{minute} {hour} {days}", None, zone)

    @property
    def request(self) -> dict[str, Any]:
        """What recurs, as the API takes it."""
        raise NotImplementedError


class _ListForm(ScheduleForm):
    """A domain list as text."""

    domains = forms.CharField(
        required=False,
        strip=False,
        max_length=5_000_000,
        label="Or domains",
        help_text="One on each line",
        widget=forms.Textarea(attrs={**_PLAIN, "rows": 6}),
    )

    def require_one(self, other: str, cleaned: dict[str, Any]) -> None:
        """The domains come in exactly one way."""
        if bool(cleaned.get("domains", "").strip()) == bool(cleaned.get(other)):
            self.add_error("domains", "Paste domains or choose from the list: one of the two.")


class SurveyScheduleForm(_ListForm):
    """A survey of a list, or of the list of another survey."""

    kind = Schedule.Kind.SURVEY
    survey = forms.ChoiceField(required=False, label="Domains of an earlier survey")

    def __init__(self, *args: Any, user: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        _choose(self, "survey", [("", "None"), *surveys_for(user)])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        self.require_one("survey", cleaned)
        return cleaned

    @property
    def request(self) -> dict[str, Any]:
        survey = self.cleaned_data["survey"]
        return {"survey": survey} if survey else {"domains": self.cleaned_data["domains"]}


class CampaignScheduleForm(ScheduleForm):
    """A copy of a campaign."""

    kind = Schedule.Kind.CAMPAIGN
    campaign = forms.ChoiceField(
        label="Campaign to repeat",
        help_text="Its targets, vantage points and schedule are copied.",
    )

    def __init__(self, *args: Any, user: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        _choose(self, "campaign", campaigns_for(user))

    @property
    def request(self) -> dict[str, Any]:
        return {"campaign": self.cleaned_data["campaign"]}


class AuditScheduleForm(_ListForm):
    """An audit of a saved list or of pasted domains."""

    kind = Schedule.Kind.AUDIT
    domain_list = forms.ChoiceField(
        required=False,
        label="Saved domain list",
        help_text="Each run reads the list as it is then.",
    )
    policy = forms.ChoiceField()

    def __init__(self, *args: Any, user: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        presets = [(one.name, one.policy.title or one.name) for one in policies.presets()]
        own = [(row.slug, row.name) for row in documents.owned_by(SavedPolicy, user)]
        lists = [(row.slug, row.name) for row in documents.owned_by(SavedList, user)]
        _choose(self, "domain_list", [("", "None"), *lists])
        _choose(self, "policy", [*own, *presets])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        self.require_one("domain_list", cleaned)
        return cleaned

    @property
    def request(self) -> dict[str, Any]:
        data = self.cleaned_data
        own = "domain_list" if data["domain_list"] else "domains"
        return {own: data[own], "policy": data["policy"]}


FORMS: dict[str, type[ScheduleForm]] = {
    "survey": SurveyScheduleForm,
    "campaign": CampaignScheduleForm,
    "audit": AuditScheduleForm,
}


class EndpointForm(forms.Form):
    """Where alerts are sent, about what, and how often."""

    name = forms.CharField(max_length=200, strip=True)
    format = forms.ChoiceField(choices=AlertEndpoint.Format.choices)
    target = forms.CharField(
        max_length=1_000,
        strip=True,
        label="URL or e-mail address",
        help_text="Webhooks begin with https://",
        widget=forms.TextInput(attrs=_PLAIN),
    )
    kinds = forms.MultipleChoiceField(
        choices=[(kind, TITLES[kind]) for kind in kinds.KINDS], initial=list(kinds.KINDS)
    )
    schedule = forms.ChoiceField(required=False)
    digest_hour = forms.TypedChoiceField(
        choices=[_AT_ONCE, *HOURS],
        required=False,
        coerce=int,
        empty_value=None,
        label="When",
        help_text="Immediately, or one message a day",
    )
    time_zone = _zone_field("Time zone of the hour")
    quiet_after = forms.IntegerField(
        min_value=0,
        max_value=1_000,
        initial=3,
        help_text="Alerts in a row; 0: never",
    )

    def __init__(self, *args: Any, user: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        own = [(row.slug, row.name) for row in schedules_of(user)]
        _choose(self, "schedule", [("", "All schedules"), *own])
        if not settings.EMAIL_HOST:
            self.fields["format"].help_text = "This site is not set up to send e-mail."


class EndpointChangeForm(EndpointForm):
    """What may be changed of an endpoint."""

    def __init__(self, *args: Any, user: Any, **more: Any) -> None:
        super().__init__(*args, user=user, **more)
        del self.fields["schedule"]
        del self.fields["format"]


def _choose(form: forms.Form, name: str, choices: list[Any]) -> None:
    form.fields[name].choices = choices  # type: ignore[attr-defined]
