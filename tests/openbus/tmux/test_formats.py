from __future__ import annotations

from openbus.tmux.formats import Record, flag, new_nonce, number, record_format, records


def test_a_format_puts_the_nonce_around_every_text() -> None:
    assert record_format("ob1", "P", ["pane_id", "pane_pid"], ["pane_title"]) == (
        "ob1P #{pane_id} #{pane_pid}ob1#{pane_title}ob1."
    )


def test_records_give_back_words_texts_and_what_came_before() -> None:
    output = b"screen\nP %1\n\nob1P %1 77ob1title | x\ny ob2ob1.\nnext\nob1S 5ob1.\n"
    assert list(records(output, "ob1", {"P": 1, "S": 0})) == [
        Record(
            before=b"screen\nP %1\n\n",
            tag="P",
            words=("%1", "77"),
            texts=("title | x\ny ob2",),
        ),
        Record(before=b"next\n", tag="S", words=("5",), texts=()),
    ]


def test_a_record_that_was_cut_off_is_left_out() -> None:
    whole = b"ob1P %1ob1titleob1.\n"
    for length in range(len(whole) - 2):
        assert list(records(whole[:length], "ob1", {"P": 1})) == []
    assert len(list(records(whole + whole[:-4], "ob1", {"P": 1}))) == 1


def test_nonces_differ_and_are_plain_letters() -> None:
    assert new_nonce() != new_nonce()
    assert new_nonce().isalnum()
    assert new_nonce().isascii()


def test_flags_and_numbers_of_a_dead_pane_are_empty() -> None:
    assert (number(""), number("12"), number("-1"), flag(""), flag("0"), flag("2")) == (
        0,
        12,
        -1,
        False,
        False,
        True,
    )
