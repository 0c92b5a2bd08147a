"""Secrets of pools' tokens; only hashes, and for a moment seeds, are ever stored."""

import hashlib
import secrets
from base64 import urlsafe_b64encode

from django.utils.crypto import salted_hmac

# What a pool token begins with, so that people and secret scanners know one when they see it.
PREFIX = "nsp_"
SHOWN = 10
_SALT = "nephoscope.pool.token"


def generate_seed() -> str:
    """Generate the seed of a new token."""
    return secrets.token_urlsafe(24)


def derive_token(seed: str) -> str:
    """Derive the pool token (192 bits) of a seed.

    The derivation needs the installation's secret key, so that a session may hold the seed without
    revealing the token.
    """
    mac = salted_hmac(_SALT, seed, algorithm="sha256").digest()
    return PREFIX + urlsafe_b64encode(mac[:24]).decode()


def hash_secret(secret: str) -> str:
    """What is stored of a secret; it has enough bits to need no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
