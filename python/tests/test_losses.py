"""Losses against formulas in NumPy, and their gradients against PyTorch."""

import numpy as np
import pytest

import halfstep as hs
from halfstep import losses
from raising import raises

X = np.random.default_rng(3).normal(0, 2, (6, 5)).astype(np.float32)
Y = np.random.default_rng(4).normal(0, 2, (6, 5)).astype(np.float32)
SHARE = np.random.default_rng(5).uniform(0, 1, (6, 5)).astype(np.float32)
BOXES = np.array([[0, 0, 4, 4], [1, 1, 3, 5], [2, 2, 3, 3], [0, 1, 2, 7], [5, 5, 9, 8], [1, 0, 2, 6]], np.float32)
RANDOM = np.random.default_rng(11)
WANTED = np.array([[1, 1, 5, 4], [1, 1, 3, 5], [6, 6, 7, 9], [0, 0, 3, 6], [4, 6, 9, 9], [0, 0, 9, 9]], np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def binary(x, t, pos_weight=1.0):
    return -(pos_weight * t * np.log(sigmoid(x)) + (1 - t) * np.log(1 - sigmoid(x)))


def focal(x, t, alpha=0.25, gamma=2.0):
    p = sigmoid(x)
    p_t, alpha_t = p * t + (1 - p) * (1 - t), alpha * t + (1 - alpha) * (1 - t)
    return (alpha_t if alpha >= 0 else 1) * (1 - p_t) ** gamma * binary(x, t)


def smooth_l1(x, y, beta=1.0):
    d = np.abs(x - y)
    return np.where(d < beta, d * d / (2 * beta), d - beta / 2)


def areas(a, b):
    def area(x):
        return (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])

    width = np.minimum(a[:, 2], b[:, 2]) - np.maximum(a[:, 0], b[:, 0])
    height = np.minimum(a[:, 3], b[:, 3]) - np.maximum(a[:, 1], b[:, 1])
    both = np.maximum(width, 0) * np.maximum(height, 0)
    around = np.concatenate([np.minimum(a[:, :2], b[:, :2]), np.maximum(a[:, 2:], b[:, 2:])], 1)
    return both, area(a) + area(b) - both, area(around), around


def giou(a, b):
    both, union, around, _ = areas(a, b)
    return 1 - both / union + (around - union) / around


def diou(a, b):
    both, union, _, around = areas(a, b)
    centres = ((a[:, :2] + a[:, 2:] - b[:, :2] - b[:, 2:]) / 2) ** 2
    return 1 - both / union + centres.sum(1) / ((around[:, 2:] - around[:, :2]) ** 2).sum(1)


def ciou(a, b):
    both, union, _, _ = areas(a, b)
    angles = [np.arctan((x[:, 2] - x[:, 0]) / (x[:, 3] - x[:, 1])) for x in (a, b)]
    shape = 4 / np.pi**2 * (angles[0] - angles[1]) ** 2
    return diou(a, b) + shape * shape / (1 - both / union + shape + 1e-7)


def distances(p):
    return [(np.abs(X - other + 1e-6) ** p).sum(1) ** (1 / p) for other in (Y, SHARE)]


SIGNS = np.array([1, -1, 1, -1, -1, 1], np.float32)
COSINES = (X * Y).sum(1) / np.sqrt((X * X).sum(1) * (Y * Y).sum(1))
CASES = {
    "mse": (losses.mse, (X, Y), {}, (X - Y) ** 2),
    "l1": (losses.l1, (X, Y), {}, np.abs(X - Y)),
    "smooth_l1": (losses.smooth_l1, (X, Y), {"beta": 0.5}, smooth_l1(X, Y, 0.5)),
    "smooth_l1 of beta 0": (losses.smooth_l1, (X, Y), {"beta": 0}, np.abs(X - Y)),
    "huber": (losses.huber, (X, Y), {"delta": 1.5}, 1.5 * smooth_l1(X, Y, 1.5)),
    "bce": (losses.bce_with_logits, (X, SHARE), {}, binary(X, SHARE)),
    "bce of positives": (losses.bce_with_logits, (X, SHARE), {"pos_weight": 3}, binary(X, SHARE, 3)),
    "focal": (losses.focal, (X, SHARE), {}, focal(X, SHARE)),
    "focal of gamma 3": (losses.focal, (X, SHARE), {"alpha": -1, "gamma": 3}, focal(X, SHARE, -1, 3)),
    "focal of gamma 0": (losses.focal, (X, SHARE), {"gamma": 0}, focal(X, SHARE, 0.25, 0)),
    "iou": (losses.iou, (BOXES, WANTED), {}, 1 - areas(BOXES, WANTED)[0] / areas(BOXES, WANTED)[1]),
    "giou": (losses.giou, (BOXES, WANTED), {}, giou(BOXES, WANTED)),
    "diou": (losses.diou, (BOXES, WANTED), {}, diou(BOXES, WANTED)),
    "ciou": (losses.ciou, (BOXES, WANTED), {}, ciou(BOXES, WANTED)),
    "cosine": (losses.cosine_embedding, (X, Y, SIGNS), {"margin": -0.3}, np.where(SIGNS > 0, 1 - COSINES, np.maximum(0, COSINES + 0.3))),
    "triplet": (losses.triplet_margin, (X, Y, SHARE), {"margin": 2}, np.maximum(0, distances(2)[0] - distances(2)[1] + 2)),
    "triplet of p 1": (losses.triplet_margin, (X, Y, SHARE), {"p": 1}, np.maximum(0, distances(1)[0] - distances(1)[1] + 1)),
    "triplet of p 3": (losses.triplet_margin, (X, Y, SHARE), {"p": 3}, np.maximum(0, distances(3)[0] - distances(3)[1] + 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_losses_equal_their_formulas(name):
    function, operands, options, expected = CASES[name]
    np.testing.assert_allclose(function(*operands, **options, reduction="none").numpy(), expected, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(function(*operands, **options).numpy(), np.mean(expected), rtol=2e-5)
    np.testing.assert_allclose(function(*operands, **options, reduction="sum").numpy(), np.sum(expected), rtol=2e-5)


LOGITS = np.random.default_rng(6).normal(0, 2, (2, 3, 4, 5)).astype(np.float32)
CLASSES = np.random.default_rng(7).integers(0, 3, (2, 4, 5)).astype(np.int32)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def test_classes_are_on_the_second_or_the_last_axis():
    picked = -np.log(np.take_along_axis(softmax(LOGITS, 1), CLASSES[:, None], 1))[:, 0]
    np.testing.assert_allclose(losses.cross_entropy(LOGITS, CLASSES, reduction="none").numpy(), picked, rtol=1e-5)
    last = np.ascontiguousarray(LOGITS.transpose(0, 2, 3, 1))
    np.testing.assert_allclose(losses.cross_entropy(last, CLASSES, reduction="none").numpy(), picked, rtol=1e-5)


def test_ignored_classes_do_not_count():
    target = CLASSES.copy()
    target[0, :2] = 255
    found = losses.cross_entropy(LOGITS, target, ignore=255)
    picked = -np.log(np.take_along_axis(softmax(LOGITS, 1), CLASSES[:, None], 1))[:, 0]
    np.testing.assert_allclose(found.numpy(), picked[target != 255].mean(), rtol=1e-5)


def test_dice_of_classes_and_of_shares():
    p, t = softmax(LOGITS, 1), np.eye(3, dtype=np.float32)[CLASSES].transpose(0, 3, 1, 2)
    axes = (2, 3)
    expected = 1 - (2 * (p * t).sum(axes) + 1) / (p.sum(axes) + t.sum(axes) + 1)
    np.testing.assert_allclose(losses.dice(LOGITS, CLASSES, reduction="none").numpy(), expected, rtol=1e-5)
    p = sigmoid(LOGITS)
    expected = 1 - (2 * (p * t).sum(axes) + 0.5) / (p.sum(axes) + t.sum(axes) + 0.5)
    np.testing.assert_allclose(losses.dice(LOGITS, t, 0.5, reduction="none").numpy(), expected, rtol=1e-5)


OUTSIDE = [(losses.smooth_l1, "beta", -1), (losses.huber, "delta", 0), (losses.bce_with_logits, "pos_weight", 0), (losses.focal, "alpha", 2), (losses.focal, "gamma", -1),
           (losses.dice, "smooth", 0), (losses.cross_entropy, "label_smoothing", 2)]  # fmt: skip


@pytest.mark.parametrize(("function", "option", "value"), OUTSIDE)
def test_numbers_out_of_their_range(function, option, value):
    with raises("number_out_of_range", match=option):
        function(X, SHARE, **{option: value})


def gradient(function, operands, **options):
    first = hs.array(operands[0]).detach()
    first.requires_grad = True
    function(first, *operands[1:], **options).backward()
    return first.grad.numpy()


def peers():
    torch = pytest.importorskip("torch")
    f = torch.nn.functional
    return torch, {
        "mse": f.mse_loss,
        "l1": f.l1_loss,
        "smooth_l1": f.smooth_l1_loss,
        "huber": f.huber_loss,
        "bce": f.binary_cross_entropy_with_logits,
        "bce of positives": lambda x, y, pos_weight: f.binary_cross_entropy_with_logits(x, y, pos_weight=torch.tensor(float(pos_weight))),
        "cosine": f.cosine_embedding_loss,
        "triplet": f.triplet_margin_loss,
        "triplet of p 3": f.triplet_margin_loss,
    }


@pytest.mark.parametrize("name", ["mse", "l1", "smooth_l1", "huber", "bce", "bce of positives", "cosine", "triplet", "triplet of p 3"])
def test_losses_and_gradients_equal_pytorch(name):
    torch, functions = peers()
    function, operands, options, _ = CASES[name]
    theirs = [torch.from_numpy(each.copy()) for each in operands]
    theirs[0].requires_grad = True
    loss = functions[name](*theirs, **options)
    loss.backward()
    np.testing.assert_allclose(function(*operands, **options).numpy(), loss.detach().numpy(), rtol=1e-5)
    np.testing.assert_allclose(gradient(function, operands, **options), theirs[0].grad.numpy(), rtol=1e-4, atol=1e-7)


def test_ctc_and_its_gradient_equal_pytorch():
    torch = pytest.importorskip("torch")
    logits = np.random.default_rng(8).normal(0, 2, (3, 9, 5)).astype(np.float32)
    target = np.array([[1, 2, 2, 4], [3, 1, 0, 0], [4, 4, 4, 0]], np.int64)
    steps, labels = np.array([9, 5, 8]), np.array([4, 2, 3])
    theirs = torch.from_numpy(logits.copy()).requires_grad_()
    expected = torch.nn.functional.ctc_loss(
        theirs.log_softmax(-1).transpose(0, 1), torch.from_numpy(target), torch.from_numpy(steps), torch.from_numpy(labels)
    )
    expected.backward()
    operands = (logits, target, steps, labels)
    np.testing.assert_allclose(losses.ctc(*operands).numpy(), expected.detach().numpy(), rtol=1e-5)
    np.testing.assert_allclose(gradient(losses.ctc, operands), theirs.grad.numpy(), rtol=1e-4, atol=1e-7)


def test_the_weight_of_the_aspect_ratio_has_no_gradient():
    first, wanted = BOXES + RANDOM.uniform(0.1, 0.3, BOXES.shape), WANTED.astype(np.float64)
    direction, step = RANDOM.normal(0, 1, first.shape), 1e-6
    both, union, _, _ = areas(first, wanted)

    def shape(a):
        angles = [np.arctan((x[:, 2] - x[:, 0]) / (x[:, 3] - x[:, 1])) for x in (a, wanted)]
        return 4 / np.pi**2 * (angles[0] - angles[1]) ** 2

    share = shape(first) / (1 - both / union + shape(first) + 1e-7)

    def value(a):
        return (diou(a, wanted) + share * shape(a)).sum()

    expected = (value(first + step * direction) - value(first - step * direction)) / (2 * step)
    found = (gradient(losses.ciou, (first, wanted), reduction="sum") * direction).sum()
    assert found == pytest.approx(expected, rel=1e-5)
    whole = (ciou(first + step * direction, wanted) - ciou(first - step * direction, wanted)).sum() / (2 * step)
    assert found != pytest.approx(whole, rel=1e-3)


def test_a_captured_loss_has_the_same_bits():
    @hs.jit(full_graph=True)
    def step(x, y):
        return losses.huber(x, y) + losses.focal(x, hs.ones((6, 5)), ignore=0.0)

    x, y = hs.array(X), hs.array(Y)
    first = step(x, y).numpy()
    np.testing.assert_array_equal(first, step(x, y).numpy())
    np.testing.assert_array_equal(first, (losses.huber(x, y) + losses.focal(x, hs.ones((6, 5)), ignore=0.0)).numpy())
    assert len(step.why_recaptured) == 0


def test_errors_name_the_loss():
    with pytest.raises(hs.Error) as raised:
        losses.mse(X, Y[:3])
    assert raised.value.id == "HS4302"
    with pytest.raises(hs.Error) as raised:
        losses.mse(X, Y, reduction="average")
    assert raised.value.id == "HS4307"
    with pytest.raises(hs.Error) as raised:
        losses.ctc(np.zeros((1, 2, 3), np.float32), np.array([[1, 1]], np.int32))
    assert raised.value.id == "HS4027"


@pytest.mark.parametrize("name", [name for name in CASES if name != "ciou"])
def test_gradients_equal_finite_differences(name):
    function, operands, options, _ = CASES[name]
    first, *others = [np.asarray(each, np.float64) for each in operands]
    if name in ("iou", "giou", "diou"):
        first += np.random.default_rng(10).uniform(0.1, 0.3, first.shape)  # no two sides are equal, where the loss has a kink
    direction = np.random.default_rng(9).normal(0, 1, first.shape)
    step = 1e-6

    def value(x):
        return float(function(x, *others, **options).numpy())

    expected = (value(first + step * direction) - value(first - step * direction)) / (2 * step)
    assert (gradient(function, (first, *others), **options) * direction).sum() == pytest.approx(expected, rel=1e-5, abs=1e-8)
