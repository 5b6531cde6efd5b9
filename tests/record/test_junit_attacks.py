"""Files that attack their reader: refused by name, and nothing is fetched, expanded or inflated."""

from __future__ import annotations

import gzip
import http.server
import io
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.errors import CutOff, GpuMatrixError
from tests.record.foreign_file import no_triage, read, write  # noqa: F401 - the fixture is used by its name

pytestmark = pytest.mark.usefixtures("no_triage")
DATA = Path(__file__).parents[1] / "data" / "junit"
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
BOMB = f'<!DOCTYPE x [<!ENTITY l0 "ha">{LAUGHS}]><testsuites>&l9;</testsuites>'
QUADRATIC = f'<!DOCTYPE x [<!ENTITY a "{"x" * 50_000}">]><testsuites>{"&a;" * 50_000}</testsuites>'
PARAMETER = '<!DOCTYPE x [<!ENTITY % p SYSTEM "file:///etc/hostname"> %p;]><testsuites/>'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (BOMB, "DOCTYPE"),
        (BOMB.encode("utf-16"), "DOCTYPE"),
        (QUADRATIC, "DOCTYPE"),
        (PARAMETER, "DOCTYPE"),
        ("<!DOCTYPE testsuites><testsuites/>", "DOCTYPE"),
        ('<!DOCTYPE x SYSTEM "file:///etc/hostname"><testsuites/>', "DOCTYPE"),
        ('<!DOCTYPE x PUBLIC "-//X//EN" "file:///etc/hostname"><testsuites/>', "DOCTYPE"),
        ("<!-- " + "x" * 9_000 + " --><testsuites/>", "no root in its first 8,192 bytes"),
        ("<html></html>", "root is <html>"),
        ("<html>", "root is <html>"),
        ('<testsuites xmlns="urn:x"><testsuite/></testsuites>', "not JUnit: elements in an XML namespace"),
        ('<j:testsuites xmlns:j="urn:x"/>', "root is <j:testsuites>"),
        ('<testsuites xmlns:j="urn:x"><j:testsuite/></testsuites>', "<j:testsuite> is in an XML namespace"),
        ('<testsuite xmlns:j="u"><testcase name="t"><j:failure/></testcase></testsuite>', "<j:failure> is in"),
        ("hello", "not XML"),
        ("{}", "not XML"),
        ("<", "cut off"),
        ("<ht", "not XML"),
        ("<testsuites></testsuite>", "mismatched tag"),
        ("<testsuites/><testsuites/>", "junk after document element"),
        ("<testsuites>&undefined;</testsuites>", "undefined entity"),
        (b"<testsuites>\xff\xfe</testsuites>", "not well-formed"),
        (b'<testsuites name="\xed\xa0\x80"/>', "not well-formed"),
        (b"<testsuites>\x00</testsuites>", "not well-formed"),
        ("<testsuites>\x1b[0m</testsuites>", "not well-formed"),
        ("<testsuites>&#0;</testsuites>", "invalid character number"),
        (b'<?xml version="1.0" encoding="utf-8"?><testsuites name="\xe9"/>', "not well-formed"),
        ('<?xml version="1.0" encoding="utf-16"?><testsuites/>', "encoding"),
        ('<?xml version="1.0" encoding="klingon"?><testsuites/>', "klingon|unknown encoding"),
        ('<?xml version="1.0" encoding="zlib"?><testsuites/>', "zlib|unknown encoding"),
        ("<testsuite>" * 3000 + "</testsuite>" * 3000, "nested more than 100 deep"),
        ("<testsuite>" + "<property>" * 3000 + "</property>" * 3000 + "</testsuite>", "nested more than 100 deep"),
        ("<testsuite><testcase><testcase/></testcase></testsuite>", "a testcase in a testcase"),
        (
            '<testsuite><properties><property name="gpumatrix_device" value="rtx3090"/></properties></testsuite>',
            "says h100, its property gpumatrix_device says rtx3090",
        ),
        (
            '<testsuite><properties><property name="gpu_compute_capability" value="x"/></properties></testsuite>',
            "not a compute capability",
        ),
    ],
)
def test_what_is_no_junit_is_refused_by_name(tmp_path: Path, content: str | bytes, said: str) -> None:
    with pytest.raises((GpuMatrixError, CutOff), match=said) as error:
        read(write(tmp_path, content))
    assert "h100.native.xml" in str(error.value)


def zipped() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("h100.native.xml", b"<testsuites>" + b" " * 10_000_000 + b"</testsuites>")
    return archive.getvalue()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (gzip.compress(b"<testsuites>" + b" " * 10_000_000 + b"</testsuites>"), "gzip"),
        (zipped(), "zip"),
        (b"BZh91AY&SY", "bzip2"),
        (b"\xfd7zXZ\x00", "xz"),
        (b"\x28\xb5\x2f\xfd\x00", "zstd"),
    ],
    # Archives hold the time of their making, and each xdist worker must find the same ids.
    ids=["gzip", "zip", "bzip2", "xz", "zstd"],
)
def test_what_is_compressed_is_refused_and_never_inflated(tmp_path: Path, content: bytes, kind: str) -> None:
    with pytest.raises(GpuMatrixError, match=rf"h100\.native\.xml: refused: it is a {kind} file; unpack it"):
        read(write(tmp_path, content))


@pytest.fixture
def asked() -> Iterator[tuple[int, list[str]]]:
    """A web server: its port, and what was asked of it."""
    paths: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port, paths
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "content",
    [
        '<!DOCTYPE x SYSTEM "{url}"><testsuites/>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "{url}">]><testsuites>&a;</testsuites>',
        '<!DOCTYPE x [<!ENTITY % p SYSTEM "{url}"> %p;]><testsuites/>',
        '<testsuites><xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{url}"/></testsuites>',
        '<?xml-stylesheet href="{url}"?><testsuites/>',
    ],
)
def test_nothing_is_fetched(tmp_path: Path, asked: tuple[int, list[str]], content: str) -> None:
    port, paths = asked
    path = write(tmp_path, content.replace("{url}", f"http://127.0.0.1:{port}/x"))
    try:
        assert read(path).cells == {}
    except GpuMatrixError as error:
        assert "DOCTYPE" in str(error)  # noqa: PT017 - some of them are inert, and need not be refused
    assert paths == []


def test_xinclude_is_inert(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    include = f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file://{secret}" parse="text"/>'
    case = f'<testcase name="t"><failure>{include}</failure></testcase>'
    (cell,) = read(write(tmp_path, f"<testsuites><testsuite>{case}</testsuite></testsuites>")).cells.values()
    assert "secret" not in repr(cell)


def test_nothing_behind_a_doctype_is_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expat goes on with the piece in which a handler raised: so the pieces end where a DOCTYPE begins to declare."""
    fed: list[bytes] = []
    create = expat.ParserCreate

    class Parser:
        def __init__(self) -> None:
            self.__dict__["parser"] = create()

        def __getattr__(self, name: str) -> Any:
            if name == "Parse":
                return self.parse
            return getattr(self.parser, name)

        def parse(self, piece: bytes, final: bool) -> None:
            fed.append(piece)
            self.parser.Parse(piece, final)

        def __setattr__(self, name: str, value: object) -> None:
            setattr(self.parser, name, value)

    monkeypatch.setattr(expat, "ParserCreate", Parser)
    with pytest.raises(GpuMatrixError, match="DOCTYPE"):
        read(write(tmp_path, BOMB))
    assert b">" not in b"".join(fed)  # no declaration is whole; newer expat looks some bytes further


def test_control_characters_do_not_come_through_character_references(tmp_path: Path) -> None:
    with pytest.raises(GpuMatrixError, match="invalid character number"):
        read(write(tmp_path, '<testsuite><testcase name="&#27;[2J"/></testsuite>'))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=200)
    | st.text("<>/=\"' tesucai&#;[]!x\n", max_size=200).map(lambda text: f"<testsuite>{text}".encode())
)
def test_no_bytes_end_in_anything_but_a_named_refusal(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = write(tmp_path_factory.mktemp("junit"), content)
    try:
        read(path)
    except (CutOff, GpuMatrixError) as error:
        assert path.name in str(error)  # noqa: PT017 - some of the bytes are JUnit
