"""Operators that preparation writes as others: each becomes integers, with the codes of the prepared network.

`verify` compares all codes, and every layer with the float network of the file (semantic check)."""

import numpy as np
import pytest

import halfstep as hs

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

PLATFORMS = ("generic_int8", "pow2_int8", "magik_t40")
RNG = np.random.default_rng(7)


def node(op, inputs, outputs=("f",), **attributes):
    return helper.make_node(op, list(inputs), list(outputs), **attributes)


def numbers(*shape):
    return (RNG.normal(size=shape) * 0.4).astype(np.float32)


def network(nodes, stored=(), shift=0.0, opset=20):
    """A convolution of x[n, 4, 6, 6] to c[n, 8, 6, 6], then nodes from 'c' to 'f'. `shift` moves c above 0."""
    stored = {"w": numbers(8, 4, 3, 3), "b": numbers(8), **dict(stored)}
    nodes = [node("Conv", ["x", "w", "b"], ["c" if shift == 0 else "c0"], pads=[1, 1, 1, 1]), *nodes]
    if shift:
        stored["shift"] = np.float32(shift)
        nodes[1:1] = [node("Relu", ["c0"], ["c1"]), node("Add", ["c1", "shift"], ["c"])]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4, 6, 6])],
        [helper.make_tensor_value_info("f", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in stored.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def load(model, folder):
    (folder / "net.onnx").write_bytes(model.SerializeToString())
    return hs.load(folder / "net.onnx")


SAMPLES = np.random.default_rng(3).normal(size=(24, 4, 6, 6)).astype(np.float32)


def check_integers(model, folder, platform):
    """Without float operators, with equal codes and a clean semantic check."""
    prepared = hs.quantize(load(model, folder), platform, data=SAMPLES)
    program = hs.convert(prepared)
    assert hs.verify(prepared, program, SAMPLES).equal


def one(op, **attributes):
    return network([node(op, ["c"], **attributes)])


def power(exponent):
    return network([node("Pow", ["c", "e"])], {"e": np.asarray(exponent)}, shift=0.5)


def reduction(op, axes, keep, shift=0.0):
    return network([node(op, ["c", "axes"], keepdims=keep)], {"axes": np.array(axes)}, shift)


FUNCTIONS = {
    op: network([node(op, ["c"])], shift=0.5 if op in ("Log", "Sqrt", "Reciprocal") else 0.0)
    for op in (
        "Abs Sign Floor Ceil Round Exp Log Sqrt Reciprocal Sin Cos Tan Atan Sinh Cosh Asinh Erf Softplus Softsign Elu Celu Selu HardSigmoid HardSwish Mish "
        "ThresholdedRelu Shrink Neg Tanh Sigmoid Gelu LeakyRelu"
    ).split()
}

POWERS = {
    **{f"power_{exponent}": power(np.float32(exponent)) for exponent in (3, 1.5, -0.75, 1, 0, 4)},
    "power_of_integers": power(np.int64(3)),
    "two_to_the_power": network([node("Pow", ["two", "c"])], {"two": np.float32(2)}),
    "reciprocal": network([node("Div", ["three", "c"])], {"three": np.float32(3)}, shift=0.5),
    "quotient": network([node("Sigmoid", ["c"], ["s"]), node("Div", ["c", "s"])]),
    "quotient_by_root": network([node("Sqrt", ["c"], ["s"]), node("Div", ["c", "s"])], shift=0.5),
}

NORMS = {
    "lrn": one("LRN", size=5, alpha=1e-4, beta=0.75, bias=1.0),
    "lrn_of_even_size": one("LRN", size=4, alpha=0.5, beta=0.5, bias=2.0),
    "lp_1": one("LpNormalization", axis=1, p=1),
    "lp_2": one("LpNormalization", axis=1, p=2),
    "mean_variance": one("MeanVarianceNormalization", axes=[2, 3]),
    "log_softmax": one("LogSoftmax", axis=1),
    "normalize": network(
        [node("ReduceL2", ["c", "axes"], ["l"], keepdims=1), node("Clip", ["l", "eps"], ["m"]), node("Shape", ["c"], ["all"]), node("Expand", ["m", "all"], ["e"])]
        + [node("Div", ["c", "e"])],
        {"axes": np.array([1]), "eps": np.float32(1e-12)},
    ),
    "cosine_similarity": network(
        [node("Sigmoid", ["c"], ["s"]), node("Mul", ["c", "s"], ["p"]), node("ReduceSum", ["p", "axes"], ["dot"], keepdims=0)]
        + [node("ReduceL2", [value, "axes"], [f"l{value}"], keepdims=0) for value in "cs"]
        + [node("Mul", ["lc", "ls"], ["l"]), node("Clip", ["l", "eps"], ["m"]), node("Div", ["dot", "m"])],
        {"axes": np.array([1]), "eps": np.float32(1e-8)},
    ),
}

REDUCTIONS = {
    f"{op}_{axes}_{keep}": reduction(op, axes, keep, shift=0.1 if op == "ReduceLogSum" else 0.0)
    for op in ("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin")
    for axes, keep in (([1], 1), ([-1, 2], 0), ([1, 2, 3], 1))
}

THREE = {"three": np.array([0, 8, 36])}
ROWS = [node("Sigmoid", ["c"], ["s"]), node("Reshape", ["c", "three"], ["q"]), node("Reshape", ["s", "three"], ["k"])]


def product(equation, *inputs, **stored):
    return network([*ROWS, node("Einsum", inputs, equation=equation)], {**THREE, **stored})


PRODUCTS = {
    "pixels": product("oc,nchw->nohw", "m", "c", m=numbers(5, 8)),
    "scores": product("nci,ndi->ncd", "q", "k"),
    "sums": product("nci,ndi->nc", "q", "k"),
    "many_letters": product("nchw,nchv,wd->nhvd", "c", "s", "m", m=numbers(6, 3)),
    "elements": product("nchw,ncHW->nhwHW", "c", "s"),
    "batched_weights": product("nci,cio->nco", "q", "m", m=numbers(8, 36, 4)),
    "dots": product("...i,ij", "q", "m", m=numbers(36, 7)),
    "repeated": product("nci,ndi->ncd", "q", "m", m=numbers(1, 3, 1)),
    "left_matrix": network([*ROWS, node("MatMul", ["m", "q"])], {**THREE, "m": numbers(5, 8)}),
    "vector": network([*ROWS, node("MatMul", ["q", "m"])], {**THREE, "m": numbers(36)}),
}

MOVES = {
    "depth_to_space_dcr": one("DepthToSpace", blocksize=2, mode="DCR"),
    "depth_to_space_crd": one("DepthToSpace", blocksize=2, mode="CRD"),
    "space_to_depth": one("SpaceToDepth", blocksize=2),
    "clip_from_below": network([node("Clip", ["c", "low"])], {"low": np.float32(-0.3)}),
    "clip_from_above": network([node("Clip", ["c", "", "high"])], {"high": np.float32(0.7)}),
    "where": network([node("Greater", ["c", "zero"], ["is"]), node("Mul", ["c", "c"], ["yes"]), node("Neg", ["c"], ["no"]), node("Where", ["is", "yes", "no"])], {"zero": np.float32(0.1)}),
    "hard_shrink": network(
        [node("Greater", ["c", "high"], ["more"]), node("Less", ["c", "low"], ["less"]), node("Or", ["more", "less"], ["is"]), node("Where", ["is", "c", "zero"])],
        {"high": np.float32(0.5), "low": np.float32(-0.5), "zero": np.float32(0)},
    ),
    "condition_as_number": network([node("LessOrEqual", ["c", "half"], ["is"]), node("Cast", ["is"], ["a"], to=TensorProto.FLOAT), node("Mul", ["a", "c"])], {"half": np.float32(0.5)}),
}

ALL = {**FUNCTIONS, **POWERS, **NORMS, **REDUCTIONS, **PRODUCTS, **MOVES}


@pytest.mark.filterwarnings("ignore::UserWarning")  # about ranges of these functions
# A5.40, A5.41, A5.42, A5.43, A5.44, A5.45
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("name", ALL)
def test_an_operator_becomes_integers(name, platform, tmp_path):
    check_integers(ALL[name], tmp_path, platform)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["power_1.5", "quotient_by_root", "lrn_of_even_size", "hard_shrink", "condition_as_number"])
def test_the_prepared_network_is_written_to_onnx(name, tmp_path):
    source = load(ALL[name], tmp_path)
    hs.export(hs.quantize(source, "generic_int8", data=SAMPLES), tmp_path / "floats.onnx", format="float")
    np.testing.assert_allclose(np.asarray(hs.load(tmp_path / "floats.onnx")(SAMPLES)), np.asarray(source(SAMPLES)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("platform", ["generic_int8", "pow2_int8"])
def test_a_row_of_zeros_keeps_its_length_of_zero(platform, tmp_path):
    """Rows of length 1 as F.normalize exports them. A ReLU of samples below 0 makes rows of zeros."""
    nodes = [node("Relu", ["c"], ["r"]), node("ReduceL2", ["r"], ["l"], axes=[-1], keepdims=1), node("Clip", ["l", "least"], ["k"]), node("Div", ["r", "k"])]
    model = load(network(nodes, {"least": np.float32(1e-12), "b": np.full(8, -1, np.float32)}, opset=17), tmp_path)
    found = model(SAMPLES)
    assert (np.asarray(found).reshape(-1, 6) == 0).all(1).any()
    prepared = hs.quantize(model, platform, data=SAMPLES)
    assert hs.verify(prepared, hs.convert(prepared), SAMPLES).equal


def reasons(model, folder):
    """The operators in float, with their reasons."""
    prepared = hs.quantize(load(model, folder), "generic_int8", data=SAMPLES)
    return str(prepared.metadata["float_operators"])


def test_operators_without_a_form_have_a_reason(tmp_path):
    bound = network([node("ReduceMax", ["c"], ["u"], keepdims=0), node("Clip", ["c", "", "u"])])
    assert "its bound 'u' is computed" in reasons(bound, tmp_path)
    diagonal = network([node("Einsum", ["c"], equation="nchh->nch")])
    assert "the letter 'h' twice" in reasons(diagonal, tmp_path)


def test_wrong_equations_are_refused_where_they_are_read(tmp_path):
    with pytest.raises(hs.UnsupportedError, match="einsum dims: 'c' is 8 and 7"):
        load(network([node("Einsum", ["c", "m"], equation="nchw,co->nohw")], {"m": numbers(7, 5)}), tmp_path)
