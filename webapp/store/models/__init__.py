"""The control plane: requests, their progress, and the finished report rows.

Observations are never rows here; a shard's manifest names its Parquet parts in the lake.
"""

from webapp.store.models.accounts.credentials import (
    ApiToken,
    ExternalIdentity,
    ShareLink,
    SignInFailure,
)
from webapp.store.models.accounts.domain_claims import DomainClaim
from webapp.store.models.accounts.events import AccountEvent
from webapp.store.models.accounts.organisations import (
    Membership,
    Organisation,
    OrganisationInvitation,
    Role,
)
from webapp.store.models.accounts.second_factor import SecondFactor
from webapp.store.models.accounts.usage import UsageDay
from webapp.store.models.audits import Audit, AuditSuppression, SavedList, SavedPolicy
from webapp.store.models.beacons import Beacon, BeaconCell
from webapp.store.models.campaigns import Campaign, CampaignReport, CampaignUnit
from webapp.store.models.recommendations import Recommendation
from webapp.store.models.schedules import (
    AlertDelivery,
    AlertEndpoint,
    Schedule,
    ScheduleEvent,
    ScheduleRun,
)
from webapp.store.models.screening import (
    Pool,
    PoolInstance,
    PoolLog,
    PoolReport,
    PoolToken,
    PublishedType,
)
from webapp.store.models.simulations import Simulation
from webapp.store.models.stored_files import StoredFile
from webapp.store.models.surveys import RangeTable, Report, Shard, Survey
from webapp.store.models.uploads import CustomerFile, TrafficUpload
from webapp.store.models.vantages import JoinToken, VantagePoint
from webapp.store.models.zones import ZoneInference, ZoneSource

__all__ = [
    "AccountEvent",
    "AlertDelivery",
    "AlertEndpoint",
    "ApiToken",
    "Audit",
    "AuditSuppression",
    "Beacon",
    "BeaconCell",
    "Campaign",
    "CampaignReport",
    "CampaignUnit",
    "CustomerFile",
    "DomainClaim",
    "ExternalIdentity",
    "JoinToken",
    "Membership",
    "Organisation",
    "OrganisationInvitation",
    "Pool",
    "PoolInstance",
    "PoolLog",
    "PoolReport",
    "PoolToken",
    "PublishedType",
    "RangeTable",
    "Recommendation",
    "Report",
    "Role",
    "SavedList",
    "SavedPolicy",
    "Schedule",
    "ScheduleEvent",
    "ScheduleRun",
    "SecondFactor",
    "Shard",
    "ShareLink",
    "SignInFailure",
    "Simulation",
    "StoredFile",
    "Survey",
    "TrafficUpload",
    "UsageDay",
    "VantagePoint",
    "ZoneInference",
    "ZoneSource",
]
