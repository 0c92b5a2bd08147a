"""The policy of an audit: closed documents of TOML or JSON, with a JSON Schema."""

import fnmatch
from collections.abc import Iterable
from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from audits.findings import Severity, fingerprint_of
from audits.rules.base import Parameters
from audits.rules.registry import RULES

_FINGERPRINT_PATTERN = r"^[0-9a-f]{64}$"


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DataRequirements(_Closed):
    """What the observations of a domain must be like to be judged."""

    max_age_days: float = Field(30, gt=0, description="oldest survey that is judged, in days")
    max_failed_share: float = Field(
        0.1,
        ge=0,
        le=1,
        description="greatest share of a domain's queries that failed; above it, no rule about "
        "all names of the domain is judged",
    )
    min_names: int = Field(1, ge=0, description="fewest names found, else nothing is judged")


class Suppression(_Closed):
    """An accepted finding, with a reason, an owner and an expiry date."""

    rule: str = Field(description="id of the rule")
    subject: str = Field(
        min_length=1, description="the domain, or a glob that matches the whole domain"
    )
    reason: str = Field(min_length=3, description="why the finding is accepted")
    owner: str = Field(min_length=1, description="who accepted it")
    expires: date = Field(description="last day on which it holds")
    fingerprint: str = Field(
        "", pattern=rf"^$|{_FINGERPRINT_PATTERN}", description="one finding only, by fingerprint"
    )

    @field_validator("rule")
    @classmethod
    def _known_rule(cls, value: str) -> str:
        if value not in RULES:
            raise ValueError(f"there is no rule {value!r}; rules are {', '.join(RULES)}")
        return value

    @property
    def is_glob(self) -> bool:
        """Whether the subject may match other domains than the one it names."""
        return any(sign in self.subject for sign in "*?[")

    def matches_any(self, domains: Iterable[str]) -> bool:
        """Whether the subject matches one of the domains."""
        return any(fnmatch.fnmatchcase(domain, self.subject) for domain in domains)

    def covers(self, rule: str, subject: str, discriminator: str) -> bool:
        """Whether this suppression is about a finding, its expiry apart."""
        if self.rule != rule or not fnmatch.fnmatchcase(subject, self.subject):
            return False
        return not self.fingerprint or self.fingerprint == fingerprint_of(
            rule, subject, discriminator
        )


class RuleSetting(_Closed):
    """How a policy applies one rule."""

    severity: Severity
    parameters: Parameters


class Policy(_Closed):
    """A policy: the rules that it names are applied, all others are not."""

    version: Literal[1]
    name: str = Field(min_length=1, max_length=80)
    title: str = ""
    fail_on: Severity = Severity.HIGH
    data: DataRequirements = Field(default_factory=lambda: DataRequirements.model_validate({}))
    rules: dict[str, RuleSetting]
    suppressions: tuple[Suppression, ...] = ()
    # SHA-256 of the document, so that a report states which text was applied.
    digest: str = ""

    def summary(self) -> dict[str, Any]:
        """The part of a report that identifies the policy."""
        return {"name": self.name, "version": self.version, "sha256": self.digest}


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a policy document, every rule with its parameters."""
    schema = Policy.model_json_schema()
    definitions = schema["$defs"]
    for unused in ("RuleSetting", "Parameters"):
        definitions.pop(unused, None)
    rules = {}
    for rule in RULES.values():
        fields = rule.parameters.model_json_schema()
        rules[rule.id] = {
            "type": "object",
            "description": rule.title,
            "additionalProperties": False,
            "properties": {
                "severity": {"$ref": "#/$defs/Severity", "default": str(rule.severity)},
                **fields.get("properties", {}),
            },
        }
    properties = schema["properties"]
    properties.pop("digest")
    properties["rules"] = {
        "type": "object",
        "additionalProperties": False,
        "properties": rules,
        "description": "the rules that are applied, by id",
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
