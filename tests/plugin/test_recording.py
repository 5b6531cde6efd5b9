"""What a --gpu-matrix run leaves, whatever befalls it: nothing is lost, and nothing lost is green."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pytest_gpumatrix.portability.compiling.machine import cache_folder
from tests.project import Project

MIXED = """
import pytest

@pytest.mark.gpu(">=9.0")
def test_gpu(gpu, gpu_metric):
    gpu_metric("loss", 2.5, "nats")

def test_plain(): ...
def test_fails(): assert 1 == 2
@pytest.mark.skip(reason="later")
def test_skipped(): ...
@pytest.mark.xfail(reason="known")
def test_xfails(): assert False
@pytest.mark.xfail(reason="known")
def test_xpasses(): ...
@pytest.mark.xfail(reason="known", strict=True)
def test_xpasses_strictly(): ...
@pytest.fixture
def broken(): raise ValueError("setup")
def test_errs(broken): ...
@pytest.fixture
def leaky():
    yield
    raise ValueError("teardown")
def test_leaks(leaky): ...
"""

OUTCOMES = {
    "test_gpu": "passed",
    "test_plain": "passed",
    "test_fails": "failed",
    "test_skipped": "skipped",
    "test_xfails": "xfailed",
    "test_xpasses": "xpassed",
    "test_xpasses_strictly": "xpassed",
    "test_errs": "error",
    "test_leaks": "error",
}


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_every_outcome_is_recorded(project: Project, workers: tuple[str, ...]) -> None:
    result = project.matrix().tests(MIXED).on("h100").recorded(*workers)
    assert result.ret == 1
    assert project.outcomes("h100") == OUTCOMES
    cell = project.cells("h100")["test_gpu"]
    assert cell.requirement == "gpu('>=9.0')"
    assert [(metric.name, metric.value, metric.unit) for metric in cell.metrics] == [("loss", 2.5, "nats")]
    cause = project.cells("h100")["test_fails"].cause
    assert cause is not None
    assert cause.category.value == "genuine_failure"


def test_the_journal_alone_tells_the_same(project: Project) -> None:
    project.matrix().tests(MIXED).on("h100").recorded()
    (project.path / "out" / "h100.native.xml").unlink()
    assert project.outcomes("h100") == OUTCOMES


def test_facts_of_the_session(project: Project) -> None:
    run_git(project.path, "init", "-q")
    run_git(project.path, "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "--allow-empty", "-m", "c")
    project.matrix().tests("def test_a(): ...").on("h100").recorded()
    text = (project.path / "out" / "h100.native.xml").read_text()
    commit = run_git(project.path, "rev-parse", "HEAD")
    for name, value in {
        "gpu_name": "NVIDIA H100 80GB HBM3",
        "gpu_uuid": "GPU-00000000-0000-0000-0000-000000000000",
        "gpu_compute_capability": "9.0",
        "driver_version": "580.159.04",
        "commit": commit,
        "version_pytest": pytest.__version__,
    }.items():
        assert f'<property name="{name}" value="{value}" />' in text


def run_git(path: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(path), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_the_header_names_the_device(project: Project) -> None:
    result = project.matrix().tests("def test_a(): ...").on("h100").run("--gpu-matrix")
    result.stdout.fnmatch_lines(
        [
            "gpumatrix: h100 = NVIDIA H100 80GB HBM3 (9.0, 79.65 GiB, GPU-00000000-*), driver 580.159.04",
            "gpumatrix: compiled for rtx3090 (RTX 3090)",
        ]
    )


def test_the_header_has_torch_only_if_it_is_loaded(project: Project) -> None:
    project.matrix().tests("def test_a(): ...")
    project.run("--gpu-matrix").stdout.no_fnmatch_line("torch *")
    project.pytester.makeconftest(
        "import sys, types\nsys.modules['torch'] = t = types.ModuleType('torch')\n"
        "t.__version__ = '9.9'\nt._C = types.SimpleNamespace(_cuda_getArchFlags=lambda: 'sm_90')"
    )
    project.run("--gpu-matrix").stdout.fnmatch_lines(["torch 9.9, built for sm_90"])


class TestNothingIsLost:
    def test_a_subtest_that_fails(self, project: Project) -> None:
        source = """
import unittest
class TestA(unittest.TestCase):
    def test_sub(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)
"""
        for workers in ((), ("-n", "2")):
            assert project.tests(source).recorded(*workers).ret == 1
            assert project.outcomes("cpu") == {"TestA::test_sub": "failed"}

    @pytest.mark.parametrize("value", ["object()", "'much'", "float('nan')", "None"])
    def test_a_metric_that_is_no_number(self, project: Project, value: str) -> None:
        source = f"def test_metric(gpu_metric):\n    gpu_metric('loss', {value}, 'nats')\ndef test_other(): ..."
        result = project.tests(source).recorded("-n", "2")
        assert result.ret == 1
        assert project.outcomes("cpu") == {"test_metric": "failed", "test_other": "passed"}
        result.stdout.fnmatch_lines(["*gpu_metric 'loss': *"])

    def test_a_property_that_cannot_be_sent(self, project: Project) -> None:
        """Pytest's own record_property: the worker dies of it, and xdist alone would end with exit code 0."""
        source = "def test_property(record_property):\n    record_property('p', object())\n"
        source += "\n".join(f"def test_{i}(): ..." for i in range(4))
        result = project.tests(source).recorded("-n", "2")
        assert result.ret != 0  # 3 where xdist finds no worker left
        outcomes = project.outcomes("cpu")
        assert len(outcomes) == 5
        assert outcomes["test_property"] in ("crashed", "unknown")
        assert project.report("out")[0] != 0

    @pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
    def test_a_message_that_is_no_text(
        self, project: Project, workers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PYTHONIOENCODING", "utf-8:backslashreplace")
        source = 'import os\ndef test_name(): raise FileNotFoundError(os.fsdecode(b"caf\\xe9"))\ndef test_other(): ...'
        assert project.tests(source).recorded(*workers).ret == 1
        assert project.outcomes("cpu")["test_other"] == "passed"
        assert project.outcomes("cpu")["test_name"] in ("failed", "crashed")  # xdist itself dies of it
        if not workers:
            assert "caf\\udce9" in project.cells("cpu")["test_name"].message

    def test_an_exit_code_that_hides_a_failure(self, project: Project) -> None:
        source = "import pytest\ndef test_a(): assert False\ndef test_b(): pytest.exit('done', returncode=0)"
        assert project.tests(source).recorded().ret == 1

    def test_an_exit_code_that_no_test_explains(self, project: Project) -> None:
        """As a plugin that holds coverage against a limit ends a run."""
        project.pytester.makeconftest("def pytest_sessionfinish(session): session.testsfailed = 0")
        project.pytester.makeconftest(
            "import pytest\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtestloop(session):\n"
            "    answer = yield\n    session.testsfailed += 1\n    return answer"
        )
        assert project.tests("def test_a(): ...").recorded().ret == 1
        code, report = project.report("out")
        assert code == 1
        assert [change["test"] for change in report["changes"]] == ["pytest"]

    @pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
    @pytest.mark.parametrize(
        ("hook", "report"),
        [
            ("raise RuntimeError('late')", 3),
            ("os._exit(1)", 3),
            ("session.exitstatus = 1", 1),
        ],
        ids=["raises", "dies", "sets a code"],
    )
    def test_a_session_that_goes_wrong_after_its_last_test(
        self, project: Project, hook: str, report: int, workers: tuple[str, ...]
    ) -> None:
        controller = "if not hasattr(session.config, 'workerinput')"
        project.pytester.makeconftest(f"import os\ndef pytest_sessionfinish(session):\n    {controller}: {hook}")
        project.matrix("version: 1\ndevices: {h100: {profile: h100-sxm}}\n").tests("def test_a(): ...")
        assert project.on("h100").recorded(*workers).ret != 0
        assert project.report("out")[0] == report

    def test_an_exit_code_that_is_set_to_zero(self, project: Project) -> None:
        project.pytester.makeconftest("def pytest_sessionfinish(session): session.exitstatus = 0")
        assert project.tests("def test_a(): assert False").recorded().ret == 1

    def test_workers_that_die_before_any_test_end_the_run(self, project: Project) -> None:
        result = project.tests("import os\nif 'PYTEST_XDIST_WORKER' in os.environ: os._exit(1)").recorded("-n", "2")
        assert result.ret == 1
        assert "xdist workers died, outside of any test" in result.stdout.str() + result.stderr.str()

    def test_a_worker_that_dies(self, project: Project) -> None:
        source = (
            "import os\n" + "\n".join(f"def test_dies_{i}(): os._exit(1)" for i in range(6)) + "\ndef test_good(): ..."
        )
        result = project.tests(source).recorded("-n", "1")
        assert result.ret == 1
        outcomes = project.outcomes("cpu")
        assert outcomes.pop("test_good") == "passed"
        assert set(outcomes.values()) == {"crashed"}
        assert len(outcomes) == 6

    def test_a_process_that_dies(self, project: Project) -> None:
        source = "import os\ndef test_a(): ...\ndef test_dies(): os._exit(7)\ndef test_never(): ..."
        result = project.tests(source).recorded()
        assert result.ret == 7
        assert project.outcomes("cpu") == {"test_a": "passed", "test_dies": "crashed", "test_never": "unknown"}

    def test_a_result_of_an_earlier_run_does_not_hide_a_crash(self, project: Project) -> None:
        project.tests("def test_a(): ...").recorded()
        project.tests("import os\ndef test_a(): os._exit(7)").recorded()
        assert project.outcomes("cpu") == {"test_a": "crashed"}

    def test_a_run_that_stops_at_a_failure(self, project: Project) -> None:
        source = "def test_a(): ...\ndef test_b(): assert False\ndef test_c(): ..."
        assert project.tests(source).recorded("-x").ret == 1
        assert project.outcomes("cpu") == {"test_a": "passed", "test_b": "failed", "test_c": "not-run"}
        assert "stopping after 1 failures" in project.cells("cpu")["test_c"].message

    @pytest.mark.parametrize("how", ["raise KeyboardInterrupt", "pytest.exit('enough')"])
    def test_an_interrupted_run_blames_no_test(self, project: Project, how: str) -> None:
        source = f"import pytest\ndef test_a(): ...\ndef test_b(): {how}\ndef test_c(): ..."
        assert project.tests(source).recorded().ret == 2
        assert project.outcomes("cpu") == {"test_a": "passed", "test_b": "unknown", "test_c": "unknown"}
        assert "interrupted while it ran" in project.cells("cpu")["test_b"].message
        assert project.report("out")[0] == 3

    def test_an_internal_error_leaves_the_rest_unknown(self, project: Project) -> None:
        project.pytester.makeconftest(
            "def pytest_runtest_teardown(item):\n    if item.name == 'test_b': raise SystemExit(9)"
            "\ndef pytest_runtest_logreport(report):\n    if 'test_b' in report.nodeid: 1 / 0"
        )
        project.tests("def test_a(): ...\ndef test_b(): ...\ndef test_c(): ...").recorded()
        outcomes = project.outcomes("cpu")
        assert outcomes["test_a"] == "passed"
        assert outcomes["test_b"] in ("crashed", "unknown")
        assert outcomes["test_c"] == "unknown"


class TestBesideOtherOptions:
    SOURCE = "def test_a(): ...\ndef test_b(): assert False"

    @pytest.mark.parametrize(
        "arguments",
        [
            ("-p", "no:terminal"),
            ("-W", "error"),
            ("--import-mode=importlib",),
            ("-p", "no:xdist"),
            ("-n", "0"),
            ("-q", "-q"),
            ("--tb=no",),
            ("--tb=native",),
            ("--color=yes",),
        ],
        ids=" ".join,
    )
    def test_the_record_is_the_same(self, project: Project, arguments: tuple[str, ...]) -> None:
        assert project.tests(self.SOURCE).recorded(*arguments).ret == 1
        assert project.outcomes("cpu") == {"test_a": "passed", "test_b": "failed"}

    def test_last_failed(self, project: Project) -> None:
        project.tests(self.SOURCE)
        run = project.pytester.runpytest_subprocess
        run()
        assert run("--lf", "--gpu-matrix", "--gpu-matrix-out=out").ret == 1
        assert project.outcomes("cpu") == {"test_b": "failed"}

    @pytest.mark.parametrize("option", ["--co", "--setup-plan", "--setup-only", "--fixtures", "--fixtures-per-test"])
    def test_what_runs_no_test_writes_nothing(self, project: Project, option: str) -> None:
        result = project.tests(self.SOURCE).recorded(option)
        assert result.ret == 0
        assert list((project.path / "out").iterdir()) == []

    def test_reruns(self, project: Project) -> None:
        """As pytest-rerunfailures reports them."""
        project.pytester.makeconftest(
            "import pytest\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_logreport(report):\n"
            "    if report.when == 'call' and report.nodeid.endswith('test_b'): report.outcome = 'rerun'\n"
            "    return (yield)"
        )
        project.tests(self.SOURCE).recorded()
        assert project.cells("cpu")["test_b"].reruns == 1


class TestBadInput:
    def test_an_output_folder_that_cannot_be_written(self, project: Project) -> None:
        (project.path / "out").write_text("a file")
        result = project.tests("def test_a(): ...").recorded()
        assert result.ret == 4
        result.stderr.fnmatch_lines(["*--gpu-matrix-out: cannot write to *out: *"])
        assert (project.path / "out").read_text() == "a file"

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("--gpu-matrix", "--gpu-devices=h1000"), "*no device 'h1000' in *gpumatrix.yml (h100, rtx3090)*"),
            (("--gpu-devices=h100",), "*--gpu-devices is part of the matrix: add --gpu-matrix*"),
            (("--gpu-matrix", "--gpu-native"), "*--gpu-native takes exactly one device*"),
        ],
    )
    def test_a_wrong_option(self, project: Project, arguments: tuple[str, ...], said: str) -> None:
        result = project.matrix().tests("def test_a(): ...").run(*arguments)
        assert result.ret == 4
        result.stderr.fnmatch_lines([said])

    def test_a_malformed_file(self, project: Project) -> None:
        result = project.matrix("version: 1\ndevices: {h100: {profil: h100-sxm}}").tests("def test_a(): ...").recorded()
        assert result.ret == 4
        result.stderr.fnmatch_lines(["*gpumatrix.yml:2*unknown key 'profil'*"])

    def test_two_runs_at_once_into_one_folder(self, project: Project) -> None:
        source = """
import subprocess, sys
def test_other_run():
    options = ["-p", "no:cacheprovider", "--gpu-matrix", "--gpu-matrix-out=out", "-k", "no"]
    command = [sys.executable, "-m", "pytest", *options]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 4
    assert "another run is writing it" in answer.stderr
def test_no(): ...
"""
        assert project.tests(source).recorded().ret == 0
        assert project.outcomes("cpu") == {"test_other_run": "passed", "test_no": "passed"}

    def test_an_interpreter_on_a_gpu(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TRITON_INTERPRET", "1")
        result = project.matrix().tests("def test_a(): ...").on("h100").recorded()
        assert result.ret == 4
        result.stderr.fnmatch_lines(["*TRITON_INTERPRET is set on a machine with a GPU (NVIDIA H100 80GB HBM3)*"])

    def test_a_user_without_a_home(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        fallback = project.path / "fallback"
        assert cache_folder({"GPUMATRIX_CACHE_DIR": "own", "XDG_CACHE_HOME": "xdg"}, fallback) == Path("own")
        assert cache_folder({"XDG_CACHE_HOME": "xdg"}, fallback) == Path("xdg/gpumatrix")
        assert cache_folder({}, fallback).name == "gpumatrix"

        def no_home() -> Path:
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.setattr(Path, "home", no_home)
        assert cache_folder({}, fallback) == fallback


class TestNative:
    def test_the_named_device_is_here(self, project: Project) -> None:
        project.matrix().tests("def test_a(): ...").on("h100")
        assert project.recorded("--gpu-devices=h100", "--gpu-native").ret == 0
        assert {entry.name for entry in (project.path / "out").iterdir()} >= {"h100.native.xml", "h100.native.jsonl"}

    @pytest.mark.parametrize(
        ("gpus", "said"),
        [
            ((), "*h100 (H100 SXM) is not here: no NVIDIA driver*"),
            (("rtx3090",), "*h100 is not here: the first GPU is*"),
        ],
    )
    def test_it_is_not(self, project: Project, gpus: tuple[str, ...], said: str) -> None:
        result = project.matrix().tests("def test_a(): ...").on(*gpus).recorded("--gpu-devices=h100", "--gpu-native")
        assert result.ret == 3
        result.stderr.fnmatch_lines([said])
        assert not (project.path / "out").exists()

    def test_another_card_is_a_column_of_its_own(self, project: Project) -> None:
        result = project.matrix().tests("def test_a(): ...").on("h200").recorded()
        result.stdout.fnmatch_lines(["gpumatrix: note: NVIDIA H200 is none of the matrix's devices*"])
        assert project.outcomes("h200") == {"test_a": "passed"}


def test_a_plain_session_pays_nothing(project: Project) -> None:
    """No session/, no msgspec, no NVML where no test is marked and nothing is asked for."""
    project.pytester.makeconftest(
        "import sys\ndef pytest_unconfigure():\n"
        "    ours = ('pytest_gpumatrix.', 'msgspec', 'pynvml')\n"
        "    print('LOADED', sorted(name for name in sys.modules if name.startswith(ours)))"
    )
    result = project.tests("def test_a(): ...").run()
    result.stdout.fnmatch_lines(["LOADED *'pytest_gpumatrix.plugin'*"])
    line = next(line for line in result.outlines if line.startswith("LOADED"))
    assert json.loads(line.removeprefix("LOADED ").replace("'", '"')) == ["pytest_gpumatrix.plugin"]
