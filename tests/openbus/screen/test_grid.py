"""Rows of styled text from capture bytes."""

from openbus.screen.grid import MAX_ROWS, Memo, Style, is_red, parse


def test_a_style_runs_on_into_the_next_row_as_tmux_prints_it() -> None:
    screen = parse("\x1b[31mred\nstill red\x1b[0m plain", 20, 2)
    assert screen.rows[1].style_at(0) == Style(fg="31")
    assert screen.rows[1].style_at(11) == Style()


def test_bold_and_dim_are_cleared_by_one_code() -> None:
    screen = parse("\x1b[1;2mboth\x1b[22mnone", 20, 1)
    assert screen.rows[0].style_at(0).bold
    assert screen.rows[0].style_at(0).dim
    assert not screen.rows[0].style_at(4).dim


def test_palette_and_true_colours_are_kept_as_written() -> None:
    row = parse("\x1b[38;5;203mx\x1b[38;2;235;90;90my\x1b[48:5:9mz", 20, 1).rows[0]
    assert row.style_at(0).fg == "38;5;203"
    assert is_red(row.style_at(0).fg)
    assert is_red(row.style_at(1).fg)
    assert row.style_at(2).bg == "48;5;9"
    assert not is_red("38;5;75")
    assert not is_red("")


def test_rows_lose_trailing_blanks_and_missing_rows_are_empty() -> None:
    screen = parse("a   \n", 10, 4)
    assert screen.lines == ["a", "", "", ""]


def test_columns_count_wide_characters_twice_and_combining_ones_not() -> None:
    row = parse("a漢e\u0301z", 20, 1).rows[0]
    assert row.columns == 5
    assert row.text[row.index_at(1)] == "漢"
    assert row.text[row.index_at(4)] == "z"


def test_controls_bidi_and_lone_surrogates_are_dropped_from_text() -> None:
    screen = parse("a\x00\x07b\u202ec\u200bd\ud83de\x1b]0;title\x07f\x1b[?25lg\x1b", 40, 1)
    assert screen.lines == ["abcdefg"]


def test_an_sgr_with_thousands_of_digits_is_no_style_and_no_error() -> None:
    assert parse("\x1b[" + "1" * 6000 + "mok", 80, 1).rows[0].text.endswith("ok")


def test_a_screen_of_more_rows_than_a_terminal_has_is_cut() -> None:
    assert len(parse("x\n" * (MAX_ROWS * 2), 10, 10).rows) <= MAX_ROWS


def test_a_memo_gives_the_same_rows_and_keeps_styles_apart() -> None:
    memo = Memo(limit=2)
    first = parse("\x1b[31mone\ntwo", 10, 2, memo)
    assert parse("\x1b[31mone\ntwo", 10, 2, memo) == first
    assert parse("one\ntwo", 10, 2, memo).rows[1].style_at(0) == Style()
