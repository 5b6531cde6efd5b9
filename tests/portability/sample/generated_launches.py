"""Launches of kernels that torch.compile generates; a test's name is the function's."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,import-not-found,arg-type,var-annotated"

from __future__ import annotations

import contextlib
from pathlib import Path

import generated_module as generated

KEPT = []


def compiled_by_a_worker():
    tuner = generated.of_worker(generated.load(generated.TUNED))
    KEPT.append(generated.choose(tuner, 1))
    for _ in range(2):
        tuner.run(1, 2, 512, stream=0)


def in_a_later_test():
    tuner = KEPT[0]
    tuner.compile_results = tuner.compile_results[1:]  # as newer releases leave it after tuning
    tuner.run(1, 2, 512, stream=0)


def compiled_here_while_it_is_launched():
    tuner = generated.load(generated.TUNED)

    def compile_and_tune(*_, **__):
        tuner._precompile_worker()
        tuner.compile_results = tuner.compile_results[:1]
        generated.choose(tuner)

    tuner.precompile = compile_and_tune
    tuner.run(1, 2, 512, stream=0)


def of_the_users():
    tuner = generated.of_worker(generated.load(generated.USERS))
    generated.choose(tuner).run(1, 2, 512, stream=0)


def of_the_users_from_the_cache_of_a_tuning():
    tuner = generated.of_worker(generated.load(generated.USERS))
    tuner.autotune_cache_info = {"autotune_cache_state": "hit"}
    generated.choose(tuner).run(1, 2, 512, stream=0)


def found_by_measuring():
    """Coordinate descent tries configurations that are in no list."""
    tuner = generated.choose(generated.of_worker(generated.load(generated.USERS)))
    config = tuner.launchers[0].config
    found = type(config)({"XBLOCK": 32}, num_warps=1, num_stages=config.num_stages)
    tuner.launchers[0].config = found
    tuner.run(1, 2, 512, stream=0)


def timed_only():
    from torch._inductor.virtualized import V

    tuner = generated.choose(generated.of_worker(generated.load(generated.USERS)))
    tuner.run(1, 2, 512, stream=0, benchmark_run=True)
    with V.set_graph_handler(object()):  # while a graph is compiled
        tuner.run(1, 2, 512, stream=0)


def on_the_cpu():
    tuner = generated.choose(generated.of_worker(generated.load(generated.USERS)))
    tuner.device_props = tuner.device_props._replace(type="cpu")
    tuner.run(1, 2, 512, stream=0)


def refused():
    tuner = generated.of_worker(generated.load(generated.USERS))
    with contextlib.suppress(RuntimeError):
        generated.choose(tuner, error=RuntimeError("out of resource")).run(1, 2, 512, stream=0)


def without_its_file():
    tuner = generated.of_worker(generated.load(generated.USERS))
    Path(tuner.filename).unlink()
    generated.choose(tuner).run(1, 2, 512, stream=0)


def of_another_shape():
    """As another release of torch might have it: an attribute is gone, and the launch works."""
    tuner = generated.choose(generated.of_worker(generated.load(generated.USERS)))
    tuner.custom_kernel = None
    del tuner.custom_kernel
    tuner.run(1, 2, 512, stream=0)
