"""Second factors: enrolment, codes of an authenticator, and recovery codes that work once."""

import secrets
import time
from base64 import b32encode
from typing import Any

import pyotp
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from core.errors import BadInput, Conflict
from webapp.store.access import events
from webapp.store.access.tokens import digest
from webapp.store.models import SecondFactor

N_RECOVERY_CODES = 10
# A code is accepted for one step of 30 s before and after its own, as RFC 6238 (5.2) recommends.
_STEP_S, _DRIFT_STEPS = 30, 1
# Separates these secrets from all else that is derived from the secret key.
_SALT = "nephoscope.second-factor"


def find(user: Any) -> SecondFactor | None:
    """Return the second factor of an account, confirmed or not."""
    return SecondFactor.objects.filter(owner=user).first()


def is_required(user: Any) -> bool:
    """Whether an account signs in with a code."""
    return SecondFactor.objects.filter(owner=user, confirmed_at__isnull=False).exists()


def enrol(user: Any) -> SecondFactor:
    """Return a factor to confirm, with a new secret; raise ``Conflict`` where there is one."""
    if is_required(user):
        raise Conflict("there is a second factor already; remove it first")
    fresh = {"seed": secrets.token_hex(32), "last_step": 0, "recovery_sha256": []}
    return SecondFactor.objects.update_or_create(owner=user, defaults=fresh)[0]


def secret_of(row: SecondFactor) -> str:
    """Return the shared secret in base 32."""
    mac = salted_hmac(_SALT, row.seed, algorithm="sha256").digest()
    return b32encode(mac[:20]).decode()


def uri_of(row: SecondFactor, site: str) -> str:
    """Return the otpauth URI, which authenticators read from a QR code."""
    totp = pyotp.TOTP(secret_of(row))
    return totp.provisioning_uri(name=row.owner.get_username(), issuer_name=site)


def confirm(user: Any, code: str) -> list[str]:
    """Require the factor from now on; return the recovery codes. Raises ``BadInput``."""
    row = SecondFactor.objects.filter(owner=user, confirmed_at=None).first()
    if row is None or not _accept_code(row, code):
        raise BadInput("this is not the present code; check the clock of the device", field="code")
    SecondFactor.objects.filter(pk=row.pk).update(confirmed_at=timezone.now())
    events.record(user, "second-factor.enable")
    return renew_recovery_codes(user)


def renew_recovery_codes(user: Any) -> list[str]:
    """Replace the recovery codes of an account and return the new ones."""
    raw = [secrets.token_hex(10) for _ in range(N_RECOVERY_CODES)]
    SecondFactor.objects.filter(owner=user).update(recovery_sha256=[digest(text) for text in raw])
    events.record(user, "second-factor.recovery-codes")
    return ["-".join(text[i : i + 5] for i in range(0, 20, 5)) for text in raw]


def accept(user: Any, given: str) -> bool:
    """Accept a code of the authenticator or a recovery code, each once."""
    row = SecondFactor.objects.filter(owner=user, confirmed_at__isnull=False).first()
    return row is not None and (_accept_code(row, given) or _accept_recovery_code(row, given))


def _accept_code(row: SecondFactor, given: str) -> bool:
    code = "".join(given.split())
    if not (code.isascii() and code.isdecimal() and len(code) == 6):
        return False
    totp, now = pyotp.TOTP(secret_of(row)), int(time.time()) // _STEP_S
    for step in range(now - _DRIFT_STEPS, now + _DRIFT_STEPS + 1):
        if secrets.compare_digest(totp.at(step * _STEP_S), code):
            later = SecondFactor.objects.filter(pk=row.pk, last_step__lt=step)
            return bool(later.update(last_step=step))
    return False


@transaction.atomic
def _accept_recovery_code(row: SecondFactor, given: str) -> bool:
    wanted = digest(given.replace("-", "").replace(" ", "").lower())
    held = SecondFactor.objects.select_for_update().get(pk=row.pk)
    if wanted not in held.recovery_sha256:
        return False
    held.recovery_sha256 = [one for one in held.recovery_sha256 if one != wanted]
    held.save(update_fields=["recovery_sha256"])
    left = len(held.recovery_sha256)
    events.record(row.owner, "second-factor.recovery-code", f"{left} left")
    return True


def remove(user: Any) -> bool:
    """Remove the factor of an account; false where there is none."""
    if not SecondFactor.objects.filter(owner=user).delete()[0]:
        return False
    events.record(user, "second-factor.remove")
    return True
