"""The program `halfstep` of a wheel, also `python -m halfstep`: that of the command line, on the library in the extension."""

import os
import signal
import sys

from halfstep import _core


def main() -> int:
    os.environ.setdefault("HALFSTEP_PYTHON", sys.executable)  # where onnxruntime is looked for
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    return _core.program([b"halfstep", *map(os.fsencode, sys.argv[1:])])


if __name__ == "__main__":
    sys.exit(main())
