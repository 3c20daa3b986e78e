"""The patches of tests/networks/defects apply to the sources. run_defects.py, which searches for each of them, takes
too long here."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
@pytest.mark.parametrize("patch", sorted((ROOT / "tests/networks/defects").glob("*.patch")), ids=lambda patch: patch.stem)
def test_fits(patch):
    ended = subprocess.run(["git", "apply", "--check", str(patch)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
