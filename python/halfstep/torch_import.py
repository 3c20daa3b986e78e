"""Networks of PyTorch as Halfstep's."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from halfstep import _core
from halfstep.model import Model

if TYPE_CHECKING:
    import torch

_MOST_IN_ONE = 1 << 30
"""Bytes of weights that go through one message: protobuf ends at 2 GiB."""


def from_torch(
    module: Any,
    example: Any,
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    name: str | None = None,
) -> Model:
    """The float network that `module` computes in evaluation mode, by way of torch.export.

    example: what `module` is called with: a tensor, or a tuple of arguments; `kwargs` by name. Values do not matter,
        types and extents do.
    dynamic_shapes: extents that stay open, as torch.export takes them. Without it the first extent of every tensor is
        the batch and stays open; where the module does not allow that it is the example's, and a warning says why.
    name: of the network; the module's class without it.

    Layers are called after their modules ("layer1.0.conv1"), inputs after the arguments of `forward`, and messages
    quote the line of the module's source. The Model has copies of the weights; `module` stays as it was.

    Raises TypeError for what is no module, Error for a module that cannot be exported, with the line that is in the
    way, UnsupportedError with everything that Halfstep lacks, ImportError without torch or onnxscript.
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
            open_batch = _open_batch((*arguments, *given.values()))
            return _imported(module, _copied(arguments, 2), _copied(given, 2), open_batch, title)
        except _core.Error as error:
            reason = str(error)
        fixed = _imported(module, _copied(arguments), _copied(given), None, title)
    warnings.warn(f"{title}: the batch stays that of the example: {reason}", stacklevel=2)
    return fixed


@contextlib.contextmanager
def _evaluation(module: torch.nn.Module) -> Iterator[None]:
    """Every module in evaluation mode, and back in its own afterwards."""
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
    """The module as ONNX has it."""
    import torch

    try:
        with _quiet():
            exported = torch.export.export(module, tuple(arguments), kwargs, dynamic_shapes=dynamic_shapes, strict=False)
            own = sys.modules.get("halfstep.torch_ops")  # where the module has called operators of ours
            program = torch.onnx.export(
                exported, dynamo=True, verbose=False, output_names=_output_names(exported),
                custom_translation_table=None if own is None else own.translation(),
            )  # fmt: skip
    except ImportError:
        raise
    except Exception as error:
        raise _core.error("torch_export_failed", title, _reason(error)) from error
    assert program is not None  # as it is without dynamo
    program.model.graph.name = title
    return program


def _output_names(exported: torch.export.ExportedProgram) -> list[str] | None:
    """The keys of a dict; what else a module returns has the names of what computes it."""
    spec = exported.call_spec.out_spec
    if spec is None:
        return None
    outputs = spec.unflatten(range(spec.num_leaves))
    if not isinstance(outputs, Mapping) or not all(isinstance(place, int) for place in outputs.values()):
        return None
    return [str(key) for key in sorted(outputs, key=outputs.__getitem__)]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch says of its own work: what matters is in the error."""
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
    """Tensors of their own, because torch.export leaves marks on them; batches of one as batches of `at_least`: an
    extent of one would be taken for one that is never another."""
    if _is_tensor(value):
        return value.repeat(at_least, *[1] * (value.dim() - 1)) if value.dim() and value.shape[0] == 1 else value.clone()
    if isinstance(value, Mapping):
        return {key: _copied(part, at_least) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(part, at_least) for part in value)
    return value


def _open_batch(value: Any) -> Any:
    """As torch.export wants it: for each tensor which extents are open."""
    import torch

    if _is_tensor(value):
        return {0: torch.export.Dim.DYNAMIC} if value.dim() else None
    if isinstance(value, Mapping):
        return {key: _open_batch(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_open_batch(part) for part in value)
    return None


def _reason(error: BaseException) -> str:
    """What is at the root of a failed export, where in the user's program, and what to do."""
    import traceback

    chain = [error]
    while cause := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(cause)
    root = chain[-1]
    said = " ".join(str(root).split())[:400] or type(root).__name__
    frames = [frame for cause in chain for frame in traceback.extract_tb(cause.__traceback__)]
    own = [frame for frame in frames if _is_own(frame.filename)]
    place = f"; at {os.path.basename(own[-1].filename)}:{own[-1].lineno}: {own[-1].line}" if own else ""
    return f"{said}{place}; what the module does must not depend on values, and it must not change its arguments"


def _is_own(file: str) -> bool:
    import torch

    return not file.startswith((os.path.dirname(str(torch.__file__)), os.path.dirname(__file__), "<"))
