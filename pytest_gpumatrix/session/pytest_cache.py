"""A copy of pytest's cache for a run that is started again: which tests failed last is what each run changes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest


def cache_of(config: pytest.Config) -> Path | None:
    """The folder in which pytest keeps its cache; None where it keeps none."""
    if not config.pluginmanager.hasplugin("cacheprovider"):
        return None
    named = os.path.expanduser(os.path.expandvars(str(config.getini("cache_dir"))))  # noqa: PTH111 - as pytest does
    return config.rootpath / named


def copy_cache(cache: Path, copy: Path) -> str | None:
    """Copy what there is of a cache; what of it could not be copied, or None. The copy is there in any case."""
    copy.mkdir(parents=True, exist_ok=True)
    try:
        if cache.is_dir():
            shutil.copytree(cache, copy, dirs_exist_ok=True)
    except shutil.Error as error:  # it has gone on to the rest
        failed = error.args[0]
        path, _, reason = failed[0]
        return f"{path}: {reason}" + (f", and {len(failed) - 1:,} more" if len(failed) > 1 else "")
    except OSError as error:
        return str(error)
    return None
