"""Documents of audits, saved lists, policies and suppressions."""

from typing import Any

from django.urls import get_script_prefix

from webapp.store.access.visibility import may_see
from webapp.store.audits.policies import Preset
from webapp.store.models import Audit, AuditSuppression, SavedList, SavedPolicy


def audit_json(row: Audit, reader: Any = None) -> dict[str, Any]:
    """An audit without its findings; what only its creator may open is named to them alone."""
    root = get_script_prefix()
    base = f"{root}api/v1/audits/{row.slug}"
    is_own = row.maker_id is not None and row.maker_id == getattr(reader, "pk", None)
    summary = row.report.get("summary")
    return {
        "id": row.slug,
        "name": row.name,
        "status": row.state,
        "is_public": row.owner_id is None,
        "source": {
            "kind": row.source,
            "survey": _survey_slug(row, reader),
            "domain_list": row.saved_list.slug if is_own and row.saved_list else None,
        },
        "policy": {
            "name": row.policy_name,
            "sha256": row.policy_sha256,
            "saved": row.saved_policy.slug if is_own and row.saved_policy else None,
        },
        "campaign": row.campaign.slug if row.campaign else None,
        "previous": row.previous.slug if row.previous else None,
        "fail_on": row.fail_on,
        "strict": row.strict,
        "created_at": row.created_at.isoformat(),
        "started_at": row.started_at.isoformat() if row.started_at else None,
        "finished_at": row.finished_at.isoformat() if row.finished_at else None,
        "step": _step(row),
        "error": row.error,
        "summary": summary,
        "exit_code": row.exit_code,
        "links": {
            "self": base,
            "events": f"{base}/events",
            "findings": f"{base}/findings",
            "report": f"{base}/report",
            "page": f"{root}audits/{row.slug}/",
        },
    }


def _survey_slug(row: Audit, reader: Any) -> str | None:
    """The survey where the reader may open it."""
    survey = row.survey
    is_open = survey is not None and may_see("survey", [survey.slug], reader)
    return survey.slug if survey is not None and is_open else None


def _step(row: Audit) -> str:
    """What is under way: ``survey``, ``ask`` for records, ``judge``; empty once it has ended."""
    if row.state == Audit.State.SURVEYING:
        return "survey"
    return str(row.progress.get("step", ""))


def list_json(row: SavedList) -> dict[str, Any]:
    """A saved domain list without its domains."""
    base = f"{get_script_prefix()}api/v1/domain-lists/{row.slug}"
    return {
        "id": row.slug,
        "name": row.name,
        "version": row.version,
        "sha256": row.sha256,
        "domains": row.n_domains,
        "duplicates": row.n_duplicates,
        "n_rejected": row.n_rejected,
        "rejected": row.rejected,
        "notes": row.notes,
        "created_at": row.created_at.isoformat(),
        "changed_at": row.changed_at.isoformat(),
        "links": {"self": base, "domains": f"{base}/domains.txt"},
    }


def policy_json(row: SavedPolicy) -> dict[str, Any]:
    """A saved policy without its document."""
    return {
        "id": row.slug,
        "name": row.name,
        "preset": False,
        "version": row.version,
        "sha256": row.sha256,
        "rules": row.rules,
        "created_at": row.created_at.isoformat(),
        "changed_at": row.changed_at.isoformat(),
        "links": {"self": f"{get_script_prefix()}api/v1/audit-policies/{row.slug}"},
    }


def preset_json(preset: Preset) -> dict[str, Any]:
    """A preset in the form of a saved policy."""
    return {
        "id": preset.name,
        "name": preset.policy.title or preset.name,
        "preset": True,
        "version": 1,
        "sha256": preset.policy.digest,
        "rules": list(preset.policy.rules),
        "created_at": None,
        "changed_at": None,
        "links": {"self": f"{get_script_prefix()}api/v1/audit-policies/{preset.name}"},
    }


def suppression_json(row: AuditSuppression) -> dict[str, Any]:
    """A saved suppression, with the fields that policies have."""
    return {
        "id": row.pk,
        "rule": row.rule,
        "subject": row.subject,
        "fingerprint": row.fingerprint,
        "reason": row.reason,
        "owner": row.accepted_by,
        "expires": row.expires.isoformat(),
        "policy": row.policy.slug if row.policy else None,
        "created_at": row.created_at.isoformat(),
    }
