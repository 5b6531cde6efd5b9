"""How an SM's room is given to blocks, and how many it holds at once. Pure.

This is what NVIDIA's occupancy calculator computes. The units are those of cuda_occupancy.h of the CUDA Toolkit 13,
which reads them off the compute capability; a test holds this file against it.
"""

from __future__ import annotations

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.profile import ArchitectureLimits
from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures

_WARP = 32  # threads
# Registers are given to whole warps in units of 256, from the four partitions of an SM.
_REGISTER_UNIT, _PARTITIONS = 256, 4
# Bytes: how shared memory is given to blocks, and what the driver takes of it for itself with each block.
_SHARED_UNIT, _SHARED_RESERVED = 128, 1024
_AMPERE, _HOPPER = ComputeCapability(8, 0), ComputeCapability(9, 0)
_SHARED_UNIT_BEFORE_AMPERE = 256
_TWO_BARRIERS_A_BLOCK = frozenset({9, 10})  # majors from 9.0 on of which an SM has two for each block; others have one


def registers_of_block(threads: int, registers: int) -> int:
    """What a block is given whose threads need so many registers each: the same from each partition."""
    return _registers_of_warp(registers) * _rounded_up(_warps(threads), _PARTITIONS)


def blocks_per_sm(threads: int, shared_memory: int, figures: KernelFigures, limits: ArchitectureLimits) -> int:
    """How many blocks of so many threads, and bytes of static and dynamic shared memory, an SM holds at once.

    One block of them is within the limits of a block.
    """
    warps = _warps(threads)
    bounds = [limits.blocks_per_sm, limits.threads_per_sm // _WARP // warps]
    if per_warp := _registers_of_warp(figures.registers):
        bounds.append(_PARTITIONS * (limits.registers_per_sm // _PARTITIONS // per_warp) // warps)
    if shared := _shared_memory_of_block(shared_memory, limits.capability):
        bounds.append(limits.shared_memory_per_sm // shared)
    if figures.barriers and limits.capability >= _HOPPER:
        each = 2 if limits.capability.major in _TWO_BARRIERS_A_BLOCK else 1
        bounds.append(each * limits.blocks_per_sm // figures.barriers)
    return min(bounds)


def _warps(threads: int) -> int:
    return -(-threads // _WARP)


def _registers_of_warp(registers: int) -> int:
    return _rounded_up(registers * _WARP, _REGISTER_UNIT)


def _shared_memory_of_block(asked: int, capability: ComputeCapability) -> int:
    if capability < _AMPERE:
        return _rounded_up(asked, _SHARED_UNIT_BEFORE_AMPERE)
    return _rounded_up(asked + _SHARED_RESERVED, _SHARED_UNIT)


def _rounded_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
