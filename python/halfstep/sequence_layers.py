"""Layers over whole sequences: recurrent layers, attention and transformers. halfstep.nn has all layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from halfstep import _core, ops
from halfstep.arrays import array
from halfstep.creation import uniform, zeros
from halfstep.basic_layers import Dropout, LayerNorm, Linear
from halfstep.modules import Module, parameter, unsupported, within


class _Recurrent(Module):
    """Layers of one operator. `_activation` belongs to RNN. `_flat` has the parameters in order, because a captured
    function that looks up computed names depends on all attributes of all objects.
    """

    _op, _gates, _activation = "", 1, ""

    def _make(
        self, input_size: int, hidden_size: int, num_layers: int, bias: bool, batch_first: bool, dropout: float, bidirectional: bool
    ) -> None:
        if num_layers < 1:
            raise _core.error("layer_setting_invalid", f"{type(self).__name__}: num_layers", str(num_layers), "1 or more")
        self.hidden_size, self.num_layers, self.bias, self.batch_first, self.bidirectional = hidden_size, num_layers, bias, batch_first, bidirectional
        self.dropout = Dropout(dropout)
        flat: list[array] = []
        rows, directions = self._gates * hidden_size, ("", "_reverse") if bidirectional else ("",)
        for layer in range(num_layers):
            for direction in directions:
                columns = input_size if layer == 0 else len(directions) * hidden_size
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, columns), "weight_hh": (rows, hidden_size)}
                if bias:
                    shapes.update(bias_ih=(rows,), bias_hh=(rows,))
                for name, shape in shapes.items():
                    made = within(shape, hidden_size)
                    setattr(self, f"{name}_l{layer}{direction}", made)
                    flat.append(made)
        self._flat = flat

    def _run(self, x: array, states: list[array]) -> list[array]:
        results: list[array] = _core.recurrent(
            x, states, self._flat, self._op, self._activation, self.hidden_size, self.num_layers, self.bias,
            self.batch_first, self.dropout.p if self._is_training() else 0.0, self.bidirectional,
        )  # fmt: skip
        return results


class RNN(_Recurrent):
    """Recurrent layers over sequences x [length, n, input_size], or [n, length, input_size] with batch_first=True.

    Each layer computes h = tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh) for each element, or relu.
    Parameters are weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, those of the other direction
    (weight_ih_l0_reverse, ...), and so on by layer. Initial values are uniform in +-1 / sqrt(hidden_size). Change
    parameters in place (`assign`, `load_state_dict`), because the layer keeps a list of them.

    Call it with x and, if it is not zeros, the first h [num_layers * directions, n, hidden_size]. It returns the
    outputs [length, n, directions * hidden_size] of the last layer, and the last h.

    Args:
        input_size: Elements of an input.
        hidden_size: Elements of h.
        num_layers: Number of layers. Each one reads the outputs of the layer before it.
        nonlinearity: "tanh" or "relu".
        bias: Whether to add biases.
        batch_first: Whether the first axis of x and of the outputs is n.
        dropout: Rate of the dropout between layers in training mode.
        bidirectional: Whether a second direction reads each sequence from its end.
    """

    _op = "rnn"

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False,
    ) -> None:  # fmt: skip
        if nonlinearity not in ("tanh", "relu"):
            raise _core.error("layer_setting_invalid", "RNN: nonlinearity", repr(nonlinearity), "tanh or relu")
        self._activation = nonlinearity.capitalize()
        self._make(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)

    def forward(self, x: array, h: array | None = None) -> tuple[array, array]:
        output, last = self._run(x, [] if h is None else [h])
        return output, last


class GRU(_Recurrent):
    """Gated recurrent units over sequences. Rows of the weights are the gates reset, update, new. See RNN."""

    _op, _gates = "gru", 3

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:  # fmt: skip
        self._make(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)

    def forward(self, x: array, h: array | None = None) -> tuple[array, array]:
        output, last = self._run(x, [] if h is None else [h])
        return output, last


class LSTM(_Recurrent):
    """Long short-term memory over sequences. Rows of the weights are the gates input, forget, cell, output. See RNN.

    Call it with x and, if they are not zeros, the first states (h, c). It returns the outputs, and the last (h, c).
    """

    _op, _gates = "lstm", 4

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, proj_size: int = 0,
    ) -> None:  # fmt: skip
        unsupported("LSTM", {"proj_size": (proj_size, 0)})
        self._make(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)

    def forward(self, x: array, states: tuple[array, array] | None = None) -> tuple[array, tuple[array, array]]:
        output, h, c = self._run(x, list(states or ()))
        return output, (h, c)


def _glorot(rows: int, columns: int) -> array:
    bound = math.sqrt(6 / (rows + columns))
    return parameter(uniform((rows, columns), -bound, bound))


class MultiheadAttention(Module):
    """Multi-head attention: softmax(q @ k.T / sqrt(embed_dim / num_heads) + masks) @ v for each head.

    Arrays are [length, n, embed_dim], or [n, length, embed_dim] with batch_first=True. in_proj_weight has the rows of
    q, k and v. With another kdim or vdim, there are q_proj_weight, k_proj_weight and v_proj_weight instead. These are
    initialized after Glorot and Bengio (2010), out_proj.weight is uniform in +-1 / sqrt(embed_dim), and biases are 0.

    Args:
        embed_dim: Elements of a query and of a result.
        num_heads: A divisor of embed_dim.
        dropout: Rate of the dropout of attention weights in training mode.
        bias: Whether to add biases.
        kdim: Elements of a key. Default: embed_dim.
        vdim: Elements of a value. Default: embed_dim.
        batch_first: Whether the first axis of the arrays is n.
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False, add_zero_attn: bool = False,
        kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
    ) -> None:  # fmt: skip
        unsupported("MultiheadAttention", {"add_bias_kv": (add_bias_kv, False), "add_zero_attn": (add_zero_attn, False)})
        if num_heads < 1 or embed_dim % num_heads:
            raise _core.error("layer_setting_invalid", "MultiheadAttention: num_heads", str(num_heads), f"a divisor of embed_dim {embed_dim}")
        self.num_heads, self.batch_first, self.dropout = num_heads, batch_first, Dropout(dropout)
        columns = embed_dim, embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self._is_joined = set(columns) == {embed_dim}
        if self._is_joined:
            self.in_proj_weight = _glorot(3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight, self.k_proj_weight, self.v_proj_weight = (_glorot(embed_dim, each) for each in columns)
        self.in_proj_bias = parameter(zeros((3 * embed_dim,))) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias=False)
        self.out_proj.bias = parameter(zeros((embed_dim,))) if bias else None

    def forward(
        self, query: array, key: array, value: array, key_padding_mask: array | None = None, need_weights: bool = True, attn_mask: array | None = None,
        average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[array, array | None]:  # fmt: skip
        """Return the result, and the attention weights [n, queries, keys] or None.

        Args:
            query: [queries, n, embed_dim].
            key: [keys, n, kdim].
            value: [keys, n, vdim].
            key_padding_mask: [n, keys], of bool (true hides a key) or of floats, which are added to the scores.
            need_weights: Whether to return the weights.
            attn_mask: [queries, keys] or [n * num_heads, queries, keys], of bool or floats.
            average_attn_weights: Whether to return the mean over heads, not [n, num_heads, queries, keys].
            is_causal: A hint that attn_mask is causal. It has no effect.
        """
        if is_causal and attn_mask is None:
            raise _core.error("layer_setting_invalid", "MultiheadAttention: is_causal", "no attn_mask", "the causal mask as attn_mask")
        weights = [self.in_proj_weight] if self._is_joined else [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        results = _core.multi_head_attention(
            [query, key, value], weights, self.in_proj_bias, self.out_proj.weight, self.out_proj.bias,
            key_padding_mask, attn_mask, self.num_heads, self.dropout.p if self._is_training() else 0.0, self.batch_first, need_weights,
            average_attn_weights,
        )  # fmt: skip
        return results[0], results[1] if need_weights else None


class TransformerEncoderLayer(Module):
    """Attention of x to itself and two linear layers, each with a sum around it and a norm (Vaswani et al., 2017).

    Args:
        d_model: Elements of an input and of a result.
        nhead: Number of heads of the attention.
        dim_feedforward: Elements between the two linear layers.
        dropout: Rate of all dropouts in training mode.
        activation: "relu", "gelu" or a function of arrays.
        layer_norm_eps: eps of the norms.
        batch_first: Whether the first axis of x is n, not the length.
        norm_first: Whether norms come before attention and linear layers, not after the sums.
        bias: Whether to add biases.
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: str | Callable[[array], array] = "relu",
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True,
    ) -> None:  # fmt: skip
        functions: dict[Any, Callable[[array], array]] = {"relu": ops.relu, "gelu": ops.gelu}
        if isinstance(activation, str) and activation not in functions:
            raise _core.error("layer_setting_invalid", "TransformerEncoderLayer: activation", repr(activation), "relu, gelu or a function")
        self.activation = functions.get(activation, activation)
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.linear1, self.linear2 = Linear(d_model, dim_feedforward, bias), Linear(dim_feedforward, d_model, bias)
        self.norm1, self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias), LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.dropout, self.norm_first = Dropout(dropout), norm_first

    def forward(self, src: array, src_mask: array | None = None, src_key_padding_mask: array | None = None, is_causal: bool = False) -> array:
        def attended(x: array) -> array:
            return self.dropout(self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0])

        def fed_forward(x: array) -> array:
            return self.dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))

        if self.norm_first:
            x = src + attended(self.norm1(src))
            return x + fed_forward(self.norm2(x))
        x = self.norm1(src + attended(src))
        return self.norm2(x + fed_forward(x))
