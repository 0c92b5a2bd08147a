"""URLs of audits."""

from django.urls import path

from webapp.pages.audits import embeds, saved, starting, views

urlpatterns = [
    path("", views.audits, name="audits"),
    path("new/", starting.new_audit, name="new-audit"),
    path("run/", starting.run_audit, name="run-audit"),
    path("lists/", saved.domain_lists, name="domain-lists"),
    path("lists/<slug:key>/", saved.domain_list, name="domain-list"),
    path("lists/<slug:key>/delete/", saved.delete_list, name="delete-domain-list"),
    path("policies/", saved.policy_list, name="audit-policies"),
    path("policies/<slug:key>/", saved.policy, name="audit-policy"),
    path("policies/<slug:key>/delete/", saved.delete_policy, name="delete-audit-policy"),
    path("suppressions/", saved.suppressions, name="audit-suppressions"),
    path(
        "suppressions/<int:pk>/delete/", saved.delete_suppression, name="delete-audit-suppression"
    ),
    path("<slug:slug>/", views.audit, name="audit"),
    path("<slug:slug>/badge.svg", embeds.badge, name="audit-badge"),
    path("<slug:slug>/embed/", embeds.embed, name="audit-embed"),
    path("<slug:slug>/findings/", views.finding_list, name="audit-findings"),
    path("<slug:slug>/findings/<int:row>/", views.finding, name="audit-finding"),
]
