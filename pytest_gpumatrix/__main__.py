"""``python -m pytest_gpumatrix``: the commands, for where no script is on PATH."""

from __future__ import annotations

import sys

from pytest_gpumatrix.cli import main

sys.exit(main())
