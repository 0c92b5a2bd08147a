"""Where the compiled loop cannot be had, there is none, and nothing fails."""

import pytest

from core.native import object_code
from crawlers.compiled import loading


def test_a_system_without_the_calls_has_no_loop(monkeypatch):
    monkeypatch.setattr(loading.sys, "platform", "darwin")
    assert loading.load_step(pytest.fail) is None


def test_a_compiler_that_fails_leaves_no_loop(monkeypatch, caplog):
    def fail(*_):
        raise RuntimeError("no such processor")

    monkeypatch.setattr(object_code, "_read_object", fail)
    assert loading.load_step(None) is None
    assert "reference engine" in caplog.text


def test_damaged_machine_code_is_not_run_but_compiled_again(tmp_path, monkeypatch):
    announced = []
    monkeypatch.setattr(object_code, "_object_path", lambda *_: tmp_path / "x.1.object")
    (tmp_path / "x.1.object").write_bytes(b'{"symbol": "x", "digest": "0"}\nno code')
    assert loading.load_step(None) is None

    def compile_nothing(loop):
        announced.append(loop.name)
        raise RuntimeError("enough")

    monkeypatch.setattr(object_code, "_compile", compile_nothing)
    assert loading.load_step(lambda: announced.append("announced")) is None
    assert announced == ["announced", "step"]
