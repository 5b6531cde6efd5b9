"""What a run says when it ends, beside its matrix."""

from __future__ import annotations

import pytest

from tests.project import Project

GPU_TEST = "import pytest\n\n@pytest.mark.gpu\ndef test_a(gpu): ...\n"


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_file_that_cannot_be_collected_is_red_by_its_name(project: Project, workers: tuple[str, ...]) -> None:
    (project.path / "test_broken.py").write_text("import nowhere_at_all\n")
    result = project.matrix().tests("def test_a(): ...").on("h100").recorded("--gpu-devices=h100", *workers)
    assert result.ret != 0
    code, report = project.report("out")
    assert code == 1
    broken = next(change for change in report["changes"] if change["test"] == "test_broken.py")
    assert broken["red"]
    assert broken["devices"]["h100"]["outcome"] == "error"
    assert "No module named 'nowhere_at_all'" in broken["devices"]["h100"]["message"]


def test_where_every_gpu_test_was_skipped_the_way_out_is_named(project: Project) -> None:
    result = project.matrix().tests(GPU_TEST).run("--gpu-matrix")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "gpumatrix: 1 of 1 gpu tests launched nothing*gpu(interpret=True)*gpu_interpret = true*cuda.core.Program*",
            "gpumatrix: every test that ran passed; a report would say: incomplete: h100, rtx3090 missing",
        ]
    )


def test_the_missing_line_names_what_would_take_weaker_evidence(project: Project) -> None:
    source = '@pytest.mark.gpu(">=9.0")\ndef test_b(): ...'
    result = project.matrix().tests(f"import pytest\n{source}").run("--gpu-matrix")
    assert "`require: compiled` would take them" in " ".join(result.stdout.str().split())


def test_a_green_run_has_no_such_lines(project: Project) -> None:
    result = project.matrix().tests(GPU_TEST).on("h100").run("--gpu-matrix", "--gpu-devices=h100")
    result.stdout.no_fnmatch_line("*launched nothing*")
    result.stdout.no_fnmatch_line("*a report would say*")


def test_results_of_another_run_in_the_folder_are_named(project: Project) -> None:
    project.matrix().tests(GPU_TEST).on("h100").recorded("--gpu-devices=h100")
    result = project.on("rtx3090").recorded("--gpu-devices=rtx3090")
    result.stdout.fnmatch_lines(["gpumatrix: * also holds results of another run (h100.native.xml)*"])


def test_tests_that_no_device_may_run_are_named(project: Project) -> None:
    source = 'import pytest\n\n@pytest.mark.gpu(">=10.0")\ndef test_blackwell(): ...\n'
    result = project.matrix().tests(source).on("h100").run("--gpu-matrix")
    result.stdout.fnmatch_lines(["warning: no device of the matrix may run test_it.py::test_blackwell"])


def test_ten_thousand_tests_fit(project: Project) -> None:
    source = 'import pytest\n\n@pytest.mark.parametrize("n", range(10_000))\ndef test_n(n): assert n % 1000\n'
    result = project.matrix().tests(source).on("h100").run("--gpu-matrix", "-q", "--tb=no", "--gpu-devices=h100")
    start = next(number for number, line in enumerate(result.outlines) if "GPU matrix" in line)
    end = next(number for number, line in enumerate(result.outlines) if "short test summary" in line)
    matrix = result.outlines[start + 1 : end]
    assert len(matrix) < 40
    assert max(map(len, matrix)) <= 80
    assert any("9,990 passed" in line and "10 failed" in line for line in matrix)


def test_compiled_results_of_an_earlier_run_do_not_outlive_its_tape(project: Project) -> None:
    project.matrix().tests(GPU_TEST).on("h100").recorded()
    assert (project.path / "out" / "rtx3090.compiled.xml").exists()
    project.recorded("--gpu-devices=h100")
    assert not (project.path / "out" / "rtx3090.compiled.xml").exists()
