"""Calls are watched while a function is captured, and nothing of the watch remains afterwards."""

import cProfile
import gc
import pstats
import sys
import time

import pytest
from captured.harness import array

import halfstep as hs


def doubled_here(x):
    return x * 2


def test_a_profiler_sees_what_it_saw():
    function = hs.jit(lambda x: doubled_here(x))
    profile = cProfile.Profile()
    profile.enable()
    function(array(1.0))
    doubled_here(array(1.0))
    profile.disable()
    calls = {name: count for (_, _, name), (count, *_) in pstats.Stats(profile).stats.items()}
    assert calls["doubled_here"] == 2
    assert sys.getprofile() is None


@pytest.mark.parametrize("is_enabled", [True, False])
def test_garbage_is_collected_as_before(is_enabled):
    (gc.enable if is_enabled else gc.disable)()
    try:
        found = []
        hs.jit(lambda x: found.append(x) or x)(array(1.0))
        with pytest.raises(KeyError):
            hs.jit(lambda x: {}["k"])(array(1.0))
        assert gc.isenabled() is is_enabled
    finally:
        gc.enable()


def test_a_module_that_is_imported_puts_the_capture_off(tmp_path, monkeypatch):
    (tmp_path / "halfstep_put_off.py").write_text("import time\nk = 2.0\nstarted = time.time()\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def f(x):
        import halfstep_put_off

        return x * halfstep_put_off.k

    function = hs.jit(f)
    assert [function(array(1.0)).tolist() for _ in range(3)] == [[2.0]] * 3
    sys.modules["halfstep_put_off"].k = 3.0
    assert function(array(1.0)).tolist() == [3.0]
    del sys.modules["halfstep_put_off"]
    assert function.why_recaptured[0] == "module 'halfstep_put_off' was imported while it ran"
    assert [each.calls for each in function.programs] == [0, 1]


def test_the_reason_is_told():
    function = hs.jit(lambda x: x * (time.time() > 0))
    with pytest.warns(UserWarning, match="runs step by step from now on"):
        function(array(1.0))
    assert function.why_recaptured[-1].startswith("it runs step by step from now on: found a call of time.time (")
    assert function(array(3.0)).tolist() == [3.0]
