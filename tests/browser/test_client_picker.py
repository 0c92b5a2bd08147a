"""Clients by type-ahead: by keyboard alone, named for screen readers, and no more than help."""

from typing import Any

from tests.sites import AXE


def test_a_country_and_a_network_are_added_by_keyboard(visit: Any) -> None:
    page = visit("/recommendations/clients/")
    box = page.get_by_role("combobox", name="Add a country, city or network")
    box.focus()
    page.keyboard.type("germ")
    page.locator("#picker-list").get_by_role("option", name="Germany").wait_for()
    page.keyboard.press("ArrowDown")
    assert box.get_attribute("aria-activedescendant") == "picker-option-0"
    page.keyboard.press("Enter")
    page.keyboard.type("40")
    page.keyboard.press("Enter")
    assert page.locator("#id_audience").input_value() == "DE,40\n"
    assert "Germany, weight 40" in page.locator("[data-notice]").inner_text()
    assert box.evaluate("node => node === document.activeElement")

    page.keyboard.type("atlantis")
    page.get_by_text("Nothing of this name is known here").wait_for()
    page.keyboard.press("Enter")
    assert page.locator("#id_audience").input_value() == "DE,40\n"
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run('form').then(r => r.violations.map(v => v.id))")
    assert found == []


def test_a_region_is_chosen_by_its_name(visit: Any) -> None:
    page = visit("/recommendations/clients/")
    field = page.locator("#id_current")
    field.fill("aws/eu-west-1")
    picker = page.locator("[data-code-picker=id_current]")
    picker.get_by_role("combobox", name="Choose a region").select_option("aws/us-east-1")
    picker.get_by_role("button", name="Add").focus()
    page.keyboard.press("Enter")
    assert field.input_value() == "aws/eu-west-1, aws/us-east-1"
    assert "N. Virginia" in picker.get_by_role("status").inner_text()
    page.keyboard.press("Enter")
    assert field.input_value() == "aws/eu-west-1, aws/us-east-1"


def test_without_script_the_text_area_is_all_there_is(visit: Any) -> None:
    page = visit("/recommendations/clients/", width=390, script=False)
    assert not page.locator("[data-client-picker]").is_visible()
    page.fill("#id_audience", "DE 40\nJP/Tokyo 2")
    page.get_by_role("button", name="Find the best regions").click()
    assert page.get_by_role("heading", name="Measured and modelled shares").is_visible()
