"""Record the sample's launches onto a tape: python record.py TAPE [--late] [--gpu 9.0] MODULE[.TEST]..."""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
from pathlib import Path

import fake_gpu  # type: ignore[import-not-found] # this folder is on the path when it runs

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.recording.recorder import Recorder
from pytest_gpumatrix.portability.tape.tape import SCHEMA, Header, TapeWriter

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tape", type=Path)
    parser.add_argument("--late", action="store_true", help="import the modules before the recorder is installed")
    parser.add_argument("--gpu", type=ComputeCapability.parse, help="a fake one, on which kernels are compiled")
    parser.add_argument("tests", nargs="+")
    options = parser.parse_args()
    header = Header(schema=SCHEMA, rootdir=str(HERE), sys_path=tuple(sys.path))
    with TapeWriter(options.tape, header) as writer:
        recorder = Recorder(writer.write, rootdir=HERE, capability=options.gpu)
        if options.late:
            for test in options.tests:
                importlib.import_module(test.partition(".")[0])
        recorder.install()
        if options.gpu is not None:
            fake_gpu.activate(options.gpu)
        for test in options.tests:
            module, _, only = test.partition(".")
            for name, function in vars(importlib.import_module(module)).copy().items():
                if inspect.isfunction(function) and function.__module__ == module and name == (only or name):
                    if name.startswith("_"):
                        continue
                    with recorder.during(name):
                        function()
        recorder.uninstall()
    for line in fake_gpu.COMPILED:
        print(line)


if __name__ == "__main__":
    main()
