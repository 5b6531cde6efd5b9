"""The confusion table of the public failures, as Markdown: ``python -m tests.triage.confusion``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_gpumatrix.triage.cause import Category
from tests.triage.corpus import Case, corpus


def confusion_table(cases: Sequence[Case]) -> str:
    """Rows: what it is; columns: what it is called; and how many of the sufficient texts are right."""
    called = [(case, case.cause()) for case in cases]
    counts = Counter((case.category, cause.category) for case, cause in called)
    columns = [category for category in Category if any(counts[row, category] for row in Category)]
    rows = [category for category in Category if any(counts[category, column] for column in columns)]
    lines = [
        "| is \\ called | " + " | ".join(column.value for column in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for row in rows:
        cells = (
            f"**{counts[row, column]}**" if row is column else str(counts[row, column] or "") for column in columns
        )
        lines.append(f"| {row.value} | " + " | ".join(cells) + " |")
    sufficient = [(case, cause) for case, cause in called if case.sufficient]
    right = sum(case.category is cause.category for case, cause in sufficient)
    actions = sum(case.action is cause.action for case, cause in called)
    lines += [
        "",
        f"{right} of {len(sufficient)} texts that suffice get their category; {actions} of {len(called)} their action.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(confusion_table(corpus()), end="")
