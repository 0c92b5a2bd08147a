"""The layout of a template file is not sent to readers."""

from webapp.pages.ui.template_loader import strip_indentation


def test_it_works():
    assert strip_indentation("<p>\n    one\n  two</p>\n") == "<p> one two</p> "


def test_what_is_written_in_one_line_stays():
    assert strip_indentation("a  <b>c</b>d") == "a  <b>c</b>d"


def test_preformatted_text_keeps_its_lines():
    text = "<pre>one\n  two</pre>\n<textarea>\n a</textarea>"
    assert strip_indentation(text) == "<pre>one\n  two</pre> <textarea>\n a</textarea>"


def test_a_title_has_no_space_at_its_ends():
    text = "{% block title %}\n  Nephoscope\n{% endblock title %}"
    assert strip_indentation(text) == "{% block title %}Nephoscope{% endblock title %}"
