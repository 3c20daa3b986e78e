"""NumPy is optional. The import of halfstep does not load it, and without it arrays are buffers that support DLPack."""

import array
import os
import subprocess
import sys

import numpy as np
import pytest
from raising import raises

import halfstep as hs

PROGRAM = os.environ.get("HALFSTEP_PROGRAM", "build/release/halfstep")

NOT_INSTALLED = "import sys; sys.modules.update(dict.fromkeys(('numpy', 'ml_dtypes', 'torch')))"
PRELUDE = """
import array, sys
import halfstep as hs

def floats(values, *shape):
    return memoryview(array.array("f", values)).cast("B").cast("f", shape or (len(values),))
"""


def python(*lines, prelude=NOT_INSTALLED + PRELUDE, arguments=()):
    command = [sys.executable, "-c", prelude + "\n".join(lines), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_takes_little():
    lines = ("import sys; before = set(sys.modules)", "import halfstep", "print(*sorted(set(sys.modules) - before))")
    modules = python(*lines, prelude="").split()
    roots = {name.split(".")[0] for name in modules}
    assert "halfstep" in roots and roots <= sys.stdlib_module_names | {"halfstep"}
    assert len(modules) <= 74, modules  # A bare Python has about 35, and 39 are ours.


def test_operators():
    python(
        "x = floats(range(-6, 6), 3, 4)",
        "y = hs.ops.relu(x)",
        "assert memoryview(y).tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [2, 3, 4, 5]], memoryview(y).tolist()",
        "assert memoryview(y).format == 'f' and y.__dlpack_device__() == (1, 0)",
        "assert memoryview(hs.ops.concat([y, x], axis=0)).shape == (6, 4)",
        "flat = memoryview(x).cast('B').cast('f')",
        "assert memoryview(hs.ops.relu(flat[::-3])).tolist() == [5, 2, 0, 0]",
        "assert memoryview(hs.ops.relu(flat[:0])).shape == (0,)",
        "codes = hs.ops.quantize(flat, floats([0.5]), array.array('i', [3]))",
        "assert memoryview(codes).format == 'B' and memoryview(codes).tolist() == [0] * 5 + [1, 3, 5, 7, 9, 11, 13]",
        "try:",
        "    hs.ops.quantize(flat, floats([1]), array.array('i', [0]), code_min=-8, code_max=7, code_type='i4')",
        "except hs.UnsupportedError as error:",
        "    assert error.id == 'HS9109' and 'i4' in error.problem",
        "else:",
        "    raise AssertionError",
    )


def test_verbs(tmp_path):
    subprocess.run([PROGRAM, "train", "--epochs", "1", "--out", tmp_path / "run"], check=True, capture_output=True)
    network = tmp_path / "run/model.safetensors"
    lines = (
        "net = hs.load(sys.argv[1])",
        "data = floats([i % 17 for i in range(40 * 64)], 40, 1, 8, 8), [i % 10 for i in range(40)]",
        "prepared = hs.quantize(net, data=data)",
        "fit = hs.train(prepared, data, epochs=1)",
        "program = hs.convert(prepared)",
        "assert hs.verify(prepared, program, data).equal",
        "y = memoryview(program(data[0]))",
        "assert y.shape == (40, 10) and y.format == 'f'",
        "assert memoryview(program.layers['conv1'](data[0])).format == 'B'",
        "right = lambda out, labels: sum(max(range(10), key=row.__getitem__) == k for row, k in zip(memoryview(out).tolist(), labels)) / 40",
        "assert float(hs.evaluate_metric(program, [data], right)) == float(hs.evaluate(program, hs.datasets.load(data, all=True)))",
        "import hashlib; print(program.digest, hashlib.sha256(y).hexdigest())",
    )
    assert python(*lines, arguments=[network]) == python(*lines, prelude=PRELUDE, arguments=[network])


def test_buffers_are_operands_beside_numpy():
    found = hs.ops.relu(array.array("d", [-1, 2])[::-1])
    assert type(found) is np.ndarray and found.dtype == np.float64 and found.tolist() == [2, 0]
    assert type(hs.ops.add(array.array("f", [1]), np.ones(1, np.float32))) is np.ndarray
    for code in "bBhHiIlLqQ":
        assert hs.ops.concat([array.array(code, [1, 2])] * 2, axis=0).tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("value", [array.array("u", "a"), memoryview(b"ab").cast("c")], ids=["text", "characters"])
def test_buffers_of_other_things(value):
    with raises("not_an_element_type", where="call: relu: x"):
        hs.ops.relu(value)


def test_labels_may_be_a_list():
    x = np.zeros((4, 1, 8, 8), np.float32)
    for data in ((x, [0, 1, 2, 3]), {"x": x, "labels": [0, 1, 2, 3]}, (x, range(4))):
        assert hs.datasets.load(data).has_labels
