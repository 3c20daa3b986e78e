"""Losses of arrays: regression, classes, boxes, embeddings and sequences.

    loss = hs.losses.mse(model(x), target) + 0.5 * hs.losses.giou(boxes, wanted)
    loss.backward()

`hs.train(..., loss="mse")` names the same losses. Formulas follow torch.nn.functional and torchvision.ops. All take:

- weight: Factor of each element of the loss, broadcast to it.
- reduction: "mean" (divided by the sum of the weights), "sum" (both return one number), or "none": one loss for each
  element, box, position, vector or sample.
- ignore: Elements with this target do not count.

Errors are raised for shapes that do not fit each other and for numbers out of their range.
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
    """Return the squared difference.

    Args:
        output: Results of the network, [n, ...].
        target: Expected results, as many elements as the output.
        weight, reduction, ignore: As for all losses of this module.

    Raises:
        Error: The shapes do not fit each other.
    """
    return _loss("mse", (output, target), (), weight, reduction, ignore)


def l1(output: Any, target: Any, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None) -> array:
    """Return the absolute difference.

    Args:
        output: Results of the network, [n, ...].
        target: Expected results, as many elements as the output.
        weight, reduction, ignore: As for all losses of this module.

    Raises:
        Error: The shapes do not fit each other.
    """
    return _loss("l1", (output, target), (), weight, reduction, ignore)


def smooth_l1(
    output: Any, target: Any, beta: float = 1, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None
) -> array:
    """Return d^2 / (2 beta) for an absolute difference d below beta, else d - beta / 2 (Girshick, 2015).

    Args:
        output: Results of the network, [n, ...].
        target: Expected results, as many elements as the output.
        beta: Where the parabola ends. 0 computes `l1`. Range: at least 0.
        weight, reduction, ignore: As for all losses of this module.

    Raises:
        Error: The shapes do not fit each other, or beta is out of its range.
    """
    return _loss("smooth_l1", (output, target), (beta,), weight, reduction, ignore)


def huber(output: Any, target: Any, delta: float = 1, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None) -> array:
    """Return d^2 / 2 for an absolute difference d below delta, else delta (d - delta / 2) (Huber, 1964).

    Args:
        output: Results of the network, [n, ...].
        target: Expected results, as many elements as the output.
        delta: Where the parabola ends. Range: above 0.
        weight, reduction, ignore: As for all losses of this module.

    Raises:
        Error: The shapes do not fit each other, or delta is out of its range.
    """
    return _loss("huber", (output, target), (delta,), weight, reduction, ignore)


def bce_with_logits(
    output: Any, target: Any, pos_weight: float = 1, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None
) -> array:
    """Return the binary cross entropy of sigmoid(output).

    Args:
        output: Logits, [n, ...].
        target: Probabilities from 0 to 1, as many elements as the output.
        pos_weight: Weight of targets of 1. Range: above 0.
        weight, reduction, ignore: As for all losses of this module.

    Raises:
        Error: The shapes do not fit each other, or pos_weight is out of its range.
    """
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
    """Return the cross entropy of sigmoid(output) times (1 - p)^gamma (Lin et al., 2017). p is the probability of the
    target.

    Args:
        output: Logits, [n, ...].
        target: Probabilities from 0 to 1, as many elements as the output.
        alpha: Weight of targets of 1. Targets of 0 have the weight 1 - alpha. A negative alpha gives both the weight 1.
            Range: -1 to 1.
        gamma: Exponent. Hard elements count more with a higher one. Range: 0 to 100.
        weight, reduction, ignore: As for all losses of this module.

    Raises:
        Error: The shapes do not fit each other, or alpha or gamma is out of its range.
    """
    return _loss("focal", (output, target), (alpha, gamma), weight, reduction, ignore)


def iou(output: Any, target: Any, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None) -> array:
    """Return 1 - intersection / union of two boxes.

    Args:
        output: Boxes [..., 4] with the corners x1 y1 x2 y2.
        target: Expected boxes, as many as in the output.
        weight, reduction, ignore: As for all losses of this module.

    Raises:
        Error: The shapes do not fit each other.
    """
    return _loss("iou", (output, target), (), weight, reduction, ignore)


def giou(output: Any, target: Any, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None) -> array:
    """Return `iou` plus the share of the enclosing box that is in neither box (Rezatofighi et al., 2019).

    Args:
        output: Boxes [..., 4] with the corners x1 y1 x2 y2.
        target: Expected boxes, as many as in the output.
        weight, reduction, ignore: As for all losses of this module.

    Raises:
        Error: The shapes do not fit each other.
    """
    return _loss("giou", (output, target), (), weight, reduction, ignore)


def diou(output: Any, target: Any, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None) -> array:
    """Return `iou` plus the squared distance of the centres (Zheng et al., 2020). It is relative to the squared diagonal
    of the enclosing box.

    Args:
        output: Boxes [..., 4] with the corners x1 y1 x2 y2.
        target: Expected boxes, as many as in the output.
        weight, reduction, ignore: As for all losses of this module.

    Raises:
        Error: The shapes do not fit each other.
    """
    return _loss("diou", (output, target), (), weight, reduction, ignore)


def ciou(output: Any, target: Any, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None) -> array:
    """Return `diou` plus a term for the difference of the aspect ratios (Zheng et al., 2020).

    Args:
        output: Boxes [..., 4] with the corners x1 y1 x2 y2.
        target: Expected boxes, as many as in the output.
        weight, reduction, ignore: As for all losses of this module.

    Raises:
        Error: The shapes do not fit each other.
    """
    return _loss("ciou", (output, target), (), weight, reduction, ignore)


def cross_entropy(
    output: Any, target: Any, label_smoothing: float = 0, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None
) -> array:
    """Return -log softmax(output)[target].

    Args:
        output: Logits, [n, classes, ...] or [n, ..., classes].
        target: Classes, integers [n, ...].
        label_smoothing: Share of each label that is spread over all classes (Szegedy et al., 2016). Range: 0 to 1.
        weight, reduction, ignore: As for all losses of this module.

    Raises:
        Error: The shapes do not fit each other, a label is not a class, or label_smoothing is out of its range.
    """
    return _loss("cross_entropy", (output, target), (label_smoothing,), weight, reduction, ignore)


def dice(output: Any, target: Any, smooth: float = 1, *, weight: Any = None, reduction: str = "mean", ignore: float | None = None) -> array:
    """Return 1 - (2 sum(p t) + smooth) / (sum(p) + sum(t) + smooth) for each sample and class (Milletari et al., 2016).

    Args:
        output: Logits, [n, classes, ...]. p is their softmax, or their sigmoid for targets of shares.
        target: Classes, integers [n, ...], or shares from 0 to 1, as many elements as the output.
        smooth: Keeps the quotient finite for a class that is absent. Range: above 0.
        weight, reduction, ignore: As for all losses of this module.

    Raises:
        Error: The shapes do not fit each other, or smooth is out of its range.
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
    """Return -log of the probability of all alignments of labels with logits (Graves et al., 2006).

    The mean divides the loss of each sample by its number of labels first.

    Args:
        output: Logits or their log_softmax, [n, steps, classes].
        target: Labels, integers [n, labels]. Each row is padded at its end.
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
    """Return 1 - cosine of two vectors with target 1, and max(cosine - margin, 0) with target -1.

    Args:
        output: Vectors, [n, ...]. The last axis is the vector.
        other: Vectors to compare with, in the shape of the output.
        target: 1 for a pair that belongs together, else -1.
        margin: Largest cosine of other pairs that costs nothing. Range: -1 to 1.
        weight, reduction, ignore: As for all losses of this module.

    Raises:
        Error: The shapes do not fit each other, or margin is out of its range.
    """
    return _loss("cosine_embedding", (output, other, target), (margin,), weight, reduction, ignore)


def triplet_margin(
    output: Any, positive: Any, negative: Any, margin: float = 1, p: float = 2, *, weight: Any = None, reduction: str = "mean"
) -> array:
    """Return max(|output - positive| - |output - negative| + margin, 0) (Balntas et al., 2016).

    Args:
        output: Vectors, [n, ...]. The last axis is the vector.
        positive: Vectors of the same kind, in the shape of the output.
        negative: Vectors of another kind, in the shape of the output.
        margin: Least difference of the two distances that costs nothing. Range: above 0.
        p: Norm of the distances. Range: 1 to 100.
        weight, reduction: As for all losses of this module.

    Raises:
        Error: The shapes do not fit each other, or margin or p is out of its range.
    """
    return _loss("triplet_margin", (output, positive, negative), (margin, p), weight, reduction)
