"""What NVRTC says, which differs between its releases."""

from __future__ import annotations

import importlib.metadata


def _needs_89() -> str:
    """Of the conversion to e5m2 below 8.9: 13.0.88 and 13.5.37 were asked."""
    try:
        old = importlib.metadata.version("nvidia-cuda-nvrtc").startswith(("12.", "13.0."))
    except importlib.metadata.PackageNotFoundError:  # then the tests that need it are skipped
        old = False
    feature = "cvt with .e4m3x2/.e5m2x2" if old else "cvt.e5m2x2.f32"
    return f"Feature '{feature}' requires .target sm_89 or higher"


NEEDS_89 = _needs_89()
