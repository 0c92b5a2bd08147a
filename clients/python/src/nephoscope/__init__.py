"""Client of Nephoscope: where in the cloud domains are, and audits of it.

>>> from nephoscope import Nephoscope
>>> site = Nephoscope("https://nephoscope.example", token="…")
>>> site.survey(["example.com"]).wait().report.tables["regions"].to_pandas()
>>> site.audit(["example.com"], policy="resilience").wait().findings
"""

from nephoscope.client import Nephoscope
from nephoscope.errors import (
    AuthenticationError,
    Conflict,
    InvalidRequest,
    LimitReached,
    NephoscopeError,
    NotFinished,
    NotFound,
    PermissionDenied,
    ProblemError,
    ServerError,
    Unavailable,
    WaitTimeout,
    WorkFailed,
)
from nephoscope.pages import iterate
from nephoscope.tables import Table, Tables
from nephoscope.work import Audit, Survey, SurveyReport

__all__ = [
    "Audit",
    "AuthenticationError",
    "Conflict",
    "InvalidRequest",
    "LimitReached",
    "Nephoscope",
    "NephoscopeError",
    "NotFinished",
    "NotFound",
    "PermissionDenied",
    "ProblemError",
    "ServerError",
    "Survey",
    "SurveyReport",
    "Table",
    "Tables",
    "Unavailable",
    "WaitTimeout",
    "WorkFailed",
    "iterate",
]
