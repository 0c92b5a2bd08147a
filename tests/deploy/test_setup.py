"""Packages are installed by uv from the servers that pip would ask, else by pip."""

from pathlib import Path

import pytest

from deploy import setup


def test_uv_asks_the_servers_of_pip() -> None:
    text = (
        ":env:.find-links='/wheels /more'\n"
        "global.cert='/etc/ca.crt'\n"
        "global.find-links='/others'\n"
        "global.index-url='https://mirror.example/simple?a=b'\n"
        "global.extra-index-url='\\nhttps://one.example\\nhttps://two.example'\n"
        "global.default-timeout='180'\n"
        "freeze.index-url='https://foreign.example'\n"
    )
    assert setup.convert_pip_settings(text) == {
        "UV_FIND_LINKS": "/wheels,/more",
        "SSL_CERT_FILE": "/etc/ca.crt",
        "UV_DEFAULT_INDEX": "https://mirror.example/simple?a=b",
        "UV_INDEX": "https://one.example https://two.example",
    }
    assert setup.convert_pip_settings("") == {}


def test_pip_installs_where_uv_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # An interpreter that records what it is asked for, and has no uv.
    python, calls = tmp_path / "python", tmp_path / "calls"
    python.write_text(f'#!/bin/sh\necho "$@" >> {calls}\ntest "$2" != uv\n')
    python.chmod(0o755)
    monkeypatch.setattr(setup, "PYTHON", python)
    monkeypatch.setattr(setup, "STAMPS", tmp_path / "stamps")
    setup.install_python("run")
    asked = calls.read_text().splitlines()
    assert [line.split()[:3] for line in asked] == [
        ["-m", "pip", "install"],
        ["-m", "pip", "config"],
        ["-m", "uv", "pip"],
        ["-m", "pip", "install"],
    ]
    assert asked[0].endswith("requirements/installer.lock")
    assert all("--require-hashes" in asked[n] for n in (0, 2, 3))
    assert all(asked[n].endswith("requirements/run.lock") for n in (2, 3))
    assert "pip does" in capsys.readouterr().out
    setup.install_python("run")
    assert len(calls.read_text().splitlines()) == 4
