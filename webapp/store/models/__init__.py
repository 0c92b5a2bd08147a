"""The control plane: what was asked, how far it is, and the finished report rows.

Observations are never rows here; a shard's manifest names its Parquet parts in the lake.
"""

from webapp.store.models.accounts import ApiToken, ShareLink, SignInFailure
from webapp.store.models.campaigns import Measurement, MeasurementReport, MeasurementUnit
from webapp.store.models.recommendations import Recommendation
from webapp.store.models.screening import Pool, PoolInstance, PoolLog, PoolReport, PoolToken
from webapp.store.models.surveys import Campaign, RangeTable, Report, Shard
from webapp.store.models.vantages import JoinToken, VantagePoint

__all__ = [
    "ApiToken",
    "Campaign",
    "JoinToken",
    "Measurement",
    "MeasurementReport",
    "MeasurementUnit",
    "Pool",
    "PoolInstance",
    "PoolLog",
    "PoolReport",
    "PoolToken",
    "RangeTable",
    "Recommendation",
    "Report",
    "Shard",
    "ShareLink",
    "SignInFailure",
    "VantagePoint",
]
