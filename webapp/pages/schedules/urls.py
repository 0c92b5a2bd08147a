"""URLs of schedules and alerts."""

from django.urls import path

from webapp.pages.schedules import alerts, views

urlpatterns = [
    path("schedules/", views.schedules, name="schedules"),
    path("schedules/new/", views.new_schedule, name="new-schedule"),
    path("schedules/<slug:key>/", views.schedule, name="schedule"),
    path("schedules/<slug:key>/<slug:action>/", views.change_schedule, name="change-schedule"),
    path("alerts/", alerts.alert_endpoints, name="alert-endpoints"),
    path("alerts/confirm/<str:token>/", alerts.confirm_address, name="confirm-address"),
    path("alerts/<slug:key>/", alerts.alert_endpoint, name="alert-endpoint"),
    path(
        "alerts/<slug:key>/<slug:action>/",
        alerts.change_alert_endpoint,
        name="change-alert-endpoint",
    ),
    path(
        "alerts/<slug:key>/deliveries/<slug:message_id>/resend/",
        alerts.resend_alert,
        name="resend-alert",
    ),
]
