"""URLs of accounts and of sharing."""

from django.urls import include, path

from webapp.pages.accounts import (
    account,
    domains,
    events,
    export,
    installation,
    opt_out,
    organisations,
    second_factor,
    sharing,
    sign_in,
    single_sign_on,
    usage,
)

# The same pages for campaigns and audits.
_CAMPAIGN = [
    path("sharing/", sharing.overview, name="campaign-sharing"),
    path("sharing/links/", sharing.new_link, name="new-campaign-link"),
    path("sharing/visibility/", sharing.visibility, name="campaign-visibility"),
    path("delete/", sharing.delete, name="delete-campaign"),
]
_AUDIT = [
    path("sharing/", sharing.overview, name="audit-sharing"),
    path("sharing/links/", sharing.new_link, name="new-audit-link"),
    path("sharing/visibility/", sharing.visibility, name="audit-visibility"),
    path("delete/", sharing.delete, name="delete-audit"),
]
urlpatterns = [
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-in/oidc/", single_sign_on.authorize, name="oidc"),
    path("sign-in/oidc/callback/", single_sign_on.callback, name="oidc-callback"),
    path("account/oidc/disconnect/", single_sign_on.disconnect, name="oidc-disconnect"),
    path("sign-in/code/", second_factor.sign_in_code, name="sign-in-code"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("sign-up/", sign_in.sign_up, name="sign-up"),
    path("welcome/<str:who>/<str:key>/", sign_in.welcome, name="welcome"),
    path("account/", account.account, name="account"),
    path("account/password/", sign_in.password, name="password"),
    path("account/tokens/", account.new_token, name="new-token"),
    path("account/tokens/<int:pk>/revoke/", account.revoke_token, name="revoke-token"),
    path("account/links/<int:pk>/revoke/", sharing.revoke_link, name="revoke-link"),
    path("account/archive/", export.export_account, name="export-account"),
    path("account/close/", account.close_account, name="close-account"),
    path("account/second-factor/", second_factor.settings_page, name="second-factor"),
    path("account/domains/", domains.listing, name="account-domains"),
    path("account/domains/<int:pk>/check/", domains.check, name="check-claim"),
    path("account/domains/<int:pk>/delete/", domains.delete, name="delete-claim"),
    path("account/usage/", usage.usage, name="usage"),
    path("account/installation/", installation.installation, name="installation"),
    path("opt-out/", opt_out.opt_out, name="opt-out"),
    path("opt-out/<str:token>/", opt_out.opt_out_request, name="opt-out-request"),
    path("account/organisations/", organisations.overview, name="organisations"),
    path("account/organisations/<slug:slug>/", organisations.organisation, name="organisation"),
    path("account/events/", events.own_events, name="account-events"),
    path("account/events/all/", events.all_events, name="all-events"),
    path(
        "account/organisations/<slug:slug>/events/",
        events.organisation_events,
        name="organisation-events",
    ),
    path(
        "account/organisations/<slug:slug>/do/<slug:action>/",
        organisations.change,
        name="change-organisation",
    ),
    path("account/invitations/<str:secret>/", organisations.invitation, name="join-organisation"),
    path("s/<slug:slug>/sharing/", sharing.overview, name="sharing"),
    path("s/<slug:slug>/sharing/links/", sharing.new_link, name="new-share-link"),
    path("s/<slug:slug>/sharing/visibility/", sharing.visibility, name="visibility"),
    path("s/<slug:slug>/delete/", sharing.delete, name="delete-survey"),
    path("wide-area/<slug:slug>/", include(_CAMPAIGN), {"kind": "campaign"}),
    path("audits/<slug:slug>/", include(_AUDIT), {"kind": "audit"}),
]
