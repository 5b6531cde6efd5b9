"""Random cells, for tests that write and read them."""

from __future__ import annotations

from hypothesis import strategies as st

from pytest_gpumatrix.record.cell import Cell, Metric, Place
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing
from pytest_gpumatrix.triage.cause import Action, Category, Cause, Confidence

# What XML 1.0 can hold: neither surrogates nor control characters.
CHARACTERS = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff") | st.sampled_from(
    "\t\n\r"
)
TEXTS = st.text(CHARACTERS, max_size=40)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
CAUSES = st.builds(
    Cause,
    category=st.sampled_from(Category),
    action=st.sampled_from(Action),
    confidence=st.sampled_from(Confidence),
    advice=TEXTS,
    rule=TEXTS,
    evidence=TEXTS,
    reason=TEXTS,
    note=TEXTS,
)
METRICS = st.builds(Metric, name=TEXTS, value=NUMBERS, unit=TEXTS, better=st.sampled_from(["lower", "higher"]))
PARTS = st.text(st.sampled_from("abz_-. é"), min_size=1, max_size=8).filter(lambda part: part not in (".", ".."))
PLACES = st.builds(
    Place, file=st.lists(PARTS, min_size=1, max_size=3).map("/".join), line=st.none() | st.integers(1, 10**6)
)


@st.composite
def cells(draw: st.DrawFn) -> Cell:
    """A cell as a session could record it, whatever the code under test says."""
    outcome = draw(st.sampled_from(Outcome))
    strict = outcome is Outcome.XPASSED and draw(st.booleans())
    bad = Cell(test="", outcome=outcome, evidence=Evidence.NATIVE, strict=strict).standing is Standing.BAD
    # XML has one kind of line end, and space alone is no text.
    details = draw(TEXTS).replace("\r", "") if bad else ""
    return Cell(
        test=draw(st.text(CHARACTERS, min_size=1, max_size=40)),
        outcome=outcome,
        evidence=draw(st.sampled_from(Evidence)),
        strict=strict,
        reruns=draw(st.integers(0, 1000)),
        message=draw(TEXTS),
        details=details if details.strip() else "",
        cause=draw(CAUSES) if bad else None,
        requirement=draw(st.none() | TEXTS),
        duration=draw(st.floats(0, 1e9)),
        metrics=tuple(draw(st.lists(METRICS, max_size=3))),
        place=draw(st.none() | PLACES) if bad else None,
        slow=tuple(draw(st.lists(TEXTS, max_size=2))),
    )
