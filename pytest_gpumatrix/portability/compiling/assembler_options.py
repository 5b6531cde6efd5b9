"""The options of ptxas that a tape may choose: those that shape code. Others name files to read or to write."""

from __future__ import annotations

import re

# Source: "ptxas --help" of CUDA 13.0.
_TAKEN = frozenset(
    {"Ofast-compile", "Ofc", "allow-expensive-optimizations", "def-load-cache", "dlcm", "def-store-cache", "dscm"}
    | {"force-load-cache", "flcm", "force-store-cache", "fscm", "device-debug", "g", "generate-line-info", "lineinfo"}
    | {"device-function-maxrregcount", "func-maxrregcount", "device-stack-protector", "disable-optimizer-constants"}
    | {"disable-optimizer-consts", "disable-warnings", "w", "dont-merge-basicblocks", "no-bb-merge", "fmad"}
    | {"extensible-whole-program", "ewp", "legacy-bar-warp-wide-behavior", "maxntid", "maxrregcount", "minnctapersm"}
    | {"opt-level", "O", "optimize-float-atomics", "opt-fp-atomics", "override-directive-values", "preserve-relocs"}
    | {"position-independent-code", "pic", "register-usage-level", "regUsageLevel", "return-at-end", "ret-end"}
    | {"sp-bounds-check", "suppress-debug-info", "suppress-double-demote-warning", "suppress-stack-size-warning"}
    | {"suppress-async-bulk-multicast-advisory-warning", "suppress-sparse-mma-advisory-info", "verbose", "v"}
    | {"warn-on-double-precision-use", "warn-double-usage", "warn-on-local-memory-usage", "warn-lmem-usage"}
    | {"warn-on-spills", "warn-spills", "warning-as-error", "Werror"}
)
_OPTION = re.compile(r"--?([A-Za-z][A-Za-z-]*)(?:=\w+)?|-(O)\w")
_VALUE = re.compile(r"\w+")  # of an option that stands before it


def refused_assembler_option(text: str) -> str | None:
    """The first option in a command line that is not taken; None if all are. A value may follow its option."""
    for word in re.split(r"[\s,]+", text):
        option = _OPTION.fullmatch(word)
        if word and not _VALUE.fullmatch(word) and (option is None or (option[1] or option[2]) not in _TAKEN):
            return word
    return None
