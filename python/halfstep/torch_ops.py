"""Operators as differentiable PyTorch functions, and as operators that PyTorch exports."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections import namedtuple
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from halfstep import _core


class _Call(torch.autograd.Function):
    """One call of an operator. Its tensors are the operands, with those of a list last."""

    @staticmethod
    def forward(ctx: Any, kept: list[Any], operator: Any, names: Any, ports: Any, attributes: Any, *operands: Any) -> Any:
        results = operator(*ports, *attributes)
        kept.append(results)
        ctx.name, ctx.attributes = names[0], attributes
        ctx.results = results.__dir__() if isinstance(results, _core.Results) else names[1][:1]
        ctx.operands = [None if isinstance(operand, torch.Tensor) else operand for operand in operands]
        ctx.tensors = [i for i, operand in enumerate(operands) if isinstance(operand, torch.Tensor)]
        ctx.save_for_backward(*(operands[i] for i in ctx.tensors))
        values = tuple(results) if isinstance(results, _core.Results) else (results,)
        ctx.mark_non_differentiable(*(value for value in values if not value.is_floating_point()))
        ctx.set_materialize_grads(False)
        return values

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:
        operands = list(ctx.operands)
        for i, tensor in zip(ctx.tensors, ctx.saved_tensors):
            operands[i] = tensor.detach()
        given = {name: gradient for name, gradient in zip(ctx.results, gradients) if gradient is not None}
        wanted = list(ctx.needs_input_grad[5:])
        return None, None, None, None, None, *_core.operator_gradient(ctx.name, operands, ctx.attributes, given, wanted)


def call(operator: Any, name: str, results: tuple[str, ...], ports: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
    """Call `operator` on its ports and attributes. Float results have the gradient of the operator's record."""
    operands = _flat(ports)
    kept: list[Any] = []
    values = _Call.apply(kept, operator, (name, results), ports, attributes, *operands)
    return kept[0].with_items(values) if isinstance(kept[0], _core.Results) else values[0]


def _flat(ports: tuple[Any, ...]) -> list[Any]:
    return [value for port in ports for value in (port if isinstance(port, (list, tuple)) else [port])]


# ---- operators that PyTorch traces

_TYPES = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.bool: "bool",
    torch.uint8: "u8", torch.int8: "i8", torch.uint16: "u16", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64",
}  # fmt: skip
_DTYPES = {name: dtype for dtype, name in _TYPES.items()}

_ONNX_TYPES = ("float", "double", "float16", "bfloat16", "bool", "uint8", "int8", "uint16", "int16", "int32", "int64")

_STAND_INS = ((10007, 20011, 30011, 40009, 50021, 60013), (70001, 80021, 90001, 100003, 110017, 120011))
"""Two stand-ins for each dynamic extent. Their results show the effect of an operator on the extent."""

_library = torch.library.Library("halfstep", "DEF")
_library.define("call(str name, str attributes, Tensor?[] operands) -> Tensor[]")


def traced(operator: Any, name: str, results: tuple[str, ...], ports: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
    """Call the operator as a PyTorch operator for export. Its tensors have no contents."""
    del operator
    operands = [value if value is None else torch.as_tensor(value) for value in _flat(ports)]
    stated = json.dumps(_core.stated_attributes(name, attributes))
    values = torch.ops.halfstep.call(name, stated, operands)
    if len(results) == 1:
        return values[0]
    made = [result for result, type_ in zip(results, _types(name, stated, operands, {})) if type_ is not None]
    return namedtuple(name, made)(*values)


@torch.library.register_fake("halfstep::call", lib=_library)
def _results(name: str, attributes: str, operands: list[torch.Tensor | None]) -> list[torch.Tensor]:
    tensors = [tensor for tensor in operands if tensor is not None]
    extents = {str(extent): extent for tensor in tensors for extent in tensor.shape if isinstance(extent, torch.SymInt)}
    if len(extents) > len(_STAND_INS[0]):
        raise _core.error("too_many_dynamic_dimensions", name, len(extents), len(_STAND_INS[0]))
    one, other = (_types(name, attributes, operands, dict(zip(extents, numbers))) for numbers in _STAND_INS)
    made = []
    for first, second in zip(one, other):
        if first is None or second is None:
            continue
        pairs = zip(first[1], second[1])
        dims = [_extent(name, pair, list(zip(extents.values(), *_STAND_INS))) for pair in pairs]
        made.append(tensors[0].new_empty(dims, dtype=_DTYPES[first[0]]))
    return made


def _types(name: str, attributes: str, operands: list[Any], stand_ins: dict[str, int]) -> list[tuple[str, list[int]] | None]:
    def type_of(tensor: torch.Tensor) -> tuple[str, list[int]]:
        return _TYPES[tensor.dtype], [stand_ins.get(str(extent), 1) if isinstance(extent, torch.SymInt) else extent for extent in tensor.shape]

    return _core.operator_types(name, json.loads(attributes), [None if tensor is None else type_of(tensor) for tensor in operands])


def _extent(name: str, found: tuple[int, int], extents: list[tuple[Any, int, int]]) -> Any:
    """Return an extent of a result, derived from the results of the stand-ins. It is a constant, or a multiple of a
    dynamic extent.
    """
    if found[0] == found[1]:
        return found[0]
    for extent, one, other in extents:
        if found[0] % one == 0 and found[0] // one * other == found[1]:
            return found[0] // one * extent
    raise _core.error("unknown_result_dimension", name)


def translation() -> dict[Any, Any]:
    """Return the translations for torch.onnx.export. A call becomes a node of the domain halfstep, which Halfstep
    imports.
    """
    import onnx
    from onnxscript import values

    schema = onnx.defs.OpSchema
    kinds = {bool: "INT", int: "INT", float: "FLOAT", str: "STRING"}

    def kind(value: Any) -> Any:
        is_list = isinstance(value, list)
        return getattr(schema.AttrType, kinds[type(value[0] if is_list else value)] + ("S" if is_list else ""))

    def node(name: str, attributes: str, operands: list[Any]) -> list[Any]:
        stated = json.loads(attributes)
        produced = _core.operator_results(name, stated)
        option = schema.FormalParameterOption.Optional
        types = [f"tensor({name})" for name in _ONNX_TYPES]
        form = schema(
            name, "halfstep", 1,
            inputs=[schema.FormalParameter(f"x{i}", f"T{i}", param_option=option) for i in range(len(operands))],
            outputs=[schema.FormalParameter(f"y{i}", f"U{i}") for i in range(produced)],
            type_constraints=[(f"T{i}", types, "") for i in range(len(operands))] + [(f"U{i}", types, "") for i in range(produced)],
            attributes=[schema.Attribute(key, kind(value), required=False) for key, value in stated.items()],
        )  # fmt: skip
        results = values.Op(values.Opset("halfstep", 1), name, form)(*operands, **stated)
        return [results] if produced == 1 else list(results)

    return {torch.ops.halfstep.call.default: node, **_fake_quantizers(node)}


def _fake_quantizers(node: Any) -> dict[Any, Any]:
    """Return the translations of PyTorch's fake quantizers, of which ONNX has those of 8 bits only."""

    def translated(name: str, attributes: tuple[str, ...], tensors: int) -> Any:
        def translate(*values: Any) -> Any:
            return node(name, json.dumps(dict(zip(attributes, values[tensors:]))), list(values[:tensors]))[0]

        return translate

    aten, ends = torch.ops.aten, ("quant_min", "quant_max")
    learnable = (*ends, "grad_factor")
    return {
        aten.fake_quantize_per_tensor_affine.default: translated("fake_quantize_per_tensor_affine", ("scale", "zero_point", *ends), 1),
        aten.fake_quantize_per_tensor_affine.tensor_qparams: translated("fake_quantize_per_tensor_affine_tensor_qparams", ends, 3),
        aten.fake_quantize_per_channel_affine.default: translated("fake_quantize_per_channel_affine", ("axis", *ends), 3),
        aten._fake_quantize_learnable_per_tensor_affine.default: translated("fake_quantize_learnable_per_tensor_affine", learnable, 3),
        aten._fake_quantize_learnable_per_channel_affine.default: translated(
            "fake_quantize_learnable_per_channel_affine", ("axis", *learnable), 3
        ),
    }
