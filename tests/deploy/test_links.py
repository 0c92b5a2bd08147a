"""The door of vantage points: whom it shows itself as, and what lies beside it."""

import shutil
import socket
import ssl
import stat
import subprocess
import sys

import pytest

from deploy import certificates, links
from tasks.platform.tls import context_of
from tests.tasks.site import ROOT, wait

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
]


def openssl(*arguments):
    return subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)


def test_the_authority_stays_when_names_change(tmp_path):
    first = certificates.ensure(tmp_path, ["links.example"])
    authority, door = first.authority.read_text(), first.certificate.read_text()
    assert certificates.ensure(tmp_path, ["links.example"]).certificate.read_text() == door
    certificates.ensure(tmp_path, ["192.0.2.1", "::1"])
    assert first.authority.read_text() == authority
    text = openssl("x509", "-in", first.certificate, "-noout", "-text").stdout
    for name in ("IP Address:192.0.2.1", "IP Address:0:0:0:0:0:0:0:1", "DNS:localhost"):
        assert name in text
    assert "links.example" not in text
    checked = openssl("verify", "-CAfile", first.authority, first.certificate)
    assert checked.stdout.endswith("OK\n")


def test_keys_and_passwords_are_for_the_owner_only(tmp_path):
    links.command(tmp_path)
    certificates.ensure(tmp_path / "links", ["127.0.0.1"])
    folder = tmp_path / "links"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in ("secret", "ca.key", "gate.key", "users.acl"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600, name
    assert "user default off" in (folder / "users.acl").read_text()


@pytest.mark.parametrize(
    ("host", "listen"),
    [
        ("127.0.0.1", "127.0.0.1:1"),
        ("localhost", "127.0.0.1:1"),
        ("[::1]", "[::1]:1"),
        ("links.example", ":1"),
    ],
)
def test_the_door_is_open_to_others_only_under_a_name_for_others(tmp_path, host, listen):
    assert listen in links.gate_command(tmp_path, host, 1)


@pytest.fixture
def door(tmp_path):
    """A door with a certificate that is over, as it looks to a clock that is wrong."""
    found = certificates.ensure(tmp_path, ["127.0.0.1"])
    over = openssl(
        *("x509", "-req", "-in", tmp_path / "gate.csr", "-days", "-1"),
        *("-extfile", tmp_path / "gate.ext", "-set_serial", "0x77"),
        *("-CA", found.authority, "-CAkey", tmp_path / "ca.key", "-out", found.certificate),
    )
    if over.returncode:
        pytest.skip("this openssl makes no certificate that is over")
    told = tmp_path / "port"
    command = [sys.executable, "-m", "deploy.gate", "--listen", "127.0.0.1:0", "--to", "none"]
    command += ["--certificate", str(found.certificate), "--key", str(found.key)]
    child = subprocess.Popen([*command, "--port-file", str(told)], cwd=ROOT)
    wait(lambda: told.exists() and told.read_text(), 20)
    yield found, int(told.read_text())
    child.terminate()
    assert child.wait(10) == 0


def shake_hands(context, port):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
        return context.wrap_socket(raw, server_hostname="127.0.0.1").version()


def test_a_wrong_clock_keeps_nobody_out_and_another_authority_does(door, tmp_path):
    found, port = door
    assert shake_hands(context_of(str(found.authority)), port) in ("TLSv1.2", "TLSv1.3")
    other = certificates.ensure(tmp_path / "other", ["127.0.0.1"])
    for context in (context_of(str(other.authority)), context_of(None)):
        with pytest.raises(ssl.SSLCertVerificationError):
            shake_hands(context, port)
    wrong_name = context_of(str(found.authority))
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as raw,
        pytest.raises(ssl.SSLCertVerificationError, match="mismatch"),
    ):
        wrong_name.wrap_socket(raw, server_hostname="links.example")
