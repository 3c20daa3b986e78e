"""Fixtures that several tests share, and checks for all tests."""

import builtins
import os

import numpy as np
import pytest

import halfstep

PRINT = builtins.print

if os.environ.get("HALFSTEP_CAPTURE"):
    from capturing import pytest_sessionfinish, pytest_terminal_summary  # noqa: F401


@pytest.fixture(autouse=True)
def nothing_leaks():
    """After every test, check that switches are restored, no trace is active, and print is the built-in."""
    yield
    assert halfstep._core.switches.get(None) is None, "a test left a switch as it had set it"
    assert not halfstep._core.is_tracing(), "a test left a function that is traced"
    assert builtins.print is PRINT, "a test left print replaced"


@pytest.fixture(scope="session")
def samples():
    """Return rings of four sizes, in f32 and raw."""
    rng = np.random.default_rng(1)
    labels = np.arange(400) % 4
    y, x = np.mgrid[:8, :8] - 3.5
    rings = np.abs(np.hypot(y, x)[None] - labels[:, None, None]) < 0.9
    images = rings[:, None] * 0.8 + rng.random((400, 1, 8, 8)) * 0.2
    return images.astype(np.float32), labels.astype(np.int32)
