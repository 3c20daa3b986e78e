"""hs.nn and arrays have the names and behaviour of PyTorch and NumPy. Old names work with a warning."""

import builtins
import pickle

import halfstep as hs
import numpy as np
import pytest

from raising import raises


@pytest.mark.parametrize("words", [(5,), (2, 7), (2, 9, 3), (9, 2, -2), (0.0, 1.0, 0.25), (3.0,)])
def test_arange_is_that_of_numpy(words):
    found = hs.arange(*words)
    np.testing.assert_array_equal(found.numpy(), np.arange(*words))
    assert found.dtype == ("i64" if all(isinstance(word, int) for word in words) else "f32")


def test_arange_takes_a_type():
    assert hs.arange(3, dtype=np.int8).dtype == hs.int8


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_element_types_of_numpy(name):
    ours = getattr(hs, name)
    for given in (ours, name, getattr(np, name), np.dtype(name)):
        assert hs.zeros((2,), given).dtype == ours
        assert hs.array([1, 2], given).dtype == ours and hs.array([1, 2]).astype(given).dtype == ours
        assert hs.array([1, 2]).to(given).dtype == ours


@pytest.mark.parametrize("name", ["float32", "float16", "int8", "uint8", "int16", "int32", "int64", "bool_"])
def test_a_dtype_equals_its_names_and_those_of_numpy(name):
    ours = getattr(hs, name)
    x = hs.zeros((2,), ours)
    assert x.dtype is ours and x.astype("f64").dtype is hs.float64
    for other in (ours, str(ours), name.removesuffix("_"), getattr(np, name), np.dtype(name.removesuffix("_"))):
        assert x.dtype == other and not x.dtype != other
    for other in (np.float64, "f64", "float64", None, 3, object()):
        assert x.dtype != other and not x.dtype == other
    assert {x.dtype: 1}[str(ours)] == 1 and pickle.loads(pickle.dumps(ours)) is ours
    net = hs.network(lambda x: x + x, x=(str(ours), (None, 3))) if name in ("float32", "int32") else None
    assert net is None or (net.inputs["x"][0] is ours and net.outputs[next(iter(net.outputs))][0] is ours)


def test_element_types_without_numpy():
    assert repr(hs.bfloat16) == "halfstep.bfloat16" and hs.array([1.0], hs.bfloat16).dtype == hs.bfloat16
    assert (hs.array([1, 2]) == 1).dtype == hs.bool_


def test_an_unknown_element_type():
    with pytest.raises(hs.Error) as raised:
        hs.zeros((2,), "float23")
    assert raised.value.name == "not_a_dtype" and "float23" in raised.value.found
    with pytest.raises(TypeError, match="object"):
        hs.zeros((2,), object)


def test_a_batch_norm_moves_by_its_momentum_towards_the_batch():
    x = hs.array(np.random.default_rng(0).normal(3, 2, (8, 2, 4, 4)).astype(np.float32))
    norm = hs.nn.BatchNorm2d(2, momentum=0.25)
    with hs.train_mode():
        norm(x)
    np.testing.assert_allclose(norm.running_mean.numpy(), 0.25 * x.numpy().mean((0, 2, 3)), rtol=1e-5)
    np.testing.assert_allclose(norm.running_var.numpy(), 0.75 + 0.25 * x.numpy().var((0, 2, 3), ddof=1), rtol=1e-5)
    assert {name for name in norm.state_dict()} == {"weight", "bias", "running_mean", "running_var"}


def test_modes_of_modules():
    network = hs.nn.Sequential(hs.nn.Linear(3, 3), hs.nn.Dropout(0.5))
    x = hs.ones((64, 3))
    assert network.train() is network
    assert (network(x).numpy() == 0).any()
    network.eval()
    with hs.train_mode():  # The module's own mode has priority.
        assert not (network(x).numpy() == 0).any()
    assert [type(each).__name__ for each in network.modules()] == ["Sequential", "Linear", "Dropout"]


def test_a_module_moves_and_keeps_shared_parameters():
    network = hs.nn.Sequential(hs.nn.Linear(3, 3), hs.nn.Linear(3, 3))
    network[1].weight = network[0].weight
    x = hs.ones((2, 3))
    before = network(x).numpy()
    assert network.to("sim") is network
    assert network[1].weight is network[0].weight and network[0].weight.requires_grad
    assert {each.device for each in network.named_arrays().values()} == {"sim"}
    np.testing.assert_allclose(network(x.to("sim")).to("cpu").numpy(), before, rtol=1e-5)


X = np.random.default_rng(2).normal(0, 2, (3, 1, 4)).astype(np.float32)
Y = np.random.default_rng(3).normal(0, 2, (2, 1)).astype(np.float32)
OF_NUMPY = {
    "exp": (X,),
    "log": (np.abs(X),),
    "sqrt": (np.abs(X),),
    "tanh": (X,),
    "maximum": (X, Y),
    "minimum": (X, 0.5),
    "clip": (X, -1, 1.5),
    "argmax": (X, -1),
    "squeeze": (X, 1),
    "expand_dims": (X, -1),
}


@pytest.mark.parametrize("name", OF_NUMPY)
def test_functions_are_those_of_numpy(name):
    words = OF_NUMPY[name]
    expected = getattr(np, name)(*words)
    for function in (getattr(hs, name), hs.jit(getattr(hs, name))):
        np.testing.assert_allclose(function(hs.array(words[0]), *words[1:]).numpy(), expected, rtol=1e-6)


def test_functions_of_pytorch():
    weights = np.exp(X) / np.exp(X).sum(2, keepdims=True)
    np.testing.assert_allclose(hs.softmax(X).numpy(), weights, rtol=1e-6)
    np.testing.assert_allclose(hs.softmax(X, 2).numpy(), weights, rtol=1e-6)
    np.testing.assert_allclose(hs.sigmoid(X).numpy(), 1 / (1 + np.exp(-X)), rtol=1e-6)
    np.testing.assert_array_equal(hs.relu(X).numpy(), np.maximum(X, 0))


def test_a_limit_may_be_absent():
    np.testing.assert_array_equal(hs.clip(X, min=0.5).numpy(), np.maximum(X, np.float32(0.5)))
    np.testing.assert_array_equal(hs.array(X).clip(max=0.5).numpy(), np.minimum(X, np.float32(0.5)))
    assert hs.clip(hs.arange(5), 1, 3).tolist() == [1, 1, 2, 3, 3]


def test_momentum_of_the_operator_is_one_minus_that_of_the_layer():
    x = hs.array(np.random.default_rng(0).normal(3, 2, (8, 2, 4, 4)).astype(np.float32))
    norm = hs.nn.BatchNorm2d(2, momentum=0.25)
    with hs.train_mode():
        norm(x)
    one, zero = np.ones(2, np.float32), np.zeros(2, np.float32)
    step = hs.ops.batch_norm(x, one, zero, zero, one, momentum=0.75, is_test=False)
    np.testing.assert_allclose(step.mean_out.numpy(), norm.running_mean.numpy(), rtol=1e-6)


def test_no_name_hides_a_function_of_python():
    assert not set(dir(builtins)) & set(hs.__all__)
    assert abs(hs.array([-2.0])).item() == 2.0 and hs.array([3, 1]).max().item() == 3


OLD = {
    "Linear": lambda: hs.nn.Linear(inputs=2, outputs=3),
    "Conv2d": lambda: hs.nn.Conv2d(channels=2, outputs=3, kernel=1),
    "BatchNorm2d": lambda: hs.nn.BatchNorm2d(channels=2, epsilon=1e-3),
    "momentum": lambda: hs.nn.BatchNorm2d(2, momentum=0.9),
    "LayerNorm": lambda: hs.nn.LayerNorm(shape=2, epsilon=1e-3),
    "Embedding": lambda: hs.nn.Embedding(count=2, width=3),
    "Dropout": lambda: hs.nn.Dropout(rate=0.5),
    "GELU": lambda: hs.nn.GELU(approximate=True),
    "MaxPool2d": lambda: hs.nn.MaxPool2d(kernel=2),
    "AvgPool2d": lambda: hs.nn.AvgPool2d(kernel=2),
    "Flatten": lambda: hs.nn.Flatten(axis=1),
    "LSTMCell": lambda: hs.nn.LSTMCell(inputs=2, width=3),
    "mse": lambda: hs.nn.mse(hs.ones((2,)), hs.ones((2,))),
    "arange": lambda: hs.arange(count=3),
    "normal": lambda: hs.normal((2,), deviation=2.0),
    "full": lambda: hs.full((2,), value=2.0),
}


@pytest.mark.parametrize("name", OLD)
def test_old_names_work_with_a_warning(name):
    with pytest.warns(FutureWarning, match="halfstep 0.3 removes the old form"):
        OLD[name]()


@pytest.mark.parametrize("axis", [2, -3])
def test_an_axis_that_does_not_exist_is_an_error(axis):
    x = hs.ones((2, 3))
    reductions = (x.sum, x.mean, x.max, x.min, x.argmax)
    for call in (*reductions, lambda axis: hs.concat([x, x], axis)):
        with raises("axis_missing", found=f"axis {axis}"):
            call(axis=axis)
    assert x.sum(-1).shape == x.argmax(-1).shape == (2,) and x.sum((0, -1)).shape == ()
