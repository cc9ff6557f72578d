"""The file of a plan: lines for messages, and nothing that keeps the reader busy."""

from __future__ import annotations

import time

import pytest

from dpbayes.releasing.plan_file import PlanError, PlanFile, read_plan_file


def test_a_key_is_found_at_its_line_and_not_within_another(tmp_path):
    text = 'columns = 1\n"column" = 2\n[categories]\nhealth = 3\n'
    found = PlanFile(tmp_path / "p.toml", text, {})
    wanted = {"columns": 1, "column": 2, "categories": 3, "health": 4}
    assert {key: found.where(key).rpartition(" ")[2] for key in wanted} == {
        key: str(line) for key, line in wanted.items()
    }
    assert found.where("prior") == str(tmp_path / "p.toml")


@pytest.mark.parametrize("text", ["a" + ".a" * 50_000 + " = 1", '"\\"' * 300_000, "'" * 999_999])
def test_no_file_takes_long(tmp_path, text):
    (tmp_path / "p.toml").write_text(text)
    before = time.process_time()
    with pytest.raises(PlanError, match=r"p\.toml"):
        read_plan_file(tmp_path / "p.toml")
    assert time.process_time() - before < 2.0


def test_dots_and_digits_within_text_and_remarks_are_only_text(tmp_path):
    text = f'# {"." * 50}\na = "{"1." * 2000}"\nb = [{"0.5, " * 50}1.5]\n'
    (tmp_path / "p.toml").write_text(text)
    assert len(read_plan_file(tmp_path / "p.toml").settings["b"]) == 51
