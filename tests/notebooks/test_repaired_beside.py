"""What shows A's mechanism with a delta shows the repaired one beside it."""

from __future__ import annotations

from tests.notebooks.test_sources import NOTEBOOKS, cells, source_of

# Where the question is about the mechanism as printed, another mechanism would answer nothing.
AS_PRINTED = {
    "accuracy/a-actual-loss": "how much the mechanism of the theorem loses",
    "accuracy/a-crossovers": "sizes that the papers print",
    "accuracy/a-crossovers-prior": "priors and shares of ones that the papers speak of",
    "limits/axial-symmetry": "a lemma on the scores of this mechanism",
    "limits/dilation-lemma": "a lemma on the scores of this mechanism",
    "limits/in-passing": "sentences of the papers",
    "limits/sentences": "sentences of the papers",
    "limits/sliding-lemma": "a lemma on the scores of this mechanism",
    "limits/summing-to-n": "crossings that A and B print",
    "limits/theorem-a": "the theorem about this mechanism",
    "limits/theorem-a-search": "the theorem about this mechanism",
    "limits/theorem-candidates": "the theorem about this mechanism",
    "limits/theorem-hamming": "the theorem about this mechanism",
}


def named(mechanism: str) -> set[str]:
    """Return the notebooks whose cells, parameters aside, name the mechanism as a value."""
    return {
        name
        for name in NOTEBOOKS
        for cell in cells(name)
        if "parameters" not in cell["metadata"].get("tags", ())
        if f'"{mechanism}' in source_of(cell)
    } | {
        name
        for name in NOTEBOOKS
        for line in source_of(cells(name)[0]).splitlines()
        if f'"{mechanism}"' in line.partition("#")[0]
    }


def test_the_repaired_mechanism_stands_beside_the_one_it_repairs() -> None:
    printed, repaired = named("expMech-delta"), named("expMech-repaired")
    assert len(printed) > 40
    assert printed - repaired == set(AS_PRINTED)
