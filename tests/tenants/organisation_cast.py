"""Two organisations of the same name: one with a member of each role, and one of a stranger."""

from typing import Any

from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from webapp.store.access import organisations


class Umbrella:
    """An organisation of Anna with one member of each role, and one of Bert with the same name."""

    def __init__(self, anna: Any, bert: Any) -> None:
        self.anna, self.bert = anna, bert
        self.row = organisations.create(anna, "Umbrella")
        owner = organisations.find_membership(anna, self.row.slug)
        assert owner is not None
        self.owner, self.by_role = owner, {"owner": owner}
        for role in ("admin", "member", "viewer"):
            _, secret = organisations.invite(owner, role)
            user = get_user_model().objects.create_user(f"umbrella-{role}")
            organisations.accept(user, secret)
            found = organisations.find_membership(user, self.row.slug)
            assert found is not None
            self.by_role[role] = found
        organisations.create(bert, "Umbrella")

    def client(self, role: str) -> Client:
        return sign_in(self.by_role[role].user)

    def path(self, action: str = "") -> str:
        if action:
            return reverse("change-organisation", args=[self.row.slug, action])
        return reverse("organisation", args=[self.row.slug])


def sign_in(user: Any) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client
