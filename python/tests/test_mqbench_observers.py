"""Observers, batch by batch, compared with MQBench's. Observers that MQBench lacks are compared with NumPy."""

import json
import os
import pathlib

import pytest

import halfstep as hs

np = pytest.importorskip("numpy")
FOLDER = pathlib.Path(os.environ.get("HALFSTEP_TEST_DATA", "")) / "platforms" / "mqbench"
needs_records = pytest.mark.skipif(not FOLDER.is_dir(), reason="there are no records of MQBench (HALFSTEP_TEST_DATA)")

MSE = {"method": "mse"}
POWERS = {"merge": "last", "statistics": 64}
OURS = {
    "MinMaxObserver": {"merge": "widest"},
    "EMAMinMaxObserver": {},
    "ClipStdObserver": {"method": "widen_std", "merge": "last"},
    "LSQObserver": {"method": "lsq", "merge": "last", "statistics": 1},
    "LSQPlusObserver": {"method": "lsq_plus", "merge": "last", "statistics": 2},
    "MSEObserver": {**MSE, "merge": "widest"},
    "EMAMSEObserver": MSE,
    "EMAQuantileObserver": {"method": "quantile"},
    "MinMaxFloorObserver": {**POWERS, "method": "power_floor"},
    "PoTModeObserver": {**POWERS, "method": "power_mode"},
}


def attributes_of(case):
    scheme, arguments = case["scheme"], case["args"]
    per_channel = scheme["ch_axis"] >= 0
    found = {
        **OURS[case["class"]],
        "axis": scheme["ch_axis"],
        "code_min": scheme["quant_min"],
        "code_max": scheme["quant_max"],
        "zero_points": "centered" if "symmetric" in scheme["qscheme"] else "affine",
        "power_of_two": scheme["pot_scale"],
        "nearest_power": scheme["pot_scale"],
        "rate": 1 - arguments.get("ema_ratio", 0.9),
        "share": arguments.get("threshold", 0.99999),
        "bins": arguments.get("bins", 2048),
        "power": arguments.get("p", 2.0),
        "deviations": arguments.get("std_scale", 2.6),
        "candidates": 80 if per_channel else 95,
        "steps": 100,
    }
    if case["quant_type"]:
        found["candidates"] = 1 if case["quant_type"] == "input" else 5
        found["halves"] = "even" if case["quant_type"] == "param" else "up"
    return found


class Observer:
    """State between batches."""

    def __init__(self, channels, **attributes):
        self.attributes = {"is_test": False, **attributes}
        self.state = {
            "low": np.full(channels, np.inf, "f4"),
            "high": np.full(channels, -np.inf, "f4"),
            "scale": np.ones(channels, "f4"),
            "zero_point": np.zeros(channels, "i4"),
        }
        if attributes.get("statistics"):
            self.state["seen"] = np.zeros((channels, attributes["statistics"]))

    def see(self, *x):
        after = hs.ops.observe_range(**self.state, x=list(x), **self.attributes)
        self.state = {name: np.array(getattr(after, name + "_out")) for name in self.state}
        return self.state


def observers_of_mqbench():
    return json.loads((FOLDER / "units.json").read_text())["observers"]


# A3.5, A3.6, A3.7
@needs_records
def test_all_of_mqbench():
    tensors = pytest.importorskip("safetensors.numpy").load_file(FOLDER / "units.safetensors")
    cases = observers_of_mqbench()
    assert len(cases) == 120
    for name, case in cases.items():
        attributes = attributes_of(case)
        channels = 1 if attributes["axis"] < 0 else tensors[f"x.{case['input']}.0"].shape[attributes["axis"]]
        observer = Observer(channels, **attributes)
        for i in range(4):
            ours = observer.see(tensors[f"x.{case['input']}.{i}"])
            theirs = {key: tensors[f"{name}.{i}.{key}"].reshape(-1) for key in ("scale", "zero_point")}
            np.testing.assert_allclose(ours["scale"], theirs["scale"], rtol=2e-6, err_msg=name)
            # MQBench's values are not codes if LSQ starts with few of them. In float32 a tie may round either way.
            codes = np.clip(theirs["zero_point"], attributes["code_min"], attributes["code_max"])
            steps = ours["low"].astype("f8") / ours["scale"]
            tie = np.abs(np.abs(steps - np.round(steps)) - 0.5) < 1e-5
            assert (np.abs(ours["zero_point"] - codes) <= tie).all(), name
            if case["class"] not in ("LSQPlusObserver",):
                np.testing.assert_allclose(ours["low"], tensors[f"{name}.{i}.min_val"].reshape(-1), rtol=2e-6, atol=1e-7, err_msg=name)
                np.testing.assert_allclose(ours["high"], tensors[f"{name}.{i}.max_val"].reshape(-1), rtol=2e-6, atol=1e-7, err_msg=name)
            statistics = [tensors[f"{name}.{i}.{key}"].reshape(-1) for key in ("tensor_norm", "mean", "std") if f"{name}.{i}.{key}" in tensors]
            if statistics:
                np.testing.assert_allclose(ours["seen"], np.stack(statistics, 1), rtol=2e-6, atol=1e-7, err_msg=name)


BINS, MIDDLE = 2048, 1024


def histogram_of(batches):
    """Return counts, left edges and width of equal bins between powers of two, from all elements at once."""
    x = np.concatenate([np.ravel(batch) for batch in batches]).astype("f8")
    end = 2.0 ** (np.floor(np.log2(np.abs(x).max())) + 1)
    edges = np.linspace(-end, end, BINS + 1)
    return np.histogram(x, edges)[0], edges, x


def scale_of(low, high, code_max, symmetric):
    low, high = min(low, 0.0), max(high, 0.0)
    return max(-low, high) / (code_max + 0.5) if symmetric else (high - low) / code_max


def expected_percentile(batches, share):
    counts, edges, x = histogram_of(batches)
    out = (1 - share) * x.size
    before = np.concatenate([[0], np.cumsum(counts)])
    upper = np.interp(x.size - out, before, edges)
    first = np.searchsorted(before, out, side="right") - 1
    lower = edges[first] + (out - before[first]) / counts[first] * (edges[1] - edges[0])
    return max(lower, x.min()), min(upper, x.max())


def best_scale(batches, code_max, loss):
    """Return the scale of the smallest loss(counts, middles of bins, bins on each side of 0, codes, scale). Of equal
    ones, return the larger.
    """
    counts, edges, x = histogram_of(batches)
    middles = (edges[1:] + edges[:-1]) / 2
    reach = max(n for n in range(1, MIDDLE + 1) if counts[MIDDLE + n - 1] or counts[MIDDLE - n])
    found = {}
    for bins in range(reach, max(8, code_max + 1) - 1, -8):
        low, high = max(x.min(), edges[MIDDLE - bins]), min(x.max(), edges[MIDDLE + bins])
        scale = np.float32(scale_of(low, high, code_max, True))
        codes = np.clip(np.round(middles / scale), -code_max - 1, code_max)
        found[float(scale)] = loss(counts, middles, bins, codes, scale)
    return min(found, key=lambda scale: (found[scale], -scale))


def squared_error(counts, middles, _, codes, scale):
    return (counts * (middles - codes * scale) ** 2).sum()


def divergence(counts, _, bins, codes, __):
    """Return the divergence between the inner bins, with all clipped values at their ends, and their form in codes."""
    inside = slice(MIDDLE - bins, MIDDLE + bins)
    p, inner, codes = counts[inside].astype("f8"), counts[inside], codes[inside]
    p[0] += counts[: MIDDLE - bins].sum()
    p[-1] += counts[MIDDLE + bins :].sum()
    q = np.zeros_like(p)
    for code in np.unique(codes):
        of_code = (codes == code) & (p > 0)
        if of_code.any():
            q[of_code] = inner[codes == code].sum() / of_code.sum()
    filled = p > 0
    p, q = p[filled] / p.sum(), np.maximum(q[filled] / inner.sum(), 1e-9)
    return round((p * np.log(p / q)).sum(), 12)


@pytest.fixture(scope="module")
def batches():
    random = np.random.default_rng(3)
    return [(random.standard_t(3, 3000) * (1 + i)).astype("f4") for i in (2, 0, 3, 1)]


COUNTED = {"merge": "widest", "statistics": BINS, "zero_points": "centered"}


# A3.5
@pytest.mark.parametrize("share", (1.0, 0.999, 0.9))
def test_percentile(batches, share):
    observer = Observer(1, method="percentile", share=share, merge="widest", statistics=BINS)
    for batch in batches:
        state = observer.see(batch)
    low, high = expected_percentile(batches, share)
    np.testing.assert_allclose(state["scale"], scale_of(low, high, 255, False), rtol=1e-6)
    assert state["low"] == min(batch.min() for batch in batches)


# A3.5, A3.12
@pytest.mark.parametrize("code_max", (7, 127))
@pytest.mark.parametrize("method", ("kl", "histogram"))
def test_kl_and_histogram(batches, method, code_max):
    observer = Observer(1, method=method, code_min=-code_max - 1, code_max=code_max, **COUNTED)
    for batch in batches:
        state = observer.see(batch)
    expected = best_scale(batches, code_max, {"kl": divergence, "histogram": squared_error}[method])
    np.testing.assert_allclose(state["scale"], expected, rtol=1e-6)
    extremes = scale_of(min(b.min() for b in batches), max(b.max() for b in batches), code_max, True)
    assert state["scale"] < 0.9 * extremes or code_max == 127


# A3.11
@pytest.mark.parametrize("method", ("percentile", "kl", "histogram"))
def test_counts_do_not_depend_on_the_order_of_batches(batches, method):
    found = []
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]):
        observer = Observer(1, method=method, share=0.99, **COUNTED, code_min=-8, code_max=7)
        for i in order:
            state = observer.see(batches[i])
        found.append(state)
    together = Observer(1, method=method, share=0.99, **COUNTED, code_min=-8, code_max=7).see(*batches)
    for state in found:
        for name, value in together.items():
            np.testing.assert_array_equal(state[name], value, err_msg=name)


def test_clip_std_stays_within_the_extremes(batches):
    x = batches[0].astype("f8")
    state = Observer(1, method="clip_std", deviations=2.0).see(batches[0])
    low, high = x.mean() - 2 * x.std(ddof=1), x.mean() + 2 * x.std(ddof=1)
    np.testing.assert_allclose([state["low"][0], state["high"][0]], [max(low, x.min()), min(high, x.max())], rtol=1e-6)


# A3.4
def test_nan_and_infinities_count_nowhere():
    none = np.array([np.nan, np.inf, -np.inf], "f4")
    for method, attributes in (("quantile", {}), ("kl", COUNTED), ("lsq", {"statistics": 1}), ("mse", {})):
        plain, with_more = (Observer(1, method=method, **attributes) for _ in range(2))
        x = np.linspace(-2, 5, 333, dtype="f4")
        plain.see(x), with_more.see(np.append(x, none))
        for name, value in plain.state.items():
            np.testing.assert_array_equal(with_more.state[name], value)
