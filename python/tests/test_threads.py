"""Concurrent calls, processes that fork, and the number of threads."""

import os
import threading

import numpy as np
import pytest

import halfstep
from raising import raises

SCALE, ZERO_POINT = np.array([0.1], np.float32), np.array([3], np.int32)


def test_threads_at_once():
    inputs = [np.random.default_rng(i).uniform(-9, 9, 1 + 40_000 * i).astype(np.float32) for i in range(6)]
    expected = [halfstep.ops.fake_quantize(x, SCALE, ZERO_POINT).tobytes() for x in inputs]
    different = []

    def work(first):
        for round in range(30):
            i = (first + round) % len(inputs)
            if halfstep.ops.fake_quantize(inputs[i], SCALE, ZERO_POINT).tobytes() != expected[i]:
                different.append(i)
            try:
                halfstep.ops.fake_quantize(inputs[i], SCALE, SCALE)
                different.append("no error")
            except halfstep.Error:
                pass

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not different


def test_number_of_threads():
    x = np.random.default_rng(1).uniform(-9, 9, 1_000_000).astype(np.float32)
    try:
        found = set()
        for count in (1, 2, 3):
            halfstep.set_threads(count)
            assert halfstep.threads() == count
            found.add(halfstep.ops.fake_quantize(x, SCALE, ZERO_POINT).tobytes())
        assert len(found) == 1
        with raises("thread_count_negative", match="-1"):
            halfstep.set_threads(-1)
    finally:
        halfstep.set_threads(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_threads_of_its_own():
    x = np.random.default_rng(2).uniform(-9, 9, 1_000_000).astype(np.float32)
    halfstep.set_threads(2)
    try:
        expected = halfstep.ops.fake_quantize(x, SCALE, ZERO_POINT).tobytes()
        child = os.fork()
        if child == 0:
            os._exit(0 if halfstep.ops.fake_quantize(x, SCALE, ZERO_POINT).tobytes() == expected else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert halfstep.ops.fake_quantize(x, SCALE, ZERO_POINT).tobytes() == expected
    finally:
        halfstep.set_threads(0)
