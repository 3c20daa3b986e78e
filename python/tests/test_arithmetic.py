"""Clauses of docs/arithmetic.md that a whole network shows."""

import pytest

import halfstep as hs

np = pytest.importorskip("numpy")


@pytest.fixture(scope="module")
def digits():
    return hs.datasets.digits()


@pytest.fixture(scope="module")
def network(digits):
    return hs.create_network("digits", digits)


# A2.20
def test_centered_codes_are_all_codes_around_zero(network, digits):
    overrides = {"weights.zero_points": "centered", "activations.codes": "signed", "activations.zero_points": "centered"}
    quantizers = hs.quantize(network, "generic_int8", data=digits, overrides=overrides).report.quantizers
    assert {row["kind"] for row in quantizers} == {"weight", "activation"}
    for row in quantizers:
        assert (row["code_min"], row["code_max"]) == (-128, 127), row["tensor"]
        assert not any(row["zero_point"]), row["tensor"]


# A2.20
def test_layers_with_zero_points_of_weights_compute_in_float(network, digits):
    prepared = hs.quantize(network, "tengine_u8", data=digits)
    in_float = {row["tensor"] for row in prepared.report.in_float if row["reason"] == "weights with zero points have no integer implementation"}
    weights = [row for row in prepared.report.quantizers if row["kind"] == "weight"]
    assert in_float == {row["layer"] for row in weights}
    assert all((row["code_min"], row["code_max"]) == (0, 255) and any(row["zero_point"]) for row in weights)


# A2.25
@pytest.mark.parametrize(
    ("platform", "of", "kind", "equal"),
    [
        ("generic_int8", "activations", "lsq_plus", True),
        ("generic_int8", "activations", "pact", True),
        ("generic_int8", "activations", "qdrop", True),
        ("generic_int8", "weights", "dsq", True),
        ("generic_int8", "weights", "adaround", True),
        ("generic_int8", "weights", "dorefa", False),
        ("pow2_int8", "activations", "tqt", True),
        ("pow2_int8", "weights", "tqt", True),
    ],
)
def test_kinds_begin_with_the_results_of_fixed(network, digits, platform, of, kind, equal):
    x = digits.arrays()["x"][:64]
    outputs = [
        hs.quantize(network, platform, data=digits, overrides={f"{of}.quantizer": name}, weight_bits=4, activation_bits=4)(x)
        for name in (kind, "fixed")
    ]
    assert np.array_equal(*outputs) == equal


# A9.10
def test_softmax_and_means_stay_in_float_in_the_form_of_onnxruntime():
    class Shares(hs.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = hs.nn.Linear(8, 8), hs.nn.Linear(8, 4)

        def forward(self, x):
            hidden = self.first(x)
            return self.last(hs.ops.softmax(hidden)), hs.ops.reduce_mean(hidden, axes=[1])

    x = np.random.default_rng(0).standard_normal((64, 8)).astype("f4")
    network = hs.network(Shares(), x=(None, 8))

    def in_float(platform):
        return [row["operator"] for row in hs.quantize(network, platform, data={"x": x}).report.in_float]

    assert in_float("generic_int8") == []
    assert in_float("onnxruntime_int8") == ["softmax", "reduce_mean"]


# A10.6, A10.7
def test_the_fused_observer_of_pytorch():
    def run(x, low, high, **options):
        one = {"scale": np.full(1, 9, "f4"), "zero_point": np.full(1, 3, "i4")}
        extremes = {"running_min": np.array([low], "f4"), "running_max": np.array([high], "f4")}
        step = hs.ops.fused_moving_avg_obs_fake_quant(np.array(x, "f4"), **extremes, **one, **options)
        return [float(value[0]) for value in (step.running_min_out, step.running_max_out, step.scale_out, step.zero_point_out)]

    infinite = (np.inf, -np.inf)
    assert run([-1, 254], *infinite) == [-1, 254, 1, 1]
    assert run([-1, 254], 0, 0, averaging_const=0.5)[:2] == [-0.5, 127]
    assert run([0, 0], *infinite)[2] == pytest.approx(0.1)
    assert run([5, 7], -1, 254, observer_on=False) == [-1, 254, 1, 1]
    assert run([5, 7], -1, 254, observer_on=False, fake_quant_on=False) == [-1, 254, 9, 3]
    assert run([], -1, 254)[:2] == [-1, 254]
