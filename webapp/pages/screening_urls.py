"""Addresses of screening; what may be read of a pool stands at its key and at its share link."""

from django.urls import URLPattern, path

from webapp.pages import (
    screening,
    screening_analysis,
    screening_logs,
    screening_payoff,
    screening_pool,
    screening_pools,
)

_READ = (
    ("", screening_pool.overview, "pool"),
    ("choose/", screening_pool.choose, "pool-choose"),
    ("heat/", screening_analysis.heat, "pool-heat"),
    ("calibrate/", screening_analysis.calibrate, "pool-calibrate"),
    ("history/", screening_analysis.history, "pool-history"),
    ("logs/", screening_logs.logs, "pool-logs"),
    ("findings.json", screening_analysis.findings_file, "pool-findings"),
    ("instances/<int:pk>/", screening_pool.instance, "instance"),
    ("reports/<slug:report_id>.json", screening_pool.report_file, "pool-report"),
    ("verdicts.<slug:kind>", screening_pool.pool_file, "pool-file"),
)
_WRITE = (
    ("settings/", screening_pools.settings, "pool-settings"),
    ("tokens/", screening_pools.new_token, "pool-new-token"),
    ("tokens/<int:pk>/revoke/", screening_pools.revoke_token, "pool-revoke-token"),
    ("share/", screening_pools.share, "pool-share"),
    ("calibrate/use/", screening_analysis.use_mark, "pool-use-mark"),
    ("logs/add/", screening_logs.add_log, "pool-add-log"),
    ("logs/<int:pk>/forget/", screening_logs.forget_log, "pool-forget-log"),
    ("delete/", screening_pools.delete, "pool-delete"),
    ("instances/<int:pk>/change/", screening_pools.change_instance, "pool-instance"),
)


def _list_reading() -> list[URLPattern]:
    by_key = [
        path(f"screening/pools/<slug:key>/{tail}", view, name=name) for tail, view, name in _READ
    ]
    shared = [
        path(f"screening/shared/<slug:secret>/{tail}", view, name=f"shared-{name}")
        for tail, view, name in _READ
    ]
    return [*by_key, *shared]


urlpatterns = [
    path("screening/", screening.landing, name="screening"),
    path("screening/log/", screening.read_log, name="screening-log"),
    path("screening/pay-off/", screening_payoff.page, name="payoff"),
    path("screening/pay-off.<slug:kind>", screening_payoff.file, name="payoff-file"),
    path("screening/pools/", screening_pools.listing, name="pools"),
    path("screening/pools/new/", screening_pools.new_pool, name="new-pool"),
    *_list_reading(),
    *(path(f"screening/pools/<slug:key>/{tail}", view, name=name) for tail, view, name in _WRITE),
]
