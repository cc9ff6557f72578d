"""What a notebook shows of its results: text for terminals, HTML for browsers, marks for Sphinx."""

from __future__ import annotations

import pytest

from dpbayes.press.shown import (
    SHOWN_ROWS,
    ShownFigure,
    ShownFinding,
    ShownNumbers,
    ShownTable,
    show,
    without_roles,
)


def test_a_table_escapes_what_it_shows_and_rounds_for_the_eye_only() -> None:
    table = ShownTable(("name", "value"), (("<b>", "0.123456789012"), ("n", "1234567")))
    shown = table._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    assert "0.123457" in shown
    assert "1234567" in shown
    assert repr(table) == "table of 2 rows: name, value"


def test_the_head_of_a_table_is_in_words() -> None:
    table = ShownTable(("rms_z_as_stated", "mean at 0.5"), (("1_000", "x"),))
    assert "<th>rms z as stated</th><th>mean at 0.5</th>" in table._repr_html_()
    assert "<td>1_000</td>" in table._repr_html_()


def test_a_long_table_says_how_much_is_hidden() -> None:
    table = ShownTable(("i",), tuple((str(i),) for i in range(SHOWN_ROWS + 7)))
    assert table._repr_html_().count("<td>") == SHOWN_ROWS
    assert "and 7 more rows in the CSV file" in table._repr_html_()


def test_numbers_show_ten_digits_by_name() -> None:
    bundle, marks = ShownNumbers({"third": 1 / 3})._repr_mimebundle_()
    assert "third" in bundle["text/html"]
    assert "0.3333333333" in bundle["text/html"]
    assert marks == {"dpbayes": {"numbers": True}}


def test_a_figure_carries_its_alternative_text() -> None:
    figure = ShownFigure("<svg ></svg>", "A line that falls.", "It falls.", "fig-x")
    bundle, marks = figure._repr_mimebundle_()
    assert bundle["text/plain"] == "A line that falls."
    assert marks["image/svg+xml"] == {"alt": "A line that falls."}


def test_a_finding_is_its_sentence_in_every_form() -> None:
    finding = ShownFinding("order", "With $a < b$ it **holds** & `x<y` stays.")
    bundle, marks = finding._repr_mimebundle_()
    assert str(finding) == finding.sentence
    assert marks["dpbayes"]["finding"] == {"name": "order", "sentence": finding.sentence}
    html = bundle["text/html"]
    assert "<strong>holds</strong>" in html
    assert "&amp;" in html
    assert "$a &lt; b$" in html
    assert "x&lt;y" in html


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("see {doc}`the limits <limits/limits>`.", "see the limits."),
        ("{term}`loss` and {math}`x`", "loss and x"),
        ("`code` stays", "`code` stays"),
    ],
)
def test_references_become_their_words_where_no_book_is(text: str, plain: str) -> None:
    assert without_roles(text) == plain


def test_outside_a_notebook_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show({"text/plain": "x"}, {})
    assert capsys.readouterr() == ("", "")


def test_a_cell_that_is_missing_or_infinite_is_shown_as_on_the_pages() -> None:
    shown = ShownTable(("x",), (("nan",), ("inf",)))._repr_html_()
    assert "<td>–</td>" in shown
    assert "<td>∞</td>" in shown
