"""The file of an account: receipts, entries, and files that are none."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpbayes.tables.chain import Entry, Receipt, append_lines, connected, read_entry
from dpbayes.tables.keys import AccountError
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.units import RECORD

ONE = Fraction(1)


def test_a_second_place_gets_every_receipt(two_people, tmp_path):
    place = tmp_path / "receipts.txt"
    account = create_account(tmp_path / "a", "clinic", 1, two_people, RECORD, receipts=place)
    account.reserve("one", ONE, "")
    receipts = [Receipt.parse(line) for line in place.read_text().splitlines()]
    assert [receipt.sequence for receipt in receipts] == [0, 1, 2]
    account.verify(receipts)


def test_a_file_that_is_no_account_is_named(tmp_path, two_people):
    for content in (b"", b"not a database" * 100):
        path = tmp_path / "x"
        path.write_bytes(content)
        with pytest.raises(AccountError, match=r"x (is damaged|is no account)"):
            open_account(path)


def test_a_file_whose_text_is_no_text_is_damaged(tmp_path, two_people):
    path = tmp_path / "a"
    create_account(path, "clinic", 1, two_people, RECORD)
    path.write_bytes(
        path.read_bytes().replace(b"CREATE TABLE entries", b"CREATE TABLE \xff\xfetr (")
    )
    with pytest.raises(AccountError, match="a is damaged"):
        open_account(path)


@pytest.mark.parametrize("line", ["", "clinic 1", "clinic one " + "0" * 64, "clinic 1 abc"])
def test_receipts_that_cannot_be_read(line):
    with pytest.raises(ValueError, match="receipt must be"):
        Receipt.parse(line)


def test_an_entry_is_read_as_it_was_written(tmp_path):
    for epsilon, delta in ((Fraction(1, 3), Fraction(0)), (Fraction(0), Fraction(1, 10**9))):
        entry = Entry(3, "spend", "a", epsilon, delta, "what", "now", "digest")
        assert read_entry(tmp_path, entry.row()) == entry
        # The digest covers the number, the amount and what was bought.
        for other in (
            Entry(4, "spend", "a", epsilon, delta, "what", "now"),
            Entry(3, "spend", "a", epsilon + 1, delta, "what", "now"),
            Entry(3, "spend", "a", epsilon, delta, "other", "now"),
        ):
            assert other.content() != entry.content()
    for broken in ("x", "1/0", None, "1;x", "-1", "1e9", "1_0", "٣", "", " 1"):
        with pytest.raises(AccountError, match="entry 3 cannot be read"):
            read_entry(tmp_path, (3, "spend", "a", broken, "0", "what", "now", "digest"))


def test_opening_makes_no_file_and_lines_are_added(tmp_path):
    place = tmp_path / "none"
    with pytest.raises(AccountError, match="none cannot be used"), connected(place):
        pass
    assert not place.exists()
    for line in ("a", "b"):
        append_lines(tmp_path / "lines", [line])
    assert (tmp_path / "lines").read_text() == "a\nb\n"


@pytest.mark.parametrize(
    "text", [f"clinic ² {64 * '0'}", f"clinic 1 {64 * 'z'}", f"clinic {'9' * 40} {64 * '0'}"]
)
def test_what_only_looks_like_a_receipt_is_refused(text):
    with pytest.raises(ValueError, match="receipt must be 'dataset number digest'"):
        Receipt.parse(text)


def test_a_place_of_receipts_that_cannot_be_written_is_named_with_what_stands(tmp_path):
    with pytest.raises(AccountError, match=r"receipts .* cannot be written: .* pays nothing twice"):
        append_lines(tmp_path, ["clinic 1"])


@pytest.mark.parametrize("left", ["", "clinic 1 {}", "clinic 1 0123456789abcdef"])
def test_a_line_that_a_full_disk_left_unfinished_spoils_no_later_receipt(tmp_path, left):
    place, whole = tmp_path / "receipts.txt", f"clinic 0 {'0' * 64}\n"
    place.write_text(whole + left.format("1" * 64))
    append_lines(place, [f"clinic 2 {'2' * 64}"])
    numbers = [Receipt.parse(line).sequence for line in place.read_text().splitlines()]
    assert numbers == ([0, 1, 2] if left.endswith("{}") else [0, 2])
