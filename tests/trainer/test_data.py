"""The text is real, in one order, split by files; a seed decides what is drawn from it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from trainer.data import Sampler, read_text
from trainer.errors import TrainerError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(45):
        path = tmp_path / f"part{number % 3}" / f"file{number:02}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"value = {number}\n")
    for left_out in ("test", "site-packages", "__pycache__"):
        (tmp_path / left_out).mkdir()
        (tmp_path / left_out / "secret.py").write_text("SECRET")
    (tmp_path / "notes.txt").write_text("SECRET")
    return tmp_path


def test_files_are_read_in_the_order_of_their_names(folder: Path) -> None:
    one, two = read_text(folder), read_text(folder)
    assert one.sha256 == two.sha256
    assert torch.equal(one.train, two.train)
    files = bytes(one.train.tolist()).split(b"\0")
    assert files[:2] == [b"value = 0\n", b"value = 3\n"]
    assert b"SECRET" not in bytes(one.train.tolist()) + bytes(one.validation.tolist())


def test_the_split_is_by_whole_files(folder: Path) -> None:
    text = read_text(folder)
    train, validation = (set(bytes(part.tolist()).split(b"\0")[:-1]) for part in (text.train, text.validation))
    assert len(train) == 43
    assert len(validation) == 2
    assert not train & validation


def test_a_change_of_a_file_changes_the_name_of_the_text(folder: Path) -> None:
    before = read_text(folder).sha256
    (folder / "part0" / "file00.py").write_text("value = 1000\n")
    assert read_text(folder).sha256 != before


def test_the_standard_library_is_text_enough() -> None:
    text = read_text()
    assert text.train.numel() > 5_000_000
    assert text.validation.numel() > 100_000
    assert b"import" in bytes(text.train[:100_000].tolist())


def test_a_target_is_the_byte_after_its_input() -> None:
    sampler = Sampler(torch.arange(200, dtype=torch.uint8), sequence=8, seed=0)
    inputs, targets = sampler.sample(50)
    assert inputs.shape == targets.shape == (50, 8)
    assert torch.equal(targets, inputs + 1)


def test_a_seed_decides_the_draws_however_they_are_cut() -> None:
    text = torch.arange(251, dtype=torch.uint8)
    whole = Sampler(text, 8, seed=4).sample(12)[0]
    other = Sampler(text, 8, seed=5).sample(12)[0]
    again = Sampler(text, 8, seed=4)
    assert torch.equal(torch.cat([again.sample(4)[0] for _ in range(3)]), whole)
    assert not torch.equal(other, whole)


def test_the_whole_text_can_be_drawn() -> None:
    inputs, targets = Sampler(torch.arange(10, dtype=torch.uint8), sequence=8, seed=0).sample(64)
    assert inputs.min() == 0
    assert targets.max() == 9


def test_too_little_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainerError, match="0 files match"):
        read_text(tmp_path)
    with pytest.raises(TrainerError, match="0 files match"):
        read_text(tmp_path / "missing")
    with pytest.raises(TrainerError, match="too few for sequences of 8"):
        Sampler(torch.zeros(8, dtype=torch.uint8), sequence=8, seed=0)
