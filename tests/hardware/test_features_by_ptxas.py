"""The features of capabilities.yml against NVIDIA's assembler: it takes an instruction of each, or refuses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.profile import Feature

CAPABILITIES = [known for known in catalogue.load().architectures if known.major > 7 or known.minor > 0]
# Feature -> an instruction that needs it. Each is the smallest of its family.
INSTRUCTIONS = {
    Feature.BF16: "fma.rn.bf16 %h0, %h1, %h2, %h0;",
    Feature.FP8: (
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
        "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r0,%r1}, {%f0,%f1,%f2,%f3};"
    ),
    Feature.FP4: ".reg .b8 %b0; cvt.rn.satfinite.e2m1x2.f32 %b0, %f0, %f1;",
    Feature.TMA: (
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%r0], [%rd0, {%r1,%r2}], [%r3];"
    ),
    Feature.WGMMA: "wgmma.fence.sync.aligned;",
    Feature.CLUSTERS: "barrier.cluster.arrive; barrier.cluster.wait;",
    Feature.TCGEN05: "tcgen05.wait::ld.sync.aligned;",
}
KERNEL = """\
.version 9.0
.target {target}
.address_size 64
.visible .entry kernel() {{
  .reg .b16 %h<4>;
  .reg .f32 %f<4>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<1>;
  {instruction}
  ret;
}}
"""


@pytest.fixture(scope="module")
def ptxas() -> str:
    """An assembler that knows every capability listed, which Triton's wheel brings along."""
    triton = pytest.importorskip("triton")
    found = Path(triton.__file__).parent / "backends/nvidia/bin/ptxas-blackwell"
    if not found.exists():
        pytest.skip(f"this Triton has no {found.name}")
    return str(found)


@pytest.mark.parametrize("feature", Feature)
@pytest.mark.parametrize("capability", CAPABILITIES, ids=str)
def test_feature(ptxas: str, tmp_path: Path, capability: ComputeCapability, feature: Feature) -> None:
    # From 9.0 on the architecture-specific target allows all that the device has.
    target = capability.sm + ("a" if capability.major >= 9 else "")
    source = tmp_path / "kernel.ptx"
    source.write_text(KERNEL.format(target=target, instruction=INSTRUCTIONS[feature]))
    ran = subprocess.run(
        [ptxas, "-arch", target, str(source), "-o", str(tmp_path / "kernel.cubin")],
        capture_output=True,
        text=True,
        check=False,
    )
    has_it = feature in catalogue.load().limits(capability).features
    assert (ran.returncode == 0) == has_it, ran.stderr
    if not has_it:
        assert "target" in ran.stderr  # refused for the target's sake, not for a slip in the text
