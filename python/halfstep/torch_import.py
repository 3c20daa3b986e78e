"""Import of PyTorch networks."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from halfstep import _core
from halfstep.model import Model

if TYPE_CHECKING:
    import torch

_MOST_IN_ONE = 1 << 30
"""Bytes of weights in one message. Protobuf is limited to 2 GiB."""


def from_torch(
    module: Any,
    example: Any,
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    name: str | None = None,
) -> Model:
    """Import a PyTorch module as a float network in evaluation mode, through torch.export.

    Layers have the names of their modules ("layer1.0.conv1"), and inputs those of the arguments of `forward`. Messages
    quote the line of the module's source. The Model holds copies of the weights. `module` is not changed. The codes of
    quantizers that it contains become those of `quantize` (docs/guides/own_quantizer.md).

    Args:
        module: The module.
        example: Arguments of the module: a tensor, or a tuple. Only types and shapes matter.
        kwargs: Arguments by name.
        dynamic_shapes: Dynamic dimensions, in the form of torch.export. Without it the first dimension of every tensor
            is the batch and dynamic. If the module does not allow that, the example's batch size is fixed, and a
            warning gives the reason.
        name: Name of the network. Default: the class of the module.

    Returns:
        A float Model.

    Raises:
        TypeError: `module` is not a torch.nn.Module.
        Error: The module cannot be exported. The message names the line that prevents it.
        UnsupportedError: Halfstep does not support some operators. The message lists all of them.
        ImportError: torch or onnxscript is not installed.

    Example:
        net = hs.from_torch(module, torch.zeros(1, 3, 32, 32))
    """
    import torch

    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"from_torch: found {type(module).__name__}, expected a torch.nn.Module")
    arguments = example if isinstance(example, tuple) else (example,)
    given, title = dict(kwargs or {}), name or type(module).__name__
    with _evaluation(module), torch.no_grad():
        if dynamic_shapes is not None:
            return _imported(module, _copied(arguments), _copied(given), dynamic_shapes, title)
        try:
            dynamic_batch = _dynamic_batch((*arguments, *given.values()))
            return _imported(module, _copied(arguments, 2), _copied(given, 2), dynamic_batch, title)
        except _core.Error as error:
            reason = str(error)
        fixed = _imported(module, _copied(arguments), _copied(given), None, title)
    warnings.warn(f"{title}: the batch size of the example is fixed: {reason}", stacklevel=2)
    return fixed


@contextlib.contextmanager
def _evaluation(module: torch.nn.Module) -> Iterator[None]:
    """Context in which every module is in evaluation mode. Afterwards each returns to its own mode."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def _imported(module: Any, arguments: Any, kwargs: dict[str, Any], dynamic_shapes: Any, title: str) -> Model:
    program = _program(module, arguments, kwargs, dynamic_shapes, title)
    if sum(tensor.nbytes for tensor in module.state_dict().values()) < _MOST_IN_ONE:
        return Model(_core.network_of_onnx(program.model_proto.SerializeToString(), title))
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        program.save(f"{folder}/{title}.onnx", external_data=True)
        return Model(_core.load(f"{folder}/{title}.onnx", None))


def _program(module: Any, arguments: Any, kwargs: dict[str, Any], dynamic_shapes: Any, title: str) -> torch.onnx.ONNXProgram:
    """Return the ONNX form of the module."""
    import torch

    from halfstep import torch_ops
    from halfstep.torch_quantizers import traceable

    try:
        with _quiet(), traceable(module):
            exported = torch.export.export(module, tuple(arguments), kwargs, dynamic_shapes=dynamic_shapes, strict=False)
            table = torch_ops.translation()
            program = torch.onnx.export(
                exported, dynamo=True, verbose=False, output_names=_output_names(exported), custom_translation_table=table
            )
    except ImportError:
        raise
    except Exception as error:
        raise _core.error("torch_export_failed", title, _reason(error)) from error
    assert program is not None  # None occurs without dynamo only.
    program.model.graph.name = title
    return program


def _output_names(exported: torch.export.ExportedProgram) -> list[str] | None:
    """Return the keys of a returned dict. Any other result has the names of the values that compute it."""
    spec = exported.call_spec.out_spec
    if spec is None:
        return None
    outputs = spec.unflatten(range(spec.num_leaves))
    if not isinstance(outputs, Mapping) or not all(isinstance(place, int) for place in outputs.values()):
        return None
    return [str(key) for key in sorted(outputs, key=outputs.__getitem__)]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Context that hides torch's own messages. The error holds all that matters."""
    import logging

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        disabled = logging.root.manager.disable
        logging.disable(logging.ERROR)
        try:
            yield
        finally:
            logging.disable(disabled)


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _copied(value: Any, at_least: int = 1) -> Any:
    """Copy tensors, because torch.export leaves marks on them. Repeat batches of one up to `at_least`, because
    torch.export would take an extent of one for a constant.
    """
    if _is_tensor(value):
        return value.repeat(at_least, *[1] * (value.dim() - 1)) if value.dim() and value.shape[0] == 1 else value.clone()
    if isinstance(value, Mapping):
        return {key: _copied(part, at_least) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(part, at_least) for part in value)
    return value


def _dynamic_batch(value: Any) -> Any:
    """Return the dynamic dimensions of each tensor in the form of torch.export."""
    import torch

    if _is_tensor(value):
        return {0: torch.export.Dim.DYNAMIC} if value.dim() else None
    if isinstance(value, Mapping):
        return {key: _dynamic_batch(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_dynamic_batch(part) for part in value)
    return None


def _reason(error: BaseException) -> str:
    """Return the root cause of a failed export, its place in the user's program, and a remedy."""
    import traceback

    chain = [error]
    while cause := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(cause)
    root = chain[-1]
    said = " ".join(str(root).split())[:400] or type(root).__name__
    frames = [frame for cause in chain for frame in traceback.extract_tb(cause.__traceback__)]
    own = [frame for frame in frames if _is_own(frame.filename)]
    place = f"; at {os.path.basename(own[-1].filename)}:{own[-1].lineno}: {own[-1].line}" if own else ""
    return f"{said}{place}; the module must not depend on values, and must not change its arguments"


def _is_own(file: str) -> bool:
    import torch

    return not file.startswith((os.path.dirname(str(torch.__file__)), os.path.dirname(__file__), "<"))
