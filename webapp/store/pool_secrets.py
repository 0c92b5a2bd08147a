"""Secrets of pools: tokens of agents and share links; only hashes and seeds are ever stored."""

import hashlib
import secrets

from django.utils.crypto import salted_hmac

# What a pool token begins with, so that people and secret scanners know one when they see it.
PREFIX = "nsp_"
SHOWN = 10
SALT = "nephoscope.pool.share"


def make_token() -> str:
    """A new pool token of 192 bits."""
    return PREFIX + secrets.token_urlsafe(24)


def make_seed() -> str:
    """A new seed of a share link."""
    return secrets.token_urlsafe(24)


def make_share_secret(seed: str) -> str:
    """What a share link's address holds; empty for no seed.

    It needs this installation's secret key, so that the database alone opens nothing.
    """
    return salted_hmac(SALT, seed, algorithm="sha256").hexdigest()[:40] if seed else ""


def hash_secret(secret: str) -> str:
    """What is stored of a secret; it has enough bits to need no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
