from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.hardware.visibility import Card, MigInstance, Place, Visible, choose

A, B, C = (
    Card(uuid="GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"),
    Card(uuid="GPU-89aa0000-1111-2222-3333-444444444444"),
    Card(uuid="GPU-c0ffee00-1111-2222-3333-444444444444"),
)
CARDS = (A, B, C)
FIRST = MigInstance(uuid="MIG-11111111-aaaa-bbbb-cccc-000000000001", gpu_instance=7, compute_instance=0)
SECOND = MigInstance(uuid="MIG-22222222-aaaa-bbbb-cccc-000000000002", gpu_instance=8, compute_instance=1)
SPLIT = Card(uuid="GPU-5b117000-1111-2222-3333-444444444444", mig_mode=True, instances=(FIRST, SECOND))
UNSPLIT = Card(uuid="GPU-0000dead-1111-2222-3333-444444444444", mig_mode=True)


def _numbers(visible: Visible) -> list[int]:
    assert all(place.instance is None for place in visible.places)
    return [place.card for place in visible.places]


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        (None, [0, 1, 2]),
        ("0", [0]),
        ("2,1", [2, 1]),
        ("0,1,2", [0, 1, 2]),
        (" 1, 2", [1, 2]),
        ("+1", [1]),
        ("01", [1]),
        ("1gpu,2nd", [1, 2]),
        (A.uuid, [0]),
        (f"{C.uuid},{A.uuid}", [2, 0]),
        ("GPU-8932f937", [0]),
        ("GPU-c,GPU-893", [2, 0]),
        ("GPU-8932F937-D72C", [0]),
        ("GPU-8932f937d72c", [0]),
        (f"{A.uuid}x", [0]),
        ("MIG-8932f937", [0]),
        ("MIG-c0ff,GPU-8932f937", [2, 0]),
        ("4294967297", [1]),
        ("-4294967296", [0]),
    ],
)
def test_what_is_named_is_shown_in_that_order(value: str | None, numbers: list[int]) -> None:
    visible = choose(value, CARDS)
    assert (_numbers(visible), visible.notes) == (numbers, ())


@pytest.mark.parametrize(
    ("value", "numbers", "word"),
    [
        ("", [], "CUDA_VISIBLE_DEVICES is empty, which hides every GPU"),
        (" ", [], "CUDA_VISIBLE_DEVICES is empty"),
        ("-1", [], "ignores '-1' and what follows it, as this machine has 3 GPUs, counted from 0"),
        ("0,2,-1,1", [0, 2], "ignores '-1'"),
        ("0,3,1", [0], "ignores '3' and what follows it, as this machine has 3 GPUs, counted from 0"),
        ("0,,1", [0], "ignores ''"),
        ("1,none,2", [1], "ignores 'none' and what follows it, as it is neither a number nor a UUID"),
        ("NoDevFiles", [], "neither a number nor a UUID"),
        ("all", [], "neither a number nor a UUID"),
        ("99999999999999999999", [], "counted from 0"),
        ("0-2", [0], None),
        (f"0,{B.uuid}", [0], "as it is not written as the first one is"),
        (f"{B.uuid},0", [1], "as it is not written as the first one is"),
        ("GPU-8", [], "as 2 devices have a UUID that begins so"),
        ("GPU-", [], "no device here has this UUID"),
        (f"{A.uuid},GPU-", [0], "no device here has this UUID"),
        ("GPU-8932f937 ", [], "no device here has this UUID"),
        ("GPU-8932x", [], "no device here has this UUID"),
        (
            f"{C.uuid},GPU-f,{A.uuid}",
            [2],
            "ignores 'GPU-f' and what follows it, as no device here has this UUID",
        ),
        ("GPU-8932,GPU-8932F9", [], "names a GPU twice"),
        ("18446744073709551616", [], "counted from 0"),
        ("1" * 5000, [], "counted from 0"),
        ("gpu-8932f937", [], "neither a number nor a UUID"),
        ("MIG-11111111", [], "no device here has this UUID"),
        ("0,0", [], "'0' names a GPU twice, so CUDA shows none"),
        ("0,1,1,2", [], "names a GPU twice"),
        (f"{A.uuid},GPU-8932", [], "names a GPU twice"),
    ],
)
def test_what_is_wrong_is_said(value: str, numbers: list[int], word: str | None) -> None:
    visible = choose(value, CARDS)
    assert _numbers(visible) == numbers
    if word is None:
        assert visible.notes == ()
    else:
        assert len(visible.notes) == 1
        assert word in visible.notes[0]


@pytest.mark.parametrize(
    ("value", "by_index"), [(None, True), ("0,1", True), ("GPU-c", False), ("MIG-1", False), ("", True)]
)
def test_how_they_were_chosen(value: str | None, by_index: bool) -> None:
    assert choose(value, CARDS).by_index is by_index


@pytest.mark.parametrize(
    ("value", "instance"),
    [
        (FIRST.uuid, 0),
        (SECOND.uuid, 1),
        ("MIG-2222", 1),
        (f"MIG-{SPLIT.uuid}/8/1", 1),
        ("1", 0),
        (SPLIT.uuid, 0),
        (None, 0),
        ("0,1", 0),
        (f"{SECOND.uuid},{FIRST.uuid}", 1),
    ],
)
def test_one_mig_instance_is_shown_and_no_whole_gpu_beside_it(value: str | None, instance: int) -> None:
    assert choose(value, (A, SPLIT)).places == (Place(1, instance),)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("1", ["in MIG mode, so CUDA shows its first instance"]),
        (None, ["in MIG mode, so CUDA shows its first instance", "shows one MIG instance to a process"]),
        (SECOND.uuid, []),
        (f"{SECOND.uuid},{FIRST.uuid}", ["shows one MIG instance to a process"]),
        (f"{SECOND.uuid},MIG-f", ["no device here has this UUID"]),
    ],
)
def test_what_mig_hides_is_said(value: str | None, words: list[str]) -> None:
    notes = choose(value, (A, SPLIT)).notes
    assert len(notes) == len(words)
    assert all(word in note for word, note in zip(words, notes, strict=True))


def test_a_gpu_in_mig_mode_without_instances_is_not_shown() -> None:
    visible = choose(None, (UNSPLIT, A))
    assert visible.places == (Place(1),)
    assert "in MIG mode and has no instance" in visible.notes[0]


@given(
    st.one_of(
        st.none(),
        st.text(),
        st.lists(st.sampled_from(["0", "1", "9", "-1", A.uuid, "GPU-8", FIRST.uuid, "x", ""])).map(",".join),
    )
)
def test_any_value_gives_devices_that_are_there_once_each(value: str | None) -> None:
    cards = (A, B, SPLIT)
    visible = choose(value, cards)
    assert len(set(visible.places)) == len(visible.places)
    for place in visible.places:
        assert place.instance is None or place.instance < len(cards[place.card].instances)
    assert visible.places or visible.notes  # where nothing is shown there is a reason


@given(st.permutations(range(3)), st.integers(1, 3))
def test_any_order_can_be_named_by_number_or_by_uuid(order: list[int], count: int) -> None:
    chosen = order[:count]
    by_number = choose(",".join(map(str, chosen)), CARDS)
    by_uuid = choose(",".join(CARDS[number].uuid for number in chosen), CARDS)
    assert _numbers(by_number) == _numbers(by_uuid) == chosen


def test_without_gpus_there_is_nothing_to_choose() -> None:
    assert choose(None, ()).places == ()
    assert choose("0", ()).places == ()
