from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.hardware.sizes import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("20GiB", 21_474_836_480),
        ("24 GB", 24_000_000_000),
        ("512MiB", 536_870_912),
        ("160KiB", 163_840),
        ("99KiB", 101_376),
        ("1.5GiB", 1_610_612_736),
        ("0.5 KB", 500),
        ("2TiB", 2_199_023_255_552),
        (" 1MB ", 1_000_000),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text",
    ["", "20", "20.0", "GiB", "20 gib", "20Gb", "20G", "20B", "-1GiB", "1e3MB", "1,5GiB", "٢GiB", "1GiB 2"],
)
def test_what_has_no_known_unit_is_refused_with_the_right_form(text: str) -> None:
    with pytest.raises(ValueError, match="KiB, MiB, GiB, TiB, KB, MB, GB, TB: '20GiB'"):
        parse_size(text)


@pytest.mark.parametrize("text", ["0GiB", "0.0001KB", "0.3KiB"])
def test_no_bytes_and_parts_of_a_byte_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="whole number of bytes"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (101_376, "99 KiB"),
        (147_456, "144 KiB"),
        (25_447_170_048, "23.7 GiB"),
        (24_564 * 2**20, "23.99 GiB"),  # not "24 GiB": a test that needs 24 GiB does not run there
        (24 * 2**30, "24 GiB"),
        (143_771 * 2**20, "140.4 GiB"),
        (5 * 2**50, "5120 TiB"),
    ],
)
def test_sizes_for_people(size: int, text: str) -> None:
    assert format_size(size) == text


@given(st.integers(1, 2**50))
def test_a_printed_size_is_near_the_real_one(size: int) -> None:
    text = format_size(size)
    printed = int(text[:-2]) if text.endswith(" B") else float(text.split()[0]) * parse_size(f"1{text.split()[1]}")
    assert printed == pytest.approx(size, rel=6e-4)


@given(st.text())
def test_any_text_is_a_size_or_a_value_error(text: str) -> None:
    try:
        size = parse_size(text)
    except ValueError:
        return
    assert size > 0
