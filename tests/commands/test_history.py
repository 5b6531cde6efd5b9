"""``gpumatrix history``: add, show and prune, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_gpumatrix.cli import main
from tests.commands.test_report import write
from tests.history.runs import add, add_outcomes, commit, histories, measured

STORE = ["--store", "history.sqlite"]
PLAIN = '<testsuite name="pytest" tests="1"><testcase classname="test_a" name="test_b" time="0.5"/></testsuite>'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def failed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command that ends with 2 says."""
    assert main(["history", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_add_and_show(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for at, outcome in ((1, "passed"), (2, "failed")):
        write(here / f"run{at}", {"h100": {"t.py::a": outcome}}, at=at)
        assert main(["history", "add", f"run{at}", *STORE, "--branch", "main"]) == 0
    assert "added 1 result of 000000000000 (h100 native)" in capsys.readouterr().err
    assert main(["history", "show", "t.py::a", *STORE]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "t.py::a"
    assert lines[1].startswith("  h100: failing since 000000000000 (")
    assert lines[2] in ("    ✓✗  the newest last", "    PF  the newest last")


def test_results_of_another_pytest_need_a_commit(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "results").mkdir()
    (here / "results" / "h100.xml").write_text(PLAIN)
    said = failed(capsys, "add", "results", *STORE)
    assert "results: not added to history.sqlite: its results do not say which commit they are of" in said
    assert not (here / "history.sqlite").exists()
    assert main(["history", "add", "results", *STORE, "--commit", commit(3)]) == 0
    assert histories(here / "history.sqlite", "test_a.py::test_b")


def test_what_was_refused_is_named_and_the_rest_is_added(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here / "results", {"h100": {"t.py::a": "passed"}})
    (here / "results" / "rtx3090.native.xml").write_text("no XML")
    assert main(["history", "add", "results", *STORE]) == 2
    err = capsys.readouterr().err
    assert "added 1 result of" in err
    assert "rtx3090.native.xml: not added: " in err


def test_show_what_fails_and_what_is_flaky(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = here / "history.sqlite"
    add_outcomes(store, "pppp", test="steady")
    add_outcomes(store, "ppff", test="broken")
    add_outcomes(store, "prpp", test="shaky", device="rtx3090")
    assert main(["history", "show", *STORE]) == 0
    out = capsys.readouterr().out
    assert "steady" not in out
    assert out.index("broken") < out.index("shaky")
    assert "flaky in 25.0% of 4 results" in out


def test_show_as_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = here / "history.sqlite"
    for day, value in ((1, 4.0), (2, 5.0)):
        add(store, day, {"h100": {"t": measured("t", value)}, "rtx3090": {"t": "failed"}})
    assert main(["history", "show", "t", *STORE, "--format", "json", "--device", "h100", "--metric", "loss"]) == 0
    found = json.loads(capsys.readouterr().out)
    past = {"outcome": "passed", "reruns": 0}
    assert found == {
        "schema": 1,
        "tests": {
            "t": {
                "h100": {
                    "failing_since": None,
                    "results": [
                        {"commit": commit(1), "time": 86400.0, **past},
                        {"commit": commit(2), "time": 172800.0, **past},
                    ],
                    "flakes": 0,
                    "flake_rate": 0.0,
                    "trends": {"loss": [{"commit": commit(1), "value": 4.0}, {"commit": commit(2), "value": 5.0}]},
                }
            }
        },
    }


def test_a_trend_in_the_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for day in range(1, 9):
        add(here / "history.sqlite", day, {"h100": {"t": measured("t", float(day))}})
    assert main(["history", "show", "t", *STORE, "--metric", "loss", "--output", "shown.txt"]) == 0
    text = (here / "shown.txt").read_text(encoding="utf-8")
    assert f"loss: 1 at {commit(1)[:12]} -> 8 at {commit(8)[:12]}  ▁▂▃▄▅▆▇█" in text
    assert "duration" not in text


def test_a_pattern_and_a_name_with_brackets(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = here / "history.sqlite"
    add(store, 1, {"h100": {"a.py::t[x]": "failed", "a.py::t[y*]": "failed", "b.py::t": "failed"}})
    for pattern, wanted in (("a.py::*", 2), ("a.py::t[y*]", 1), ("*", 3), ("a.t[[]x]", 0)):
        if not wanted:
            assert "write a node id, * stands for any text" in failed(capsys, "show", pattern, *STORE)
            continue
        assert main(["history", "show", pattern, *STORE, "--format", "json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["tests"]) == wanted


def test_hostile_names_are_shown_as_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(here / "history.sqlite", 1, {"h100": {"\x1b[31mred\r\n::error::x\u202e": "failed"}})
    assert main(["history", "show", *STORE]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "red ::error::x\\u202e"
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "--store", "none.sqlite"], "none.sqlite: cannot be read: No such file"),
        (["show", "t", "--device", "b200", *STORE], "--device b200: no results of it here; there are those of h100"),
        (["show", "nothing", *STORE], "no test 'nothing'"),
        (["prune", *STORE], "say what to keep: --keep-days N, --keep-commits N"),
        (["add", "none", *STORE], "none: no such folder"),
    ],
)
def test_a_mistake_is_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    add(here / "history.sqlite", 1, {"h100": {"t": "failed"}})
    said = failed(capsys, *arguments)
    assert words in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", "9999999"])
def test_a_limit_is_a_whole_number(here: Path, value: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["history", "prune", *STORE, f"--keep-commits={value}"])
    assert ended.value.code == 2


def test_prune(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = here / "history.sqlite"
    add_outcomes(store, "ppppp")
    assert main(["history", "prune", *STORE, "--keep-commits", "2", "--keep-days", "1"]) == 0
    assert "history.sqlite: removed 3 commits, kept 2" in capsys.readouterr().err
    assert len(histories(store, "t")["t"]["h100"].results) == 2


def test_a_store_without_the_test_says_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(here / "history.sqlite", 1, {"h100:compiled": {"t": "failed"}})
    assert main(["history", "show", "t", *STORE]) == 0
    assert capsys.readouterr().out == "the history has no native result of it\n"


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["history", "--help"])
    assert "gpumatrix history prune --store history.sqlite --keep-days 180" in capsys.readouterr().out
