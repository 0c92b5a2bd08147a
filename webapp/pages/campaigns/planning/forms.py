"""The form of a new measurement campaign, and what it asks for."""

from datetime import UTC, datetime
from typing import Any

from django import forms

from webapp.store.campaigns.plans import presets


class CampaignForm(forms.Form):
    """What to measure, from where, and how often; empty fields are those of the schedule."""

    name = forms.CharField(max_length=200, required=False, strip=True)
    preset = forms.ChoiceField(required=False)
    targets = forms.CharField(
        widget=forms.Textarea, error_messages={"required": "Name one target at least."}
    )
    vantages = forms.MultipleChoiceField(
        error_messages={"required": "Choose one vantage point at least."}
    )
    rounds = forms.IntegerField(min_value=1, max_value=100_000, required=False)
    round_minutes = forms.FloatField(min_value=0.05, max_value=527_040, required=False)
    seed = forms.IntegerField(min_value=0, max_value=2**53, required=False)
    starts_at = forms.CharField(max_length=40, required=False)

    def __init__(self, data: Any = None, *, vantages: list[str], kept: bool = False) -> None:
        super().__init__(data)
        named = [(name, values["title"]) for name, values in presets().items()]
        own = [("", "The schedule of the campaign that is cloned")] if kept else []
        self.fields["preset"].choices = [*own, *named]  # type: ignore[attr-defined]
        self.fields["vantages"].choices = [  # type: ignore[attr-defined]
            (v, v) for v in vantages
        ]

    def clean_starts_at(self) -> str:
        """A moment in UTC, as browsers write it."""
        given = str(self.cleaned_data["starts_at"]).strip()
        if not given:
            return ""
        try:
            found = datetime.fromisoformat(given)
        except ValueError:
            raise forms.ValidationError("Write it like 2026-05-01T06:00.") from None
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).isoformat()

    def asked(self) -> dict[str, Any]:
        """The campaign as commands and the API ask for it."""
        data = self.cleaned_data
        minutes = data["round_minutes"]
        values = {
            "name": data["name"],
            "preset": data["preset"],
            "targets": data["targets"],
            "vantages": data["vantages"],
            "rounds": data["rounds"],
            "round_s": None if minutes is None else minutes * 60,
            "seed": data["seed"],
            "starts_at": data["starts_at"],
        }
        return {name: value for name, value in values.items() if value not in (None, "")}
