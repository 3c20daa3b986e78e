"""Fake quantizers, step by step: forward and gradients compared with MQBench's. APoT, which MQBench lacks, is compared
with NumPy.
"""

import itertools
import json
import os
import pathlib

import pytest

import halfstep as hs

np = pytest.importorskip("numpy")
FOLDER = pathlib.Path(os.environ.get("HALFSTEP_TEST_DATA", "")) / "platforms" / "mqbench"
needs_records = pytest.mark.skipif(not FOLDER.is_dir(), reason="there are no records of MQBench (HALFSTEP_TEST_DATA)")


class Case:
    """A case of units.json, with its tensors."""

    def __init__(self, name, about, tensors):
        self.name, self.about, self.tensors = name, about, tensors
        scheme = about["scheme"]
        self.symmetric = "symmetric" in scheme["qscheme"]
        self.axis = scheme["ch_axis"]
        self.codes = {"code_min": scheme["quant_min"], "code_max": scheme["quant_max"], "axis": self.axis, "method": "reciprocal"}

    def x(self, batch):
        return self.tensors[f"x.{self.about['input']}.{batch}"]

    @property
    def grad(self):
        return self.tensors["grad." + self.about["input"]]

    def theirs(self, step, what):
        return self.tensors[f"{self.name}.{step}.{what}"]

    def has(self, step, what):
        return f"{self.name}.{step}.{what}" in self.tensors

    def parameters(self, step):
        scale = self.theirs(step, "scale").reshape(-1).astype("f4")
        return {"scale": scale, "zero_point": np.round(self.theirs(step, "zero_point")).reshape(-1).astype("i4")}

    def check(self, step, what, ours, rtol=3e-5):
        theirs = self.theirs(step, what).reshape(np.shape(ours))
        atol = rtol * max(1e-6, np.abs(theirs).max())
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol, err_msg=f"{self.name}.{step}.{what}")

    def near_ties(self, x, scale, width=1e-4):
        """Return where float32 may round either way."""
        steps = x / along(scale, x, self.axis)
        return np.abs(np.abs(steps - np.floor(steps)) - 0.5) < width

    def check_but(self, step, what, ours, at_ties, most=2):
        """Compare all elements, except at most `most` at ties."""
        differ = np.abs(np.asarray(ours) - self.theirs(step, what)) > 3e-5 * max(1e-6, np.abs(self.theirs(step, what)).max())
        assert not (differ & ~at_ties).any() and differ.sum() <= most, f"{self.name}.{step}.{what}: {differ.sum()}"


def along(parameter, x, axis):
    """Broadcast a parameter of channels over x."""
    shape = [1] * x.ndim
    if axis >= 0:
        shape[axis] = -1
    return np.reshape(parameter, shape)


def fixed(case):
    codes = case.codes
    assert not case.has("calib0", "dx") or np.array_equal(case.theirs("calib0", "y"), case.x(0))
    for step, batch in (("quant", 2), ("both", 3)):
        given = case.parameters(step)
        case.check(step, "y", hs.ops.fake_quantize(x=case.x(batch), **given, **codes))
        case.check(step, "dx", hs.ops.fake_quantize_grad(x=case.x(batch), out_grad=case.grad, **given, **codes))


def learnable(case):
    codes, grad = case.codes, case.grad
    scaled = case.about["args"].get("use_grad_scaling", True)
    for step, batch in (("quant", 2), ("both", 3), ("moved", 2)):
        x = case.x(batch)
        scale, offset = (case.theirs(step, what).reshape(-1).astype("f4") for what in ("scale", "zero_point"))
        size = x.size / (scale.size if case.axis >= 0 else 1)
        gradient_scale = 1 / np.sqrt(size * codes["code_max"]) if scaled else 1.0
        whole = hs.ops.whole_offset(offset=offset, code_min=codes["code_min"], code_max=codes["code_max"])
        given = {"scale": scale, "zero_point": whole, **codes}
        case.check(step, "y", hs.ops.fake_quantize_offset(x=x, offset=offset, gradient_scale=gradient_scale, **given))
        case.check(step, "dx", hs.ops.fake_quantize_grad(x=x, out_grad=grad, **given))
        ours = hs.ops.fake_quantize_scale_grad(x=x, out_grad=grad, gradient_scale=gradient_scale, **given)
        # At 16 bits, MQBench's code - x / scale cancels in float32.
        case.check(step, "d_scale", ours, 2e-2 if codes["code_max"] > 255 else 2e-4)
        if not case.symmetric:
            case.check(step, "d_zero_point", hs.ops.fake_quantize_offset_grad(x=x, out_grad=grad, gradient_scale=gradient_scale, **given), 2e-4)


def nnie(case):
    for step, batch in (("quant", 2), ("both", 3)):
        codes = {"code_min": -128, "code_max": 127, "levels": "logarithmic"}
        scale = (case.theirs(step, "data_max").reshape(-1) / 127.5).astype("f4")
        given = {"scale": scale, "zero_point": np.zeros(1, "i4"), **codes}
        case.check(step, "y", hs.ops.fake_quantize_levels(x=case.x(batch), **given))
        case.check(step, "dx", hs.ops.fake_quantize_levels_grad(x=case.x(batch), out_grad=case.grad, **given))


def dorefa(case):
    for step, batch in (("calib0", 0), ("calib1", 1), ("quant", 2), ("both", 3)):
        x, given = case.x(batch), {**case.parameters(step), **case.codes}
        bent = hs.ops.tanh(x=x)
        unit = hs.ops.unit_magnitude(x=bent)
        grad = case.grad
        if step.startswith("calib"):
            case.check(step, "y", unit)
        else:
            ties = case.near_ties(np.asarray(unit), given["scale"])
            case.check_but(step, "y", hs.ops.fake_quantize(x=unit, **given), ties)
            grad = np.asarray(hs.ops.fake_quantize_grad(x=unit, out_grad=grad, **given))
        back = np.asarray(hs.ops.unit_magnitude_grad(x=bent, out_grad=grad))
        case.check(step, "dx", back * (1 - np.asarray(bent) ** 2), 2e-4)


def pact(case):
    for step, batch in (("calib0", 0), ("calib1", 1), ("quant", 2), ("both", 3)):
        x, given = case.x(batch), {**case.parameters(step), **case.codes}
        ends = {"high": case.theirs(step, "alpha").reshape(-1)}
        if case.has(step, "n_alpha"):
            ends["low"] = case.theirs(step, "n_alpha").reshape(-1)
        grad = case.grad
        clips = step != "quant"  # MQBench's clips only while it observes.
        clipped = hs.ops.learned_clip(x=x, **ends) if clips else x
        if step.startswith("calib"):
            case.check(step, "y", clipped)
        else:
            case.check(step, "y", hs.ops.fake_quantize(x=clipped, **given))
            grad = hs.ops.fake_quantize_grad(x=clipped, out_grad=grad, **given)
        if not clips:
            case.check(step, "dx", grad)
            continue
        case.check(step, "dx", hs.ops.learned_clip_grad(x=x, out_grad=grad, **ends))
        of_ends = hs.ops.learned_clip_ends_grad(x=x, out_grad=grad, **ends)
        case.check(step, "d_alpha", of_ends.high_grad, 2e-4)
        if case.has(step, "d_n_alpha"):
            case.check(step, "d_n_alpha", of_ends.low_grad, 2e-4)
        if step == "both" and case.about["input"] == "signed":
            ours = hs.ops.range_parameters(**ends, **{name: case.codes[name] for name in ("code_min", "code_max")}, zero_points="centered" if case.symmetric else "affine")
            covered = x.max() > ends["high"] and x.min() < ends.get("low", -ends["high"])
            if covered:
                np.testing.assert_allclose(ours.scale, case.theirs(step, "scale").reshape(-1), rtol=2e-6)


def dsq(case):
    softness = case.about["args"].get("alpha", 0.4)
    codes = {**case.codes, "method": "divide"}
    for step, batch in (("quant", 2), ("both", 3)):
        given = {**case.parameters(step), **codes, "softness": softness}
        # MQBench's adds the zero point before rounding, so a value closest to a tie may round the other way.
        ties = case.near_ties(case.x(batch), given["scale"], 1e-6)
        case.check_but(step, "y", hs.ops.fake_quantize_soft(x=case.x(batch), **given), ties)
        case.check(step, "dx", hs.ops.fake_quantize_soft_grad(x=case.x(batch), out_grad=case.grad, **given), 2e-4)


def tqt(case):
    for step, batch in (("quant", 2), ("both", 3)):
        given = case.parameters(step)
        power = hs.ops.threshold_scale(log2_scale=np.log2(given["scale"]))
        np.testing.assert_array_equal(power, given["scale"])
        given["scale"] = np.asarray(power)
        case.check(step, "y", hs.ops.fake_quantize(x=case.x(batch), **given, **case.codes))
        case.check(step, "dx", hs.ops.fake_quantize_grad(x=case.x(batch), out_grad=case.grad, **given, **case.codes))


def adaround(case):
    x = case.x(2)
    given = {**case.parameters("quant"), **case.codes}
    case.check("quant", "y", hs.ops.fake_quantize(x=x, **given))
    for step in ("adaround", "adaround_moved"):
        choice = case.theirs(step, "alpha")
        soft = {**given, "method": "divide", "x": x, "choice": choice}
        case.check(step, "y", hs.ops.adaptive_round(**soft))
        case.check(step, "d_alpha", hs.ops.adaptive_round_grad(**soft, out_grad=case.grad), 2e-4)
        if case.has(step, "hard"):
            case.check(step, "hard", hs.ops.adaptive_round(**soft, hard=True))


def qdrop(case):
    x, given = case.x(2), {**case.parameters("quant"), **case.codes, "method": "divide"}
    quantized = np.asarray(hs.ops.fake_quantize(x=x, **given))
    case.check("quant", "y", quantized)
    case.check("quant", "dx", hs.ops.fake_quantize_grad(x=x, out_grad=case.grad, **given))
    case.check("quant", "d_scale", hs.ops.fake_quantize_scale_grad(x=x, out_grad=case.grad, **given), 2e-4)
    for y, kept in ((case.theirs("drop", "y"), None), ours_dropped(x, quantized)):
        took = np.isclose(y, quantized, rtol=3e-5, atol=1e-7)
        left = y == x
        assert (took | left).all() and 0.35 < (took & ~left).sum() / (quantized != x).sum() < 0.65
        if kept is not None:
            np.testing.assert_array_equal(kept, took & ~left | took & left & kept)


def ours_dropped(x, quantized):
    after = hs.ops.drop_quantized(x=x, quantized=quantized, step=np.array([3]), is_test=False)
    assert np.asarray(after.step_out)[0] == 4
    back = hs.ops.drop_quantized_grad(kept=after.kept, out_grad=x)
    np.testing.assert_array_equal(back.quantized_grad, np.where(after.kept, x, 0))
    np.testing.assert_array_equal(back.x_grad, np.where(after.kept, 0, x))
    return np.asarray(after.out), np.asarray(after.kept)


CLASSES = {
    "FixedFakeQuantize": fixed,
    "LearnableFakeQuantize": learnable,
    "NNIEFakeQuantize": nnie,
    "DoReFaFakeQuantize": dorefa,
    "PACTFakeQuantize": pact,
    "DSQFakeQuantize": dsq,
    "TqtFakeQuantize": tqt,
    "AdaRoundFakeQuantize": adaround,
    "QDropFakeQuantize": qdrop,
}


def cases_of_mqbench():
    if not FOLDER.is_dir():
        return {}
    return json.loads((FOLDER / "units.json").read_text())["fake_quantizers"]


@needs_records
def test_there_are_56_cases():
    assert len(cases_of_mqbench()) == 56


# A2.24, A2.26
@needs_records
@pytest.mark.parametrize("name", cases_of_mqbench())
def test_of_mqbench(name):
    about = cases_of_mqbench()[name]
    tensors = pytest.importorskip("safetensors.numpy").load_file(FOLDER / "units.safetensors")
    CLASSES[about["class"]](Case(name, about, tensors))


def sums_of(bits):
    """Return all sums of one entry from each term. The largest sum is 1."""
    terms = -(-bits // 2)
    entries = [[0.0] + [2.0 ** -(i + k * terms) for k in range(1 if bits % 2 and i == terms - 1 else 3)] for i in range(terms)]
    sums = np.array(sorted(sum(chosen) for chosen in itertools.product(*entries)))
    return sums / sums.max()


# A2.24, A2.27
@pytest.mark.parametrize("bits", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("signed", [False, True])
def test_apot_against_all_levels(bits, signed):
    random = np.random.default_rng(bits)
    x = (random.standard_normal(4000) * 1.2).astype("f4")
    most = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    end = 1.7
    levels = sums_of(bits - 1 if signed else bits) * end
    levels = np.unique(np.concatenate([-levels, levels])) if signed else levels
    assert levels.size == (2**bits - 1 if signed else 2**bits)
    nearest = levels[np.abs(x[:, None] - levels).argmin(1)]
    given = {"x": x, "scale": np.array([end / most], "f4"), "zero_point": np.zeros(1, "i4"), "code_min": -most if signed else 0, "code_max": most, "levels": "powers"}
    ours = np.asarray(hs.ops.fake_quantize_levels(**given))
    np.testing.assert_allclose(ours, nearest, rtol=1e-6, atol=1e-7)
    out_grad = random.standard_normal(x.size).astype("f4")
    inside = (x >= (-end if signed else 0)) & (x <= end)
    np.testing.assert_array_equal(hs.ops.fake_quantize_levels_grad(**given, out_grad=out_grad), np.where(inside, out_grad, 0))
    slope = (nearest - np.where(inside, x, 0)) / given["scale"]
    np.testing.assert_allclose(hs.ops.fake_quantize_levels_scale_grad(**given, out_grad=out_grad)[0], (out_grad * slope).sum(), rtol=1e-4)


def test_the_gradient_of_unit_magnitude_is_that_of_differences():
    x = np.array([0.2, -1.7, 0.9, -0.4, 1.1], "f4")  # Its largest element stays the largest within a step.
    out_grad = np.array([0.5, -1.5, 2.0, 0.25, -0.75], "f4")

    def value(at):
        return float(np.dot(out_grad, at.astype("f8") / (1e-5 + np.abs(at).max())))

    step = np.eye(x.size) * 1e-4
    expected = [(value(x + row) - value(x - row)) / 2e-4 for row in step]
    np.testing.assert_allclose(hs.ops.unit_magnitude_grad(x=x, out_grad=out_grad), expected, rtol=1e-4, atol=1e-5)
