"""Tables: as text and as HTML."""

from headrace.core.table import Table, in_words


def test_a_table_without_rows() -> None:
    assert str(Table("nothing", [])) == "nothing"
    assert "<caption>nothing</caption>" in Table("nothing", [])._repr_html_()


def test_html_is_escaped() -> None:
    assert "&lt;b&gt;" in Table("<b>", [{"<i>": "<u>"}])._repr_html_()
    assert "<u>" not in Table("<b>", [{"<i>": "<u>"}])._repr_html_()


def test_sizes_in_words() -> None:
    assert [in_words(size) for size in (0, 999, 1500, 2.5e6, 3e12)] == [
        "0 bytes",
        "999 bytes",
        "1.5 KB",
        "2.5 MB",
        "3000.0 GB",
    ]
