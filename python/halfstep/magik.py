"""Markers for PyTorch modules: they select the part of a network that a chip computes on codes.

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.start, self.end = hs.magik.InputNOp(), hs.magik.OutputNOp(1)
            ...

        def forward(self, image):
            return self.decode(self.end(self.head(self.backbone(self.start(image)))))

The part between the markers is quantized. The rest stays in float, and `convert` accepts that without an option. In
PyTorch the markers do nothing and have no state. `halfstep.from_torch` keeps them.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import torch

from halfstep import ops


class InputNOp(torch.nn.Module):
    """Begin the quantized region. Call one on each input of the region, such as the image."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.input_nop(x) if _is_traced(x) else x


class OutputNOp(torch.nn.Module):
    """End the quantized region. Call one on each output of the region, directly after the layer that makes it.

    Args:
        model_output_num: Number of outputs of the network.
    """

    def __init__(self, model_output_num: int = 1) -> None:
        super().__init__()
        if model_output_num < 1:
            raise ValueError(f"OutputNOp: model_output_num: found {model_output_num}, expected at least 1")
        self.model_output_num = model_output_num

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.output_nop(x, outputs=self.model_output_num) if _is_traced(x) else x

    def extra_repr(self) -> str:
        return str(self.model_output_num)


def _is_traced(x: torch.Tensor) -> bool:
    """Return whether torch.export traces the module. Tensors then have no contents."""
    return type(x) is not torch.Tensor and isinstance(x, torch._subclasses.FakeTensor)
