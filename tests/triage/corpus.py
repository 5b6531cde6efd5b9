"""The texts that the rules are measured on: public failures, and families of texts with their look-alikes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_gpumatrix.triage.cause import Action, Category, Cause
from pytest_gpumatrix.triage.classify import DeviceFacts, classify_log

_HERE = Path(__file__).parent
CORPUS = _HERE.parent / "data" / "corpus" / "failures.jsonl"
# Both were written before the rules were tuned on them; the second as an examiner would.
FAMILIES = _HERE / "families.jsonl"
EXAMINED = _HERE / "examined.jsonl"


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A text and what it should be called."""

    name: str
    text: str
    category: Category
    facts: Mapping[str, Any]
    action: Action | None = None
    sufficient: bool = True  # whether text and facts can yield the category
    look_alike: bool = False

    def cause(self) -> Cause:
        """What it is called."""
        return classify_log(self.text, DeviceFacts.parse(self.facts))


def corpus() -> list[Case]:
    """The public failures; hardware and framework are their facts."""
    return [
        Case(
            name=row["id"],
            text=row["signature"],
            category=Category(row["category"]),
            facts={"hardware": row["hardware"], "framework": row["framework"]},
            action=Action(row["expected_action"].partition(":")[0]),
            sufficient=row["text_sufficient"],
        )
        for row in _rows(CORPUS)
    ]


def held_out(path: Path) -> list[Case]:
    """The texts of one held-out file."""
    return [
        Case(
            name=f"{number}-{row['category']}",
            text=row["text"],
            category=Category(row["category"]),
            facts=row.get("facts", {}),
            action=Action(row["action"]) if "action" in row else None,
            look_alike=row.get("look_alike", False),
        )
        for number, row in enumerate(_rows(path), start=1)
    ]


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
