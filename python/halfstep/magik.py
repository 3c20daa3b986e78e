"""Markers for modules of PyTorch: which part of a network a chip computes on codes.

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.start, self.end = hs.magik.InputNOp(), hs.magik.OutputNOp(1)
            ...

        def forward(self, image):
            return self.decode(self.end(self.head(self.backbone(self.start(image)))))

What lies between them is quantized, the rest stays in float, and `convert` needs no leave for it. In PyTorch they change
nothing and have no state; `halfstep.from_torch` takes them along.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import torch

from halfstep import ops


class InputNOp(torch.nn.Module):
    """The quantized region begins with what this is called on: one on each input of the region, such as the image."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.input_nop(x) if _is_traced(x) else x


class OutputNOp(torch.nn.Module):
    """The quantized region ends with what this is called on: an instance on each output of the region, right behind the
    layer that makes it, before anything else is done with it.

    model_output_num: how many of them the network has.
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
    """Whether torch.export follows the module: then tensors have no contents."""
    return type(x) is not torch.Tensor and isinstance(x, torch._subclasses.FakeTensor)
