"""Whose report it is: the repository and what was run of it, or the folder of the results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_PULL_REQUEST = re.compile(r"refs/pull/(\d+)/\w+")


def report_title(environ: Mapping[str, str], folder: Path | None = None) -> str:
    """ "owner/name #128" of a pull request, "owner/name main" of a branch or tag; elsewhere the folder's name.

    What ``workflow_run`` reports on has another ref than its own run: then only the repository is known.
    """
    if not (repository := environ.get("GITHUB_REPOSITORY", "")):
        return (folder.resolve().name if folder else "") or "gpumatrix"
    if environ.get("GITHUB_EVENT_NAME") == "workflow_run":
        return repository
    ref = environ.get("GITHUB_REF", "")
    if pull_request := _PULL_REQUEST.fullmatch(ref):
        return f"{repository} #{pull_request[1]}"
    name = ref.removeprefix("refs/heads/").removeprefix("refs/tags/")
    return f"{repository} {name}".rstrip()
