"""The stylesheet of providers, written at start-up from the table of providers."""

from django.test import Client

from core.providers import PROVIDER_BY_ID
from webapp.pages.ui.provider_styles import STYLESHEET, build_stylesheet, write_stylesheet


def test_it_works():
    text = build_stylesheet()
    for provider in PROVIDER_BY_ID.values():
        light, dark = provider.hue
        assert f"--{provider.id}: light-dark({light}, {dark});" in text
        assert f".tag--{provider.id} {{" in text
        assert f".hue--{provider.id} {{" in text
        assert f"{provider.id}={provider.letter}" in text


def test_it_is_served_as_the_table_is_now():
    answer = Client().get(f"/static/{STYLESHEET}")

    assert answer["Content-Type"].startswith("text/css")
    assert b"".join(answer.streaming_content).decode() == build_stylesheet()


def test_an_outdated_file_is_replaced(tmp_path):
    root = tmp_path / "static"
    path = root / STYLESHEET
    path.parent.mkdir(parents=True)
    path.write_text("/* of an older table */")

    write_stylesheet(root)

    assert path.read_text() == build_stylesheet()
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [path]


def test_a_folder_that_cannot_be_written_keeps_no_site_from_starting(tmp_path):
    (tmp_path / "static").write_text("a file, not a folder")

    write_stylesheet(tmp_path / "static")
