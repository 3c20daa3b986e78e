"""tools/affected.sh names the tests whose programs were linked since all tests passed."""

import os
import subprocess

from pages import ROOT


def affected(build):
    command = [ROOT / "tools/affected.sh", build]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test_what_was_linked_since_all_tests_passed(tmp_path):
    build = tmp_path / "a build"
    module = build / "gen/python/halfstep/_core.so"
    module.parent.mkdir(parents=True)
    for path in (build / "test_api", build / "test_ir", module):
        path.touch()
    assert affected(build) == ["api", "ir", "python"]

    stamp = build / "tests.passed"
    stamp.touch()
    for seconds, path in ((10, build / "test_api"), (10, module), (30, build / "test_ir"), (20, stamp)):
        os.utime(path, (seconds, seconds))
    assert affected(build) == ["ir"]
