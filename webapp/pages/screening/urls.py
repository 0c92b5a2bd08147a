"""Addresses of screening; what may be read of a pool is at its key and at its share link."""

from django.urls import URLPattern, path

from webapp.pages.screening import analysis, logs, payoff, pool, pools, views

_READ = (
    ("", pool.overview, "pool"),
    ("choose/", pool.choose, "pool-choose"),
    ("heat/", analysis.heat, "pool-heat"),
    ("calibrate/", analysis.calibrate, "pool-calibrate"),
    ("history/", analysis.history, "pool-history"),
    ("logs/", logs.logs, "pool-logs"),
    ("findings.json", analysis.findings_file, "pool-findings"),
    ("instances/<int:pk>/", pool.instance, "instance"),
    ("reports/<slug:report_id>.json", pool.report_file, "pool-report"),
    ("verdicts.<slug:kind>", pool.pool_file, "pool-file"),
)
_WRITE = (
    ("settings/", pools.settings, "pool-settings"),
    ("tokens/", pools.new_token, "pool-new-token"),
    ("tokens/<int:pk>/revoke/", pools.revoke_token, "pool-revoke-token"),
    ("share/", pools.share, "pool-share"),
    ("calibrate/use/", analysis.use_mark, "pool-use-mark"),
    ("logs/add/", logs.add_log, "pool-add-log"),
    ("logs/<int:pk>/forget/", logs.delete_log, "pool-forget-log"),
    ("delete/", pools.delete, "pool-delete"),
    ("instances/<int:pk>/change/", pools.change_instance, "pool-instance"),
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
    path("screening/", views.landing, name="screening"),
    path("screening/log/", views.read_log, name="screening-log"),
    path("screening/pay-off/", payoff.page, name="payoff"),
    path("screening/pay-off.<slug:kind>", payoff.file, name="payoff-file"),
    path("screening/instance-types/", views.instance_types, name="instance-types"),
    path("screening/instance-types.csv", views.instance_types_file, name="instance-types-file"),
    path("screening/good-machines/", views.good_machines, name="good-machines"),
    path("screening/good-machines.csv", views.good_machines_file, name="good-machines-file"),
    path("screening/pools/", pools.listing, name="pools"),
    path("screening/pools/new/", pools.new_pool, name="new-pool"),
    *_list_reading(),
    *(path(f"screening/pools/<slug:key>/{tail}", view, name=name) for tail, view, name in _WRITE),
]
