"""Losses of arrays: regression, classes, boxes, embeddings and sequences.

    loss = hs.losses.mse(model(x), target) + 0.5 * hs.losses.giou(boxes, wanted)
    loss.backward()

`hs.train(..., loss="mse")` names the same losses. Formulas follow torch.nn.functional and torchvision.ops. All take:

- weight: Factor of each element of the loss, broadcast to it.
- reduction: "mean" (divided by the sum of the weights), "sum" or "none".
- ignore: Elements with this target do not count.
"""

from __future__ import annotations

from typing import Any

from halfstep import _core
from halfstep.arrays import array


def _array(value: Any) -> array | None:
    return None if value is None else array(value)


def _loss(name: str, operands: tuple[Any, ...], numbers: tuple[float, ...], weight: Any, reduction: str, ignore: float | None = None) -> array:
    made: array = _core.loss(name, [_array(each) for each in operands], list(numbers), reduction, _array(weight), ignore)
    return made


def mse(output: Any, target: Any, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None) -> array:
    """Return the squared difference."""
    return _loss("mse", (output, target), (), weight, reduction, ignore)


def l1(output: Any, target: Any, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None) -> array:
    """Return the absolute difference."""
    return _loss("l1", (output, target), (), weight, reduction, ignore)


def smooth_l1(
    output: Any, target: Any, beta: float = 1, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None
) -> array:
    """Return d^2 / (2 beta) for a difference d below beta, else d - beta / 2."""
    return _loss("smooth_l1", (output, target), (beta,), weight, reduction, ignore)


def huber(output: Any, target: Any, delta: float = 1, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None) -> array:
    """Return d^2 / 2 for a difference d below delta, else delta (d - delta / 2)."""
    return _loss("huber", (output, target), (delta,), weight, reduction, ignore)


def bce_with_logits(
    output: Any, target: Any, pos_weight: float = 1, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None
) -> array:
    """Return the cross entropy of sigmoid(output) and targets from 0 to 1. pos_weight counts the targets of 1 so often."""
    return _loss("bce_with_logits", (output, target), (pos_weight,), weight, reduction, ignore)


def focal(
    output: Any,
    target: Any,
    alpha: float = 0.25,
    gamma: float = 2,
    *,
    weight: Any = None,
    reduction: str = "mean",
    ignore: float | None = None,
) -> array:
    """Return the cross entropy of sigmoid(output) times (1 - p)^gamma, where p is the probability of the target.

    Targets of 1 count alpha, those of 0 count 1 - alpha. A negative alpha counts both alike.
    """
    return _loss("focal", (output, target), (alpha, gamma), weight, reduction, ignore)


def iou(output: Any, target: Any, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None) -> array:
    """Return 1 - intersection / union of boxes [..., 4], with the corners x1 y1 x2 y2."""
    return _loss("iou", (output, target), (), weight, reduction, ignore)


def giou(output: Any, target: Any, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None) -> array:
    """Return `iou` plus the share of the enclosing box that is in neither box."""
    return _loss("giou", (output, target), (), weight, reduction, ignore)


def diou(output: Any, target: Any, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None) -> array:
    """Return `iou` plus the squared distance of the centres, relative to the diagonal of the enclosing box."""
    return _loss("diou", (output, target), (), weight, reduction, ignore)


def ciou(output: Any, target: Any, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None) -> array:
    """Return `diou` plus a term for the difference of the aspect ratios."""
    return _loss("ciou", (output, target), (), weight, reduction, ignore)


def cross_entropy(
    output: Any, target: Any, label_smoothing: float = 0, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None
) -> array:
    """Return -log softmax(output)[target] of classes [n, classes, ...] or [n, ..., classes] and targets [n, ...]."""
    return _loss("cross_entropy", (output, target), (label_smoothing,), weight, reduction, ignore)


def dice(output: Any, target: Any, smooth: float = 1, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None) -> array:
    """Return 1 - (2 sum(p t) + smooth) / (sum(p) + sum(t) + smooth) for each sample and class.

    Targets [n, ...] are classes, and p is softmax(output) [n, classes, ...]. Targets with as many elements as the
    output are from 0 to 1, and p is sigmoid(output).
    """
    return _loss("dice", (output, target), (smooth,), weight, reduction, ignore)


def ctc(
    output: Any,
    target: Any,
    input_lengths: Any = None,
    target_lengths: Any = None,
    blank: int = 0,
    *,
    weight: Any = None,
    reduction: str = "mean",
) -> array:
    """Return -log of the probability of all alignments of labels [n, labels] with logits [n, steps, classes].

    The mean divides the loss of each sample by its number of labels first.

    Args:
        output: Logits, or their log_softmax.
        target: Labels, integers. Each row is padded at its end.
        input_lengths: Number of steps of each sample. Default: all.
        target_lengths: Number of labels of each sample. Default: the number of labels that are not negative.
        blank: The class that stands for no label.
        weight: Factor of each sample.
        reduction: "mean", "sum" or "none".

    Raises:
        Error: A target needs more steps than its sample has, or a label is not a class.
    """
    return _loss("ctc", (output, target, input_lengths, target_lengths), (blank,), weight, reduction)


def cosine_embedding(
    output: Any, other: Any, target: Any, margin: float = 0, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None
) -> array:
    """Return 1 - cosine for a pair of vectors with target 1, and max(cosine - margin, 0) with target -1."""
    return _loss("cosine_embedding", (output, other, target), (margin,), weight, reduction, ignore)


def triplet_margin(
    output: Any, positive: Any, negative: Any, margin: float = 1, p: float = 2, *, weight: Any = None, reduction: str = "mean"
) -> array:
    """Return max(|output - positive| - |output - negative| + margin, 0), with p-norms of the last axis."""
    return _loss("triplet_margin", (output, positive, negative), (margin, p), weight, reduction)
