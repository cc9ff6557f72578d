"""A process that runs notebooks as told: progress, one outcome each, and no end at a failure."""

from __future__ import annotations

import io
import json

from dpbayes.press import worker
from dpbayes.press.jobs import Job, NotebookFailure


def order(name: str) -> str:
    return json.dumps({"name": name, "notebook": "x.ipynb", "values": {}, "stage": "stage"}) + "\n"


def test_each_order_is_answered_whatever_happened_to_the_one_before() -> None:
    def run(job: Job, progress) -> None:
        progress(1, 2)
        if job.name == "broken":
            raise NotebookFailure("broken: cell 2")
        if job.name == "lost":
            raise RuntimeError("the kernel died")

    answers = io.StringIO()
    orders = io.StringIO("".join(map(order, ["fine", "broken", "lost", "fine"])))
    worker.serve(orders, answers, run)
    said = [json.loads(line) for line in answers.getvalue().splitlines()]
    assert [one for one in said if "cell" not in one] == [
        {"done": True},
        {"failure": "broken: cell 2"},
        {"failure": "lost: RuntimeError: the kernel died"},
        {"done": True},
    ]
    assert [one for one in said if "cell" in one] == 4 * [{"cell": 1, "of": 2}]


def test_answers_leave_at_once() -> None:
    seen: list[int] = []

    class Watched(io.StringIO):
        def flush(self) -> None:
            seen.append(len(self.getvalue().splitlines()))

    worker.serve(io.StringIO(order("fine")), Watched(), lambda job, progress: progress(1, 1))
    assert seen == [1, 2]
