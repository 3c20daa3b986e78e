"""Tensors of other libraries."""

import sys

import numpy as np
import pytest

import halfstep
from raising import raises

X = np.arange(-6, 6, dtype=np.float32).reshape(3, 4)


class Foreign:
    """A tensor of a library without from_dlpack."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device


def test_foreign_tensors_give_tensors_that_speak_dlpack():
    found = halfstep.ops.relu(Foreign(X))
    assert not isinstance(found, np.ndarray)
    assert found.__dlpack_device__() == (1, 0)
    assert np.array_equal(np.from_dlpack(found), np.maximum(X, 0))
    again = halfstep.ops.relu(found)
    assert np.array_equal(np.from_dlpack(again), np.maximum(X, 0))


@pytest.mark.parametrize("view", [X.T, X[::2], X[:, 1:3], X[::-1], X[:0], X[1, 2, ...]], ids=str)
def test_any_strides(view):
    found = np.from_dlpack(halfstep.ops.relu(Foreign(view)))
    assert found.shape == view.shape and np.array_equal(found, np.maximum(view, 0))


def test_memory_outlives_the_result():
    shown = np.from_dlpack(halfstep.ops.relu(Foreign(np.full(100_000, 3, np.float32))))
    halfstep.ops.relu(Foreign(np.full(100_000, 5, np.float32)))
    assert (shown == 3).all()


def test_operands_are_let_go_of():
    x = X.copy()
    before = sys.getrefcount(x)
    for _ in range(10):
        halfstep.ops.relu(Foreign(x))
        halfstep.ops.relu(Foreign(x[::-1]))
        with pytest.raises(halfstep.Error):
            halfstep.ops.fake_quantize(Foreign(x), x, x)
    assert sys.getrefcount(x) == before


def test_one_foreign_operand_decides():
    scale, zero_point = np.ones(1, np.float32), np.zeros(1, np.int32)
    assert not isinstance(halfstep.ops.fake_quantize(X, scale, Foreign(zero_point)), np.ndarray)
    assert isinstance(halfstep.ops.fake_quantize(X, scale, zero_point), np.ndarray)


def test_other_devices():
    with raises("array_on_other_device", where="call: relu: x", found="the device 2 of DLPack"):
        halfstep.ops.relu(Foreign(X, (2, 0)))


def test_foreign_dtypes():
    with raises("not_an_element_type", where="call: relu: x", found="a tensor of DLPack type 5 with 64 bits and 1 lanes"):
        halfstep.ops.relu(Foreign(X.astype(np.complex64)))


def test_a_broken_tensor():
    class Broken(Foreign):
        def __dlpack__(self):
            raise BufferError("it is in use")

    with pytest.raises(BufferError, match="it is in use"):
        halfstep.ops.relu(Broken(X))
    with pytest.raises(ValueError):
        halfstep.ops.relu(type("NoCapsule", (Foreign,), {"__dlpack__": lambda self: 7})(X))


def quantized(x):
    return np.clip(np.rint(x / np.float32(0.5)), -4, 3).astype(np.float32) * np.float32(0.5)


def test_torch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.from_numpy(X.copy())
    scale, zero_point = torch.tensor([0.5]), torch.tensor([0], dtype=torch.int32)
    for view in (x, x.t(), x[:, ::2]):
        found = halfstep.ops.fake_quantize(view, scale, zero_point, code_min=-4, code_max=3)
        assert type(found) is torch.Tensor
        assert np.array_equal(found.numpy(), quantized(view.numpy()))
    both = halfstep.ops.concat([x.to(torch.bfloat16)] * 2, axis=0)
    assert both.dtype == torch.bfloat16 and torch.equal(both, torch.cat([x.to(torch.bfloat16)] * 2))


def test_paddle():
    paddle = pytest.importorskip("paddle", reason="PaddlePaddle is not installed")
    x = paddle.to_tensor(X)
    scale, zero_point = paddle.to_tensor([0.5]), paddle.to_tensor([0], dtype="int32")
    for view in (x, x.t()):
        found = halfstep.ops.fake_quantize(view, scale, zero_point, code_min=-4, code_max=3)
        assert isinstance(found, paddle.Tensor)
        assert np.array_equal(found.numpy(), quantized(view.numpy()))
    both = halfstep.ops.concat([x.astype("bfloat16")] * 2, axis=0)
    assert both.dtype == paddle.bfloat16 and both.shape == [6, 4]
    if hasattr(paddle, "_C_ops") and hasattr(halfstep, "fake_quantize_abs_max"):
        found = halfstep.ops.fake_quantize_abs_max(x)
        out, out_scale = paddle._C_ops.fake_quantize_abs_max(x, 8, 1)
        assert np.array_equal(found.out.numpy(), out.numpy())
        assert np.array_equal(found.out_scale.numpy(), out_scale.numpy())
