"""Formulas of torch.nn's layers in NumPy and double, written without the library."""

import itertools

import numpy as np


def windows(x, kernel, stride, dilation):
    """Return [n, c, *places, *kernel]."""
    axes = tuple(range(2, x.ndim))
    reach = [(extent - 1) * step + 1 for extent, step in zip(kernel, dilation)]
    found = np.lib.stride_tricks.sliding_window_view(x, reach, axes)
    places = tuple(slice(None, None, step) for step in stride)
    return found[(slice(None), slice(None), *places, *(slice(None, None, step) for step in dilation))]


def padded(x, pad, mode="constant", **settings):
    return np.pad(x, [(0, 0), (0, 0), *pad], mode=mode, **settings)


def conv(x, weight, bias, stride, pad, dilation, groups, mode="constant"):
    """`pad` has (before, after) of each axis."""
    x, axes = padded(np.float64(x), pad, mode), weight.ndim - 2
    letters = "yzw"[:axes]
    results = []
    for part, w in zip(np.split(x, groups, 1), np.split(np.float64(weight), groups)):
        results.append(np.einsum(f"nc{letters.upper()}{letters},oc{letters}->no{letters.upper()}", windows(part, weight.shape[2:], stride, dilation), w))
    return np.concatenate(results, 1) + (0 if bias is None else bias.reshape(-1, *[1] * axes))


def conv_transpose(x, weight, bias, stride, pad, output_padding, dilation, groups):
    axes = weight.ndim - 2
    whole = [(extent - 1) * s + (k - 1) * d + 1 + more for extent, s, k, d, more in zip(x.shape[2:], stride, weight.shape[2:], dilation, output_padding)]
    outputs = weight.shape[1]
    result = np.zeros((x.shape[0], outputs * groups, *whole))
    for group, (part, w) in enumerate(zip(np.split(np.float64(x), groups, 1), np.split(np.float64(weight), groups))):
        for at in itertools.product(*(range(extent) for extent in x.shape[2:])):
            for tap in itertools.product(*(range(extent) for extent in weight.shape[2:])):
                place = tuple(a * s + t * d for a, s, t, d in zip(at, stride, tap, dilation))
                result[(slice(None), slice(group * outputs, (group + 1) * outputs), *place)] += part[(..., *at)] @ w[(..., *tap)]
    kept = tuple(slice(p, extent - p) for p, extent in zip(pad, whole))
    return result[(slice(None), slice(None), *kept)] + (0 if bias is None else bias.reshape(-1, *[1] * axes))


def _ceil_extra(x, kernel, stride, pad, dilation, ceil_mode):
    """Return the elements after the padding that a last window of ceil_mode reaches."""
    extra = []
    for extent, k, s, p, d in zip(x.shape[2:], kernel, stride, pad, dilation):
        room = extent + 2 * p - (k - 1) * d - 1
        steps = -(-room // s) if ceil_mode else room // s
        if steps * s >= extent + p:
            steps -= 1
        extra.append(max(steps * s - room, 0))
    return extra


def max_pool(x, kernel, stride, pad, dilation, ceil_mode=False):
    extra = _ceil_extra(x, kernel, stride, pad, dilation, ceil_mode)
    x = padded(np.float64(x), [(p, p + e) for p, e in zip(pad, extra)], constant_values=-np.inf)
    return windows(x, kernel, stride, dilation).max(tuple(range(-len(kernel), 0)))


def avg_pool(x, kernel, stride, pad, ceil_mode=False, count_include_pad=True):
    one, axes = [1] * len(kernel), tuple(range(-len(kernel), 0))
    extra = _ceil_extra(x, kernel, stride, pad, one, ceil_mode)
    beyond, counted = [(0, e) for e in extra], [(p, p) for p in pad]
    sums = windows(padded(padded(np.float64(x), counted), beyond), kernel, stride, one).sum(axes)
    counts = padded(padded(np.ones(x.shape), counted, constant_values=float(count_include_pad)), beyond)
    return sums / windows(counts, kernel, stride, one).sum(axes)


def normalized(x, axes, eps):
    x = np.float64(x)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def by_channel(values, x):
    return values.reshape(-1, *[1] * (x.ndim - 2))


def instance_norm(x, eps, weight=None, bias=None):
    y = normalized(x, tuple(range(2, x.ndim)), eps)
    return y if weight is None else y * by_channel(weight, x) + by_channel(bias, x)


def group_norm(x, groups, eps, weight=None, bias=None):
    y = normalized(x.reshape(x.shape[0], groups, -1), 2, eps).reshape(x.shape)
    return y if weight is None else y * by_channel(weight, x) + by_channel(bias, x)


def prelu(x, weight):
    return np.where(x < 0, by_channel(weight, x) * x, x)


def _taps(kind, place, align_corners, extent):
    """Return (position, weight) of the elements that make the element at `place` of the operand."""
    if kind == "nearest":
        return [(int(np.floor(place)), 1.0)]
    if kind == "linear":
        place = place if align_corners else max(place, 0)
        first, part = int(np.floor(place)), place - np.floor(place)
        return [(first, 1 - part), (first + 1, part)]
    first, part, a = int(np.floor(place)), place - np.floor(place), -0.75
    inner = lambda d: ((a + 2) * d - (a + 3)) * d * d + 1  # noqa: E731
    outer = lambda d: ((a * d - 5 * a) * d + 8 * a) * d - 4 * a  # noqa: E731
    return [(first - 1, outer(part + 1)), (first, inner(part)), (first + 1, inner(1 - part)), (first + 2, outer(2 - part))]


def upsample(x, mode, size=None, scale=None, align_corners=False):
    kind = {"nearest": "nearest", "bicubic": "cubic"}.get(mode, "linear")
    y = np.float64(x)
    for axis in range(2, x.ndim):
        extent = x.shape[axis]
        out = size[axis - 2] if size else int(np.floor(extent * scale[axis - 2]))
        step = extent / out if size else 1 / scale[axis - 2]
        matrix = np.zeros((out, extent))
        for i in range(out):
            place = i * step if kind == "nearest" else (i + 0.5) * step - 0.5
            if align_corners:
                place = i * (extent - 1) / (out - 1) if out > 1 else 0.0
            for at, weight in _taps(kind, place, align_corners, extent):
                matrix[i, min(max(at, 0), extent - 1)] += weight
        y = np.moveaxis(np.tensordot(matrix, y, (1, axis)), 0, axis)
    return y


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _rnn_step(sums_x, sums_h, state, act):
    h = act(sums_x + sums_h)
    return h, (h,)


def _gru_step(sums_x, sums_h, state, _):
    (rx, zx, nx), (rh, zh, nh) = np.split(sums_x, 3, 1), np.split(sums_h, 3, 1)
    r, z = sigmoid(rx + rh), sigmoid(zx + zh)
    h = (1 - z) * np.tanh(nx + r * nh) + z * state[0]
    return h, (h,)


def _lstm_step(sums_x, sums_h, state, _):
    i, f, g, o = np.split(sums_x + sums_h, 4, 1)
    c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h, (h, c)


def recurrent(kind, state, x, hidden, num_layers=1, bidirectional=False, batch_first=False, nonlinearity="tanh", first=None):
    """Return the outputs, and the last states [layers * directions, n, hidden]."""
    step = {"rnn": _rnn_step, "gru": _gru_step, "lstm": _lstm_step}[kind]
    act = {"tanh": np.tanh, "relu": lambda v: np.maximum(v, 0)}[nonlinearity]
    y, count = np.float64(x.swapaxes(0, 1) if batch_first else x), 2 if kind == "lstm" else 1
    last, number = [], 0
    for layer in range(num_layers):
        outputs = []
        for direction in ("", "_reverse") if bidirectional else ("",):
            w = {name: np.float64(state.get(f"{name}_l{layer}{direction}", 0)) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
            now = tuple(np.zeros((y.shape[1], hidden)) if first is None else np.float64(first[s][number]) for s in range(count))
            found = []
            for t in reversed(range(len(y))) if direction else range(len(y)):
                h, now = step(y[t] @ w["weight_ih"].T + w["bias_ih"], now[0] @ w["weight_hh"].T + w["bias_hh"], now, act)
                found.append(h)
            outputs.append(np.stack(found[::-1] if direction else found))
            last.append(now)
            number += 1
        y = np.concatenate(outputs, 2)
    states = [np.stack([each[s] for each in last]) for s in range(count)]
    return (y.swapaxes(0, 1) if batch_first else y), *states


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(state, query, key, value, heads, batch_first=False, keys=None, pairs=None, prefix=""):
    """Return the result and the weights [n, heads, queries, keys]. Masks of bool hide keys."""
    inputs = [np.float64(each if batch_first else each.swapaxes(0, 1)) for each in (query, key, value)]
    embed = inputs[0].shape[2]
    s = {name.removeprefix(prefix): np.float64(each) for name, each in state.items()}
    ws = np.split(s["in_proj_weight"], 3) if "in_proj_weight" in s else [s[f"{name}_proj_weight"] for name in "qkv"]
    bs = np.split(s["in_proj_bias"], 3) if "in_proj_bias" in s else [0, 0, 0]
    q, k, v = (
        (x @ w.T + b).reshape(*x.shape[:2], heads, embed // heads).swapaxes(1, 2) for x, w, b in zip(inputs, ws, bs)
    )
    scores = q @ k.swapaxes(2, 3) / np.sqrt(embed // heads)
    added = lambda mask: np.where(mask, -np.inf, 0) if mask.dtype == bool else mask  # noqa: E731
    if keys is not None:
        scores = scores + added(keys)[:, None, None, :]
    if pairs is not None:
        mask = added(pairs)
        scores = scores + (mask.reshape(-1, heads, *mask.shape[1:]) if mask.ndim == 3 else mask)
    weights = softmax(scores)
    y = (weights @ v).swapaxes(1, 2).reshape(*inputs[0].shape[:2], embed) @ s["out_proj.weight"].T + s.get("out_proj.bias", 0)
    return (y if batch_first else y.swapaxes(0, 1)), weights


def layer_norm(x, weight, bias, eps):
    return normalized(x, -1, eps) * weight + bias


def gelu(x):
    from math import erf

    return x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def encoder_layer(state, x, heads, activation="relu", batch_first=False, norm_first=False, eps=1e-5, pairs=None, keys=None):
    attention_state = {name: each for name, each in state.items() if name.startswith("self_attn.")}
    act = gelu if activation == "gelu" else lambda v: np.maximum(v, 0)
    attend = lambda v: attention(attention_state, v, v, v, heads, batch_first, keys, pairs, "self_attn.")[0]  # noqa: E731
    norm = lambda n, v: layer_norm(v, state[f"norm{n}.weight"], state.get(f"norm{n}.bias", 0), eps)  # noqa: E731
    feed = lambda v: act(v @ state["linear1.weight"].T + state.get("linear1.bias", 0)) @ state["linear2.weight"].T + state.get("linear2.bias", 0)  # noqa: E731
    x = np.float64(x)
    if norm_first:
        x = x + attend(norm(1, x))
        return x + feed(norm(2, x))
    x = norm(1, x + attend(x))
    return norm(2, x + feed(x))
