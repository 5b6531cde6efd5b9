"""gpumatrix.yml read whole, or refused with the line and the right form."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.fail_on import DEFAULT_FAIL_ON, FailOn
from pytest_gpumatrix.config.load import find_config, load_config
from pytest_gpumatrix.config.metric_rule import Tolerance
from pytest_gpumatrix.config.schema import Expect
from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.triage.cause import Category

GOOD = """\
version: 1
devices:
  h100:    {profile: h100-sxm, runs-on: [self-hosted, linux, h100]}
  rtx3090: {profile: RTX 3090, runs-on: {group: gpus, labels: [big]}, require: compiled, count: 2}
expectations:
  - {test: "tests/a.py::test_fa3*", devices: "<9.0", expect: fail, cause: no_kernel_image,
     reason: "FA3 build is sm_90a only", until: 2027-06-01}
  - {test: "t*", devices: rtx-3090, expect: fail, strict: false}
  - {test: "t*", devices: [h100, cpu], expect: fail}
  - {test: "u*", devices: ">=9.0", expect: crash}
  - {test: "u*", devices: h100, expect: flaky}
  - {test: "u*", devices: h100, expect: skip}
metrics:
  - {name: "loss*", test: "tests/train/*", tolerance: 1%, drift: H100 SXM}
  - {name: tflops, threshold: "2.5%", absolute: 3, tolerance: 0.5, better: higher}
fail-on: [regression, stale-expectation]
"""


def load(tmp_path: Path, text: str | bytes) -> Config:
    path = tmp_path / "gpumatrix.yml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_config(path)


def test_everything_that_it_may_say(tmp_path: Path) -> None:
    config = load(tmp_path, GOOD)
    h100, rtx3090 = config.devices
    assert (h100.name, h100.profile.id, h100.require, h100.count) == ("h100", "h100-sxm", Evidence.NATIVE, 1)
    assert h100.runs_on == ["self-hosted", "linux", "h100"]
    assert (rtx3090.profile.id, rtx3090.require, rtx3090.count) == ("rtx-3090", Evidence.COMPILED, 2)
    assert rtx3090.runs_on == {"group": "gpus", "labels": ["big"]}
    first, second, third, *others = config.expectations
    assert (first.cause, first.until, first.strict) == (Category.NO_KERNEL_IMAGE, datetime.date(2027, 6, 1), True)
    assert first.place.endswith("gpumatrix.yml:6")
    assert [d.name for d in config.devices if first.devices.selects(d.name, d.profile.capability)] == ["rtx3090"]
    assert second.devices.names == {"rtx3090"}  # by the profile's spelling
    assert not second.strict
    assert third.devices.names == {"h100", "cpu"}
    assert [item.expect for item in others] == [Expect.CRASH, Expect.FLAKY, Expect.SKIP]
    loss, tflops = config.metrics
    assert loss.name.matches("loss/val")
    assert loss.test.matches("tests/train/a.py::t")
    assert (loss.threshold, loss.absolute, loss.reference, loss.better) == (None, None, "h100", None)
    assert loss.tolerance == Tolerance(text="1%", relative=0.01)
    assert loss.place.endswith("gpumatrix.yml:14")
    assert (tflops.threshold, tflops.absolute, tflops.reference, tflops.better) == (0.025, 3.0, None, "higher")
    assert tflops.tolerance == Tolerance(text="0.5", absolute=0.5)
    assert config.fail_on == {FailOn.REGRESSION, FailOn.STALE_EXPECTATION}


def test_what_holds_if_it_says_little(tmp_path: Path) -> None:
    config = load(tmp_path, "version: 1\ndevices:\n  h100: {profile: h100-sxm}\n")
    assert (config.fail_on, config.expectations, config.metrics) == (DEFAULT_FAIL_ON, (), ())
    assert config.devices[0].runs_on is None


DEVICE = "version: 1\ndevices:\n  h100: {profile: h100-sxm}\n"
EXPECTATION = DEVICE + "expectations:\n  - {test: 'a*', devices: '<9.0', expect: fail}\n"
METRIC = DEVICE + "metrics:\n  - {name: loss, tolerance: 1%, drift: h100}\n"


# (what is wrong, the file, the line that the error names, words of the error)
WRONG: list[tuple[str, str | bytes, int, list[str]]] = [
    ("empty", "", 1, ["empty", "version: 1"]),
    ("no mapping", "[]", 1, ["Expected `object`"]),
    ("no version", "devices: {}", 1, ["version"]),
    ("other version", "\nversion: 2\ndevices: {}", 2, ["version", "one of 1"]),
    ("unknown key", DEVICE + "foo: 1", 4, ["'foo'", "devices, expectations, fail-on, metrics, version"]),
    (
        "unknown key of a device",
        DEVICE + "  l40s:\n    profile: l40s\n    requires: native",
        6,
        ["'requires'", "require"],
    ),
    ("unknown key of an expectation", EXPECTATION.replace("fail}", "fail, who: me}"), 5, ["'who'", "reason"]),
    ("a device twice", DEVICE + "  h100: {profile: h200}", 4, ["'h100'", "twice", "line 3"]),
    ("a key twice deep down", DEVICE.replace("}", ", count: 1, count: 2}"), 3, ["'count'", "twice"]),
    ("no profile", "version: 1\ndevices:\n  h100: {}", 3, ["profile", "h100: {profile: h100-sxm"]),
    ("unknown profile", DEVICE.replace("h100-sxm", "h100-smx"), 3, ["'h100'", "h100-smx", "h100-sxm"]),
    ("profile no text", DEVICE.replace("h100-sxm", "3"), 3, ["devices.h100.profile", "Expected `str`"]),
    ("require none", DEVICE.replace("}", ", require: none}"), 3, ["native, emulated, compiled"]),
    ("count 0", DEVICE.replace("}", ", count: 0}"), 3, [">= 1"]),
    ("runs-on of wrong type", DEVICE.replace("}", ", runs-on: [1]}"), 3, ["runs-on"]),
    ("runs-on with other keys", DEVICE.replace("}", ", runs-on: {name: a}}"), 3, ["'name'", "group, labels"]),
    ("runs-on empty", DEVICE.replace("}", ", runs-on: []}"), 3, ["runs-on is empty"]),
    ("device cpu", "version: 1\ndevices:\n  cpu: {profile: l40s}", 3, ["'cpu'", "reserved"]),
    ("device like a file", "version: 1\ndevices:\n  a.native: {profile: l40s}", 3, ["reserved"]),
    ("device with a slash", "version: 1\ndevices:\n  a/b: {profile: l40s}", 3, ["letters, digits"]),
    ("device a number", "version: 1\ndevices:\n  3090: {profile: l40s}", 3, ['"3090"']),
    ("devices alike but for case", DEVICE + "  H100: {profile: h200}", 4, ["case"]),
    ("malformed", "version: 1\ndevices: [a\n", 3, ["not YAML"]),
    ("a tab", "version: 1\n\tdevices: {}", 2, ["not YAML"]),
    ("control character", DEVICE + "x: \x01", 4, ["not YAML", "control"]),
    ("not UTF-8", b"version: 1\n# \xff\n", 2, ["UTF-8"]),
    ("alias", DEVICE + "x: &a [1]\ny: *a", 5, ["aliases"]),
    ("billion laughs", "a: &a [x]\n" + "".join(f"{c}: &{c} [*{chr(ord(c) - 1)}]\n" for c in "bcd"), 2, ["aliases"]),
    ("too deep", DEVICE + "x: " + "[" * 100_000, 4, ["deeper"]),
    ("too large", "#" * 2_000_000, 0, ["2,000,000 bytes"]),
    ("a tag", DEVICE + "x: !!python/object/apply:os.system [ls]", 4, ["not used here"]),
    ("a bad number", DEVICE + "x: " + "9" * 5000, 4, ["cannot be read"]),
    ("two documents", DEVICE + "---\na: 1", 4, ["single document"]),
    ("bad specifier", EXPECTATION.replace("<9.0", "<nine"), 5, ["<nine", ">=8.0,<9.0"]),
    ("no dot", EXPECTATION.replace("<9.0", ">=90"), 5, [">=90", "9.0"]),
    ("arbitrary equality", EXPECTATION.replace("<9.0", "===9.0"), 5, ["===9.0", ">=9.0"]),
    ("unknown device", EXPECTATION.replace("'<9.0'", "l40s"), 5, ["'l40s'", "h100"]),
    ("no device", EXPECTATION.replace("'<9.0'", "[]"), 5, ["devices"]),
    ("unknown cause", EXPECTATION.replace("fail}", "fail, cause: bad_luck}"), 5, ["no_kernel_image"]),
    ("unknown expectation", EXPECTATION.replace("fail}", "pass}"), 5, ["one of fail, crash, flaky, skip"]),
    ("bad date", EXPECTATION.replace("fail}", "fail, until: 2027-13-01}"), 5, ["until", "2027-06-01"]),
    ("strict no bool", EXPECTATION.replace("fail}", "fail, strict: maybe}"), 5, ["strict", "Expected `bool`"]),
    ("no test", EXPECTATION.replace("test: 'a*', ", ""), 5, ["test"]),
    ("unknown fail-on", DEVICE + "fail-on:\n  - never-run\n  - regresion", 6, ["'regresion'", "regression, "]),
    ("unknown key of a metric", METRIC.replace("h100}", "h100, who: me}"), 5, ["'who'", "threshold, tolerance"]),
    ("a metric without a name", METRIC.replace("name: loss, ", ""), 5, ["name"]),
    ("a metric with an empty name", METRIC.replace("loss", "''"), 5, ["metrics.1.name"]),
    ("threshold no percentage", METRIC.replace("1%", "1%, threshold: 10"), 5, ["metrics.1.threshold", '"10%"']),
    ("threshold below 0", METRIC.replace("1%", "1%, threshold: -10%"), 5, ["metrics.1.threshold"]),
    ("absolute below 0", METRIC.replace("1%", "1%, absolute: -1"), 5, ["metrics.1.absolute", ">= 0"]),
    ("absolute not a number", METRIC.replace("1%", "1%, absolute: .nan"), 5, ["absolute", ">= 0"]),
    ("tolerance without end", METRIC.replace("1%", ".inf"), 5, ["tolerance", "inf"]),
    ("tolerance no figure", METRIC.replace("1%", "little"), 5, ["metrics.1.tolerance"]),
    ("drift without a tolerance", METRIC.replace("tolerance: 1%, ", ""), 5, ["drift", 'tolerance: "1%"']),
    ("drift of no device", METRIC.replace("drift: h100", "drift: l40s"), 5, ["'l40s' is no device", "h100"]),
    (
        "drift of a profile that two devices have",
        METRIC.replace("metrics:", "  twin: {profile: h100-sxm}\nmetrics:").replace("drift: h100", "drift: h100-sxm"),
        6,
        ["'h100-sxm' means several devices", "h100, twin"],
    ),
    ("better neither", METRIC.replace("1%", "1%, better: larger"), 5, ["better", "lower, higher"]),
    ("fail-on no list", DEVICE + "fail-on: regression", 4, ["Expected `array`"]),
]


@pytest.mark.parametrize(("text", "line", "words"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str | bytes, line: int, words: list[str]) -> None:
    with pytest.raises(GpuMatrixError) as caught:
        load(tmp_path, text)
    message = str(caught.value)
    assert caught.value.exit_code == 2
    assert f"gpumatrix.yml:{line}: " in message if line else "gpumatrix.yml: " in message
    for word in words:
        assert word in message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(GpuMatrixError, match=r"none\.yml: cannot be read"):
        load_config(tmp_path / "none.yml")


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text("{}[]:-&*!'\"# \n\tab1<>", max_size=200).map(str.encode)))
def test_rubbish_is_refused_and_nothing_else(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "rubbish.yml"
    path.write_bytes(content)
    with pytest.raises(GpuMatrixError, match=r"rubbish\.yml:\d+: "):
        load_config(path)


def test_the_nearest_file_up_to_the_top_of_the_repository_is_found(tmp_path: Path) -> None:
    (tmp_path / "gpumatrix.yml").touch()
    inner = tmp_path / "repository" / "a" / "b"
    inner.mkdir(parents=True)
    assert find_config(inner) == tmp_path / "gpumatrix.yml"
    (tmp_path / "repository" / ".git").touch()  # a worktree's is a file
    assert find_config(inner) is None
    (tmp_path / "repository" / "gpumatrix.yml").touch()
    assert find_config(inner) == tmp_path / "repository" / "gpumatrix.yml"


@pytest.mark.parametrize("name", ["rtx3090", "rtx-3090", "RTX 3090", "NVIDIA GeForce RTX 3090"])
def test_a_device_is_named_by_its_name_or_its_profile(tmp_path: Path, name: str) -> None:
    assert [device.name for device in load(tmp_path, GOOD).select([name]).devices] == ["rtx3090"]


def test_a_profile_that_no_device_has_makes_a_column_of_its_own(tmp_path: Path) -> None:
    chosen = load(tmp_path, GOOD).select(["A100 80GB", "h100"])
    assert [(device.name, device.profile.id) for device in chosen.devices] == [
        ("a100-80gb", "a100-80gb"),
        ("h100", "h100-sxm"),
    ]
    assert [device.name for device in Config().select(["h200"]).devices] == ["h200"]


@pytest.mark.parametrize("config", [Config(), None])
def test_an_unknown_name_is_refused(tmp_path: Path, config: Config | None) -> None:
    with pytest.raises(GpuMatrixError, match="no GPU profile 'h101'"):
        (config or load(tmp_path, GOOD)).select(["h101"])
