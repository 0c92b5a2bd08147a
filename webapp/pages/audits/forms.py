"""Forms of a new audit, of saved domain lists and of saved policies."""

from typing import Any

from django import forms

from tasks.audits.command import SEVERITIES
from webapp.pages.surveys.forms import SurveyForm
from webapp.store.audits import documents, policies
from webapp.store.audits.selectors import campaigns_for, surveys_for
from webapp.store.models import SavedList, SavedPolicy


class AuditForm(SurveyForm):
    """What to audit, and by which policy; the domains come in exactly one way."""

    domain_list = forms.ChoiceField(required=False)
    survey = forms.ChoiceField(required=False)
    policy = forms.ChoiceField()
    policy_file = forms.FileField(required=False)
    campaign = forms.ChoiceField(required=False)
    fail_on = forms.ChoiceField(required=False)

    def __init__(self, data: Any = None, files: Any = None, *, user: Any) -> None:
        super().__init__(data, files)
        presets = [(one.name, one.policy.title or one.name) for one in policies.presets()]
        own = [(row.slug, row.name) for row in documents.owned_by(SavedPolicy, user)]
        lists = [(row.slug, row.name) for row in documents.owned_by(SavedList, user)]
        choices: dict[str, list[Any]] = {
            "domain_list": [("", "None"), *lists],
            "survey": [("", "None"), *surveys_for(user)],
            "policy": [("Presets", presets), *([("Your policies", own)] if own else [])],
            "campaign": [("", "None"), *campaigns_for(user)],
            "fail_on": [("", "As the policy says"), *((s, s) for s in SEVERITIES)],
        }
        for name, options in choices.items():
            self.fields[name].choices = options  # type: ignore[attr-defined]
        self.fields["policy"].initial = "default"

    def clean(self) -> dict[str, Any]:
        cleaned = forms.Form.clean(self) or {}
        typed, sent = cleaned.get("domains", "").strip(), cleaned.get("file")
        named = (cleaned.get(name) for name in ("domain_list", "survey"))
        given = sum(map(bool, (typed, sent, *named)))
        if not given and not self.errors:
            text = "Paste at least one domain, or choose a list or a survey."
            self.add_error("domains", text)
        elif given > 1:
            self.add_error(None, "Give the domains once: a list, a saved list or a survey.")
        return cleaned

    def read_list(self) -> bytes:
        """The list as bytes; empty where a saved list or a survey is audited."""
        data = self.cleaned_data
        return b"" if data.get("domain_list") or data.get("survey") else super().read_list()


class ListForm(SurveyForm):
    """A saved domain list: a name, and the domains as text or file."""

    name = forms.CharField(max_length=200, strip=True)


class PolicyForm(forms.Form):
    """A saved policy: its document as text or file, and a name unless the document has one."""

    name = forms.CharField(max_length=200, required=False, strip=True)
    document = forms.CharField(
        required=False, widget=forms.Textarea, strip=False, max_length=1_000_000
    )
    file = forms.FileField(required=False)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not cleaned.get("file") and not cleaned.get("document", "").strip():
            self.add_error("document", "Paste a policy, or choose a file.")
        return cleaned

    def read_document(self) -> bytes:
        """The document as bytes; a file comes before the text."""
        sent = self.cleaned_data.get("file")
        return bytes(sent.read()) if sent else str(self.cleaned_data["document"]).encode()
