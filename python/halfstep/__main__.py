"""Run the command-line program `halfstep` on the library of the extension. Also started by `python -m halfstep`."""

import os
import signal
import sys

from halfstep import _core


def main() -> int:
    os.environ.setdefault("HALFSTEP_PYTHON", sys.executable)  # The program looks for onnxruntime in this Python.
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    return _core.program([b"halfstep", *map(os.fsencode, sys.argv[1:])])


if __name__ == "__main__":
    sys.exit(main())
