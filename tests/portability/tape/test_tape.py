from __future__ import annotations

import dataclasses
import os
import tracemalloc
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.tape import tape as tape_module
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, CudaProgram, Launch, Problem
from pytest_gpumatrix.portability.tape.tape import (
    SCHEMA,
    End,
    Header,
    Tape,
    TapeWriter,
    iter_tape,
    merge_tapes,
    read_tape,
    write_tape,
)

HEADER = Header(schema=SCHEMA, rootdir="/project", sys_path=("/project",), capability="9.0")
PROBLEM = Problem(test="b", message="a launch of store: OSError")


def launch(test: str, source: str = "kernel", *, raised: bool = False) -> Launch:
    program = CudaProgram(
        name="kernel",
        source=source,
        code_type="c++",
        target_type="cubin",
        arch="sm_90",
        follows_device=False,
        options={},
    )
    return Launch(test=test, kernel=program, raised=raised)


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    path = tmp_path / "launches.tape.jsonl"
    with TapeWriter(path, HEADER) as writer:
        writer.write(launch("a"))
        writer.write(PROBLEM)
    return path


def test_what_is_written_is_read(tape: Path) -> None:
    assert read_tape(tape) == Tape(header=HEADER, launches=(launch("a"),), problems=(PROBLEM,))


def test_each_line_is_there_as_soon_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    with TapeWriter(path, HEADER) as writer:
        writer.write(launch("a"))
        assert read_tape(path).launches == (launch("a"),)


def test_a_tape_is_never_written_over(tape: Path) -> None:
    before = tape.read_bytes()
    with pytest.raises(GpuMatrixError, match=r"launches\.tape\.jsonl: cannot write the tape: File exists"):
        TapeWriter(tape, HEADER)
    assert tape.read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_told_when_the_tape_is_closed(tape: Path) -> None:
    writer = TapeWriter(tape.with_name("other"), HEADER)
    writer._file.close()
    with Path("/dev/full").open("wb", buffering=0) as full:
        writer._file = full
        with pytest.raises(OSError, match="No space left"):
            writer.write(launch("a"))
    with pytest.raises(GpuMatrixError, match=r"the tape is not whole: \[Errno 28\] No space left"):
        writer.close()


def test_a_last_line_that_is_cut_off_is_left_out_and_noted(tape: Path) -> None:
    lines = tape.read_bytes().splitlines(keepends=True)
    tape.write_bytes(b"".join(lines[:3])[:-10])
    assert read_tape(tape) == Tape(header=HEADER, launches=(launch("a"),), problems=(), cut_off=True)


@pytest.mark.parametrize("kept", [[0], [0, 1], [0, 1, 2], [0, 2, 3], [0, 1, 1, 2, 3], [0, 1, 2, 3, 2], [0, 3]])
def test_a_tape_without_its_end_or_all_of_its_lines_is_cut_off(tape: Path, kept: list[int]) -> None:
    """Cut at a line's end, or out of its middle: each line that there is may be whole."""
    lines = tape.read_bytes().splitlines(keepends=True)
    tape.write_bytes(b"".join(lines[number] for number in kept))
    assert read_tape(tape).cut_off


def test_a_tape_whose_writer_was_left_by_an_error_has_no_end(tmp_path: Path) -> None:
    with pytest.raises(KeyError), TapeWriter(tmp_path / "tape", HEADER):
        raise KeyError
    assert read_tape(tmp_path / "tape").cut_off


def test_what_a_forked_process_writes_belongs_to_the_tape(tmp_path: Path) -> None:
    with TapeWriter(tmp_path / "tape", HEADER) as writer:
        child = os.fork()
        if child == 0:
            writer.write(launch("child"))
            os._exit(0)
        os.waitpid(child, 0)
        writer.write(launch("parent"))
    assert read_tape(tmp_path / "tape") == Tape(
        header=HEADER, launches=(launch("child"), launch("parent")), problems=()
    )


SHAPE = {"kernel": "k", "block": [1, 1, 1], "grid": [1, 1, 1], "dynamic_shared_memory": 0}


@pytest.mark.parametrize("number", [-1, -5, -(10**30), 2**63, 10**40])
@pytest.mark.parametrize("field", ["block", "grid", "cluster", "dynamic_shared_memory", "shared_memory_opt_in"])
def test_a_number_that_no_launch_has_is_a_broken_line(tape: Path, field: str, number: int) -> None:
    shape = {**SHAPE, field: [1, 1, number] if field in ("block", "grid", "cluster") else number}
    line = msgspec.to_builtins(launch("a"))
    line["kernel"]["launch"] = shape
    tape.write_bytes(msgspec.json.encode(HEADER) + b"\n" + msgspec.json.encode(line) + b"\n")
    with pytest.raises(GpuMatrixError, match=rf"jsonl:2: a broken line of the tape: Expected `int` .*{field}"):
        read_tape(tape)


def test_a_launch_that_could_not_be_read_again_is_a_problem(tmp_path: Path) -> None:
    """A test may well launch a grid of -1 blocks, for the error. The rest of its run must not be lost for it."""
    shape = CudaLaunch(kernel="k", block=(1, 1, 1), grid=(-1, 1, 1), dynamic_shared_memory=0)
    odd = msgspec.structs.replace(launch("a").kernel, launch=shape)
    with TapeWriter(tmp_path / "tape", HEADER) as writer:
        writer.write(Launch(test="a", kernel=odd))
        writer.write(Launch(test="b", kernel=launch("b").kernel, grid=(10**40,)))
    found = read_tape(tmp_path / "tape")
    assert (found.launches, found.cut_off) == ((), False)
    assert [problem.test for problem in found.problems] == ["a", "b"]
    assert found.problems[0].message.startswith("a launch of kernel: Expected `int` >= 0 - at `$.kernel.launch.grid")


def test_fields_of_a_newer_writer_are_ignored(tape: Path) -> None:
    lines = [msgspec.json.decode(line) for line in tape.read_bytes().splitlines()]
    tape.write_bytes(b"".join(msgspec.json.encode({**line, "novel": {"x": [1]}}) + b"\n" for line in lines))
    assert read_tape(tape) == Tape(header=HEADER, launches=(launch("a"),), problems=(PROBLEM,))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a tape, but a file whose first line is no header: a tape is launches.tape.jsonl"),
        (b"<xml/>\n", "not a tape, but a file whose first line is no header"),
        (b"[1]\n", "not a tape, but a file whose first line is no header"),
        (b'{"record":"header"}\n', "not a tape, but "),
        (b'{"record":"launch"}\n', "not a tape, but JSON lines that begin with a record 'launch'"),
        (b'{"event":"session","device":"h100","schema":1}\n', "not a tape, but a journal: a tape is launches.tape"),
        (b'{"event":"start","test":"t"}\n', "not a tape, but JSON lines that begin with an event 'start'"),
        (b'{"schema":4,"preset":"h200"}\n', "not a tape, but a file whose first line is no header"),
        (b'{"record":"header","schema":3}\n', "a tape of schema 3; this gpumatrix reads schema 4: record it again"),
        (b'{"record":"header","schema":5}\n', "a tape of schema 5; .* reads schema 4: it comes from a newer one"),
        (b'{"record":"header","schema":4}\n', "1: a broken line of the tape: .*rootdir"),
        (b'{"record":"header","record":"launch","schema":4}\n', "not a tape, but "),
        (b"HEADER\n{}\n", "2: a broken line of the tape: .*record"),
        (b'HEADER\n{"record":"song"}\n', "2: a line of kind 'song', which .* does not know: .* a newer one"),
        (
            b'HEADER\n{"record":"launch","test":"t","kernel":{"kind":"tile","x":[]}}\n',
            "2: a kernel of kind 'tile', which this gpumatrix does not know: the tape may come from a newer one",
        ),
        (b'HEADER\n{"record":"launch","test":1}\n', "2: a broken line of the tape: "),
        (b"HEADER\nHEADER\n", "2: a second header"),
        (b'HEADER\n{"record":"problem","test":' + b"[" * 100_000 + b"\n", "2: a broken line of the tape: "),
        (b"HEADER", "not a tape, but a file whose first line is no header"),
    ],
)
def test_what_is_no_tape_is_refused_with_its_place(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "tape"
    path.write_bytes(content.replace(b"HEADER", msgspec.json.encode(HEADER)))
    with pytest.raises(GpuMatrixError, match=message) as caught:
        read_tape(path)
    assert str(caught.value).startswith(str(path))


def test_a_tape_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(GpuMatrixError, match="cannot read the tape: No such file"):
        read_tape(tmp_path / "tape")


def test_a_tape_is_read_line_by_line(tape: Path) -> None:
    header, lines = iter_tape(tape)
    assert header == HEADER
    with tape.open("ab") as file:
        file.write(b"broken\n")
    assert [next(lines), next(lines)] == [launch("a"), PROBLEM]
    with pytest.raises(GpuMatrixError, match=r"launches\.tape\.jsonl:5: a broken line"):
        next(lines)


def test_whether_a_tape_is_cut_off_is_known_at_its_end(tape: Path) -> None:
    tape.write_bytes(tape.read_bytes() + b'{"record":"laun')
    _, lines = iter_tape(tape)
    assert list(lines) == [launch("a"), PROBLEM]
    assert lines.cut_off
    assert list(lines) == []
    assert lines.cut_off


def test_memory_stays_flat_over_50_000_launches(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    line = msgspec.json.encode(launch("a", "x" * 1000)) + b"\n"
    path.write_bytes(msgspec.json.encode(HEADER) + b"\n" + line * 50_000)  # 60 MB
    tracemalloc.start()
    try:
        _, lines = iter_tape(path)
        count = sum(1 for _ in lines)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 50_000
    assert peak < 1 << 20


def test_a_huge_line_is_refused_before_it_is_held(tape: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape_module, "LONGEST_LINE", 1 << 20)
    tape.write_bytes(tape.read_bytes() + b"x" * (8 << 20))
    _, lines = iter_tape(tape)
    assert [next(lines), next(lines)] == [launch("a"), PROBLEM]
    tracemalloc.start()
    try:
        with pytest.raises(GpuMatrixError, match=r"launches\.tape\.jsonl:5: a line of more than 1 MiB"):
            list(lines)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20


@given(st.binary(max_size=200))
def test_hostile_content_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.jsonl"
    path.write_bytes(msgspec.json.encode(HEADER) + b"\n" + content)
    try:
        read_tape(path)
    except GpuMatrixError as error:
        assert str(path) in str(error)  # noqa: PT017 - either is right


def test_merged_tapes_have_each_line_once(tmp_path: Path) -> None:
    other = msgspec.structs.replace(HEADER, sys_path=("/project", "/elsewhere"))
    merged = merge_tapes(
        [
            Tape(header=HEADER, launches=(launch("a"), launch("b")), problems=(PROBLEM,)),
            Tape(
                header=other,
                launches=(launch("b"), launch("b", "another"), launch("b", raised=True)),
                problems=(PROBLEM,),
                cut_off=True,
            ),
        ]
    )
    assert merged == Tape(
        header=other,
        launches=(launch("a"), launch("b"), launch("b", "another"), launch("b", raised=True)),
        problems=(PROBLEM,),
        cut_off=True,
    )
    write_tape(tmp_path / "tape", merged)
    assert read_tape(tmp_path / "tape") == merged  # still cut off
    whole = dataclasses.replace(merged, cut_off=False)
    write_tape(tmp_path / "tape", whole)
    assert read_tape(tmp_path / "tape") == whole
    assert (tmp_path / "tape").read_bytes().endswith(msgspec.json.encode(End(lines=6)) + b"\n")
