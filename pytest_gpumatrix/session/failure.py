"""Why a test failed: found in the process that ran it, while the GPU is as the failure left it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from pytest_gpumatrix.hardware.gpu_state import GpuState
from pytest_gpumatrix.session.triage_facts import described, device_facts, state_at_failure
from pytest_gpumatrix.triage.cause import Category, Cause
from pytest_gpumatrix.triage.classify import FailureText, Source, classify, exception_texts
from pytest_gpumatrix.triage.printable import printable

_OUTPUT_LENGTH = 40_000  # characters of captured output that are read, from its end: what is fatal comes last
_OF_CUDA = re.compile("cuda|cublas|cudnn|cusparse|cusolver|cufft|curand|nccl", re.IGNORECASE)
_STICKY = pytest.StashKey[str]()  # the test that broke this process's CUDA context


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What was found when a test had failed."""

    cause: Cause
    gpu: str  # how the GPU was, for people; "" of a test that has no part in it


_FINDING = pytest.StashKey[Finding]()


def forget_finding(item: pytest.Item) -> None:
    """A report of a test is about to be made: what was found for the one before does not explain it."""
    if _FINDING in item.stash:
        del item.stash[_FINDING]


def examine(item: pytest.Item, sections: Sequence[tuple[str, str]], error: BaseException) -> Finding:
    """Find the cause of a failure, once for each report: to find it is to ask NVML."""
    if (known := item.stash.get(_FINDING, None)) is not None:
        return known
    state = state_at_failure(item)
    now = state if isinstance(state, GpuState) else None
    chain = exception_texts(error)
    broken_before = item.config.stash.get(_STICKY, item.nodeid) != item.nodeid
    # A broken context makes CUDA's calls fail, and leaves the rest of Python as it was.
    of_cuda = any(_OF_CUDA.search(link.text) for link in chain)
    facts = device_facts(item.config, now, earlier_sticky=broken_before and of_cuda)
    texts = [*chain, *output_texts(sections)]
    if isinstance(state, str):  # a GPU that is lost says so here, whatever the test met of it
        texts.append(FailureText(text=state, source=Source.OUTPUT))
    cause = classify(texts, facts)
    # What was only printed may be of another process.
    if cause.category is Category.STICKY_CRASH and of_cuda:
        item.config.stash.setdefault(_STICKY, item.nodeid)
    finding = item.stash[_FINDING] = Finding(cause=cause, gpu=described(state, facts))
    return finding


def collection_cause(config: pytest.Config, sections: Sequence[tuple[str, str]], error: BaseException) -> Cause:
    """The cause of a failure to collect a file."""
    facts = device_facts(config, None, earlier_sticky=False)
    return classify([*exception_texts(error), *output_texts(sections)], facts)


def output_texts(sections: Sequence[tuple[str, str]]) -> Iterator[FailureText]:
    """What was captured of a test: standard error first, then its logs."""
    for kind in ("Captured stderr", "Captured log"):
        if text := "\n".join(content for name, content in sections if name.startswith(kind)):
            yield FailureText(text=printable(text[-_OUTPUT_LENGTH:]), source=Source.OUTPUT)
