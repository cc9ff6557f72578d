"""What the page on the ledger and the page on accounts promise is what tests show, line by line."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEDGER, TABLE = "book/queries/query-server.md", "book/release/own-table.md"
HAZARDS = "book/release/hazards.md"
PROMISES = [
    (LEDGER, "The ledger is an SQLite file with one row for each answer.", "queries/test_ledger.py",
     "test_spend_and_answers_survive_a_restart"),
    (LEDGER, "several processes can share a ledger and never overspend",
     "queries/test_ledger.py", "test_concurrent_askers_never_overspend"),
    (LEDGER, "a process that is killed at any point can lose an answer, never a spend",
     "queries/test_ledger.py", "test_killed_at_each_step"),
    (LEDGER, "a ledger that was damaged, edited or shortened without its digests is refused",
     "queries/test_ledger.py", "test_edited_ledger_is_noticed"),
    (LEDGER, "whoever can write the file can make them fit", "queries/test_ledger.py",
     "test_a_cut_is_noticed_unless_the_last_digest_is_made_to_fit"),
    (LEDGER, "Refused, too, is a ledger of another cube", "commands/test_ask.py",
     "test_ledger_of_another_cube"),
    (LEDGER, "and one opened with another bound or neighbour relation", "queries/test_ledger.py",
     "test_ledger_on_other_terms"),
    (LEDGER, "With an account no budget comes back", "queries/test_service.py",
     "test_an_old_copy_of_the_answers_brings_no_budget_back"),
    (LEDGER, "the answers that the copy has forgotten are taken from the account",
     "queries/test_paying.py", "test_an_old_copy_of_the_ledger_draws_nothing_twice"),
    (LEDGER, "With an account it loses no answer that was paid for", "queries/test_paying.py",
     "test_killed_at_each_step_it_is_paid_once_and_answered"),
    (LEDGER, "finishes what was interrupted, before anything else is decided",
     "queries/test_paying.py",
     "test_what_a_crash_left_is_finished_before_anything_else_is_decided"),
    (LEDGER, "Sent again with the same id it gets the same answer and is paid once",
     "queries/test_service.py", "test_a_question_under_an_id_has_one_answer"),
    (LEDGER, "An id that was used for another question is refused.", "queries/test_service.py",
     "test_an_id_is_for_one_question"),
    (LEDGER, "A request has ten seconds to arrive as a whole", "queries/test_listening.py",
     "test_a_request_that_drips_ends_in_time"),
    (LEDGER, "One more ends the oldest that has not said yet what it wants.",
     "queries/test_listening.py", "test_silent_connections_do_not_keep_others_out"),
    (LEDGER, "Of one analyst at most eight requests are under way at a time",
     "queries/test_service.py", "test_one_analyst_cannot_occupy_the_service"),
    (LEDGER, "asking for each value of an attribute ends after half a minute",
     "queries/test_service.py", "test_each_value_ends_in_time_and_goes_on_from_there"),
    (LEDGER, "the account notices when it is put back itself", "releasing/test_account.py",
     "test_attack_an_older_copy_is_put_back"),
    (LEDGER, "it holds a fingerprint of the exact counts", "queries/test_ledger.py",
     "test_ledger_keeps_no_exact_count"),
    (LEDGER, "an answer that follows from earlier ones is derived and costs nobody anything",
     "queries/test_service.py", "test_two_analysts_have_budgets_of_their_own"),
    (LEDGER, "so a restart forgets nothing", "queries/test_service.py",
     "test_a_restart_forgets_nothing"),
    (LEDGER, "two services at once give nobody more", "queries/test_service.py",
     "test_two_services_at_once_do_not_both_see_the_same_budget"),
    (LEDGER, "An empty file is no ledger", "commands/test_ask.py",
     "test_a_ledger_cut_to_nothing_is_no_new_budget"),
    (TABLE, "put back from a backup is noticed when the account is next opened",
     "queries/test_paying.py",
     "test_what_a_crash_left_unwitnessed_is_witnessed_before_it_is_told"),
    (LEDGER, "on a Unix socket that its owner alone may open", "queries/test_listening.py",
     "test_over_a_unix_socket"),
    (LEDGER, "A question that is rejected names an interval that is still affordable",
     "commands/test_ask.py", "test_the_shortest_affordable_interval_is_affordable"),
    (HAZARDS, "whoever guesses all of them can see that the guess is right",
     "queries/test_ledger.py", "test_a_guess_of_all_counts_is_confirmed_by_the_fingerprint"),
    (HAZARDS, "Whoever can put back the account *and* the folder of keys",
     "releasing/test_account.py", "test_attack_both_places_are_rolled_back_and_a_receipt_tells"),
    (HAZARDS, "A copy that was sorted otherwise", "releasing/test_account.py",
     "test_attack_a_copy_in_another_order_has_an_account_of_its_own"),
    (TABLE, "where the release and its", "releasing/test_account.py",
     "test_a_budget_chosen_from_the_first_release_is_within_the_largest_sum"),
    (TABLE, "an account that was deleted", "releasing/test_account.py",
     "test_attack_the_account_is_deleted"),
    (TABLE, "put back from a backup is noticed when the account is next opened",
     "releasing/test_account.py", "test_attack_an_older_copy_is_put_back"),
    (TABLE, "also notices when account and key were both put back", "releasing/test_account.py",
     "test_attack_both_places_are_rolled_back_and_a_receipt_tells"),
    (TABLE, "If the command is interrupted while it makes the account", "releasing/test_opening.py",
     "test_making_an_account_killed_at_any_step_is_mended_by_making_it_again"),
    (TABLE, "without it every plan with such a mechanism is refused before anything is drawn",
     "releasing/test_from_table.py",
     "test_a_mechanism_with_a_delta_needs_an_account_that_has_one"),
    (TABLE, "A crash anywhere loses no draw that was paid for, and never leads to a second one",
     "releasing/test_exhaustion.py",
     "test_kill_or_exhaust_at_every_step_of_extreme_releases"),
    (TABLE, "Rows that begin with `#` are not taken for remarks", "releasing/test_hostile.py",
     "test_every_row_of_a_strange_table_is_counted"),
    (TABLE, "A table that changes while it is counted is refused", "releasing/test_hostile.py",
     "test_a_table_that_changes_while_it_is_counted"),
    (TABLE, "says from which ε on a reading would have been computed",
     "releasing/test_secret_counts.py", "test_a_refusal_names_the_epsilon_that_would_do"),
    (TABLE, "run the same command again and you get the same release at no further cost",
     "releasing/test_from_table.py", "test_the_same_request_gives_the_same_draw_for_nothing"),
    (TABLE, "It never looks at the table.", "commands/test_plan.py",
     "test_the_command_compares_and_touches_nothing"),
]  # fmt: skip


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise[3])
def test_a_promise_on_a_page_has_the_test_that_shows_it(promise):
    page, words, module, name = promise
    assert words in (ROOT / page).read_text()
    tree = ast.parse((ROOT / "tests" / module).read_text())
    found = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert name in found, found


def test_no_sentence_on_the_ledger_is_without_a_test():
    section = (ROOT / LEDGER).read_text().partition("## The ledger\n")[2].partition("\n## ")[0]
    promised = [words for page, words, *_ in PROMISES if page == LEDGER and words in section]
    explained = (
        "A row is written in one transaction", "The tests kill processes",
        "The rows are chained by digests", "Restoring an old *copy*",
    )  # fmt: skip
    for sentence in section.replace("\n", " ").split(". "):
        if sentence.strip():
            known = [words for words in (*promised, *explained) if words.rstrip(".") in sentence]
            assert known, sentence
