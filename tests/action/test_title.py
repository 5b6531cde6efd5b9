"""Whose report the page says it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_gpumatrix.github.title import report_title


@pytest.mark.parametrize(
    ("environ", "title"),
    [
        ({}, "results"),
        ({"GITHUB_REF": "refs/pull/128/merge"}, "results"),  # no repository: not a runner's
        ({"GITHUB_REPOSITORY": "example/trainer"}, "example/trainer"),
        ({"GITHUB_REPOSITORY": "example/trainer", "GITHUB_REF": "refs/pull/128/merge"}, "example/trainer #128"),
        ({"GITHUB_REPOSITORY": "example/trainer", "GITHUB_REF": "refs/heads/a/b"}, "example/trainer a/b"),
        ({"GITHUB_REPOSITORY": "example/trainer", "GITHUB_REF": "refs/tags/v1"}, "example/trainer v1"),
        (
            {
                "GITHUB_REPOSITORY": "example/trainer",
                "GITHUB_REF": "refs/heads/main",
                "GITHUB_EVENT_NAME": "workflow_run",
            },
            "example/trainer",
        ),
    ],
)
def test_title(environ: dict[str, str], title: str) -> None:
    assert report_title(environ, Path("some/results")) == title


def test_without_anything_it_is_the_tool() -> None:
    assert (report_title({}), report_title({}, Path("/"))) == ("gpumatrix", "gpumatrix")
