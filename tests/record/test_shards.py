"""Several files of one device: one column, and what they do not agree on."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.record.column import SessionFacts
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.results import Contradiction, read_results
from tests.record.columns import write, write_facts


def test_shards_of_one_device_merge_and_lose_nothing_bad(tmp_path: Path) -> None:
    one = write(tmp_path / "one", "h100", Evidence.NATIVE, a=Outcome.PASSED, b=Outcome.FAILED, d=Outcome.SKIPPED)
    two = write(tmp_path / "two", "h100", Evidence.NATIVE, b=Outcome.PASSED, c=Outcome.PASSED, d=Outcome.PASSED)
    results = read_results(tmp_path)
    (column,) = results.columns
    assert {test[-1]: cell.outcome.value for test, cell in column.cells.items()} == {
        "a": "passed",
        "b": "failed",
        "c": "passed",
        "d": "passed",  # a skip says nothing against a pass
    }
    assert results.contradictions == (
        Contradiction(
            test="t.py::b",
            device="h100",
            evidence=Evidence.NATIVE,
            results=((str(one), Outcome.FAILED), (str(two), Outcome.PASSED)),
        ),
    )


def test_two_cases_of_one_file_contradict_as_well(tmp_path: Path) -> None:
    path = tmp_path / "h100.xml"
    case = '<testcase classname="A" name="t"/>'
    bad = "<testcase classname='A' name='t'><failure message='x'/></testcase>"
    path.write_text(f"<testsuite>{case}{bad}{case}{bad}<testcase classname='A' name='u'/></testsuite>")
    results = read_results(tmp_path)
    assert results.columns[0].cells["A::t"].outcome is Outcome.FAILED
    (contradiction,) = results.contradictions
    assert contradiction.results == ((str(path), Outcome.FAILED), (str(path), Outcome.PASSED))


def test_pytests_attempts_are_no_contradiction(tmp_path: Path) -> None:
    case = '<testcase classname="a" name="t"'
    failure = f'{case}><failure message="x"/></testcase>'
    (tmp_path / "h100.xml").write_text(f'<testsuite name="pytest">{case}/>{case}/>{failure}</testsuite>')
    results = read_results(tmp_path)
    (cell,) = results.columns[0].cells.values()
    assert (cell.outcome, cell.reruns, results.contradictions) == (Outcome.FAILED, 2, ())


def suites(*told: tuple[str, str]) -> str:
    """A file that was merged of several, each with a suite's name and what its cases say of one test."""
    elements = {"p": "", "f": '<failure message="x"/>', "s": "<skipped/>"}
    found = ""
    for name, cases in told:
        inner = "".join(f'<testcase classname="q" name="t">{elements[letter]}</testcase>' for letter in cases)
        found += f'<testsuite name="{name}">{inner}</testsuite>'
    return f"<testsuites>{found}</testsuites>"


@pytest.mark.parametrize(
    ("told", "outcome", "reruns", "contradictions"),
    [
        ([("pytest", "p"), ("pytest", "p")], "passed", 0, 0),
        ([("pytest", "p"), ("pytest", "f")], "failed", 0, 1),
        ([("pytest", "pp"), ("pytest", "p")], "passed", 1, 0),
        ([("pytest", "p"), ("pytest", "ff")], "failed", 0, 1),
        ([("a", "ps"), ("pytest", "sf")], "failed", 0, 1),
        ([("a", "ps"), ("a", "f")], "failed", 0, 1),
    ],
)
def test_suites_of_a_merged_file_are_runs_of_their_own(
    tmp_path: Path, told: list[tuple[str, str]], outcome: str, reruns: int, contradictions: int
) -> None:
    (tmp_path / "h100.xml").write_text(suites(*told))
    results = read_results(tmp_path)
    (cell,) = results.columns[0].cells.values()
    assert (cell.outcome.value, cell.reruns, len(results.contradictions)) == (outcome, reruns, contradictions)


@given(st.lists(st.tuples(st.sampled_from(["pytest", "a"]), st.text("pfs", min_size=1, max_size=3)), max_size=4))
@settings(max_examples=150, deadline=None)
def test_no_order_of_suites_and_cases_hides_a_failure(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("merged")
    (folder / "h100.xml").write_text(suites(*told))
    outcomes = {cell.outcome for column in read_results(folder).columns for cell in column.cells.values()}
    assert (Outcome.FAILED in outcomes) == any("f" in cases for _, cases in told)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from("abc"), st.sampled_from([Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED])),
        min_size=2,
        max_size=4,
    ),
    st.randoms(),
)
def test_the_order_of_files_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, shards: list[dict[str, Outcome]], random: Random
) -> None:
    folder = tmp_path_factory.mktemp("shards")
    shuffled = random.sample(shards, len(shards))
    for order, several in (("one", shards), ("other", shuffled)):
        for number, shard in enumerate(several):
            outcomes = {"always": Outcome.PASSED} | shard
            write_facts(folder / order / str(number), "h100", Evidence.NATIVE, SessionFacts(), outcomes)
    one, other = (read_results(folder / order) for order in ("one", "other"))
    assert one.columns[0].cells == other.columns[0].cells
    assert [(found.test, found.device) for found in one.contradictions] == [
        (found.test, found.device) for found in other.contradictions
    ]
    for found in one.contradictions:
        assert found.results[0][1] is Outcome.FAILED  # the one that counts first


def test_shards_keep_the_facts_that_they_share(tmp_path: Path) -> None:
    facts = [
        SessionFacts(gpu_name="G", gpu_uuid=f"GPU-{n}", dirty=n == 1, versions={"torch": "2", "numpy": str(n)})
        for n in range(2)
    ]
    for number, fact in enumerate(facts):
        write_facts(tmp_path / str(number), "h100", Evidence.NATIVE, fact, {f"t{number}": Outcome.PASSED})
    (column,) = read_results(tmp_path).columns
    assert column.facts == SessionFacts(gpu_name="G", gpu_uuid=None, dirty=True, versions={"torch": "2"})


def test_a_shard_that_is_cut_off_leaves_the_device_missing_and_the_others_known(tmp_path: Path) -> None:
    write(tmp_path / "one", "h100", Evidence.NATIVE, a=Outcome.FAILED)
    path = write(tmp_path / "two", "h100", Evidence.NATIVE, b=Outcome.PASSED)
    path.write_bytes(path.read_bytes()[:-30])
    results = read_results(tmp_path)
    assert "cut off" in results.broken["h100"]
    assert list(results.columns[0].cells) == ["t.py::a"]
