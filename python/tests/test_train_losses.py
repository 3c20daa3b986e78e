"""Training with losses of outputs and targets."""

import struct
import zlib

import numpy as np
import pytest

import halfstep as hs
from halfstep import nn

RANDOM = np.random.default_rng(1)


def regression():
    x = RANDOM.uniform(-1, 1, (200, 3)).astype(np.float32)
    return x, (x @ np.array([[1.0], [-2.0], [0.5]], np.float32)).astype(np.float32)


def small(outputs=1):
    hs.seed(0)
    return hs.network(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, outputs)), x=(None, 3))


def test_a_network_learns_real_values():
    report = hs.train(small(), regression(), loss="mse", epochs=10, learning_rate=0.05)
    losses = [each["loss"] for each in report.validation_results]
    assert report.accuracy is None
    assert losses[-1] < losses[0] / 4
    assert report.tested_loss < losses[0] / 4
    assert "accuracy" not in report.validation_results[0] and "accuracy" not in str(report)
    assert report.verdict.startswith("tested loss")


def test_a_function_is_a_loss_too():
    data, named, own = regression(), small(), small()
    a = hs.train(named, data, loss="mse + l1 * 2", epochs=2)
    b = hs.train(own, data, loss=lambda output, target: hs.losses.mse(output, target) + hs.losses.l1(output, target) * 2, epochs=2)
    assert a.digest == b.digest
    assert a.tested_loss == b.tested_loss


def test_a_function_names_what_it_reads():
    with pytest.raises(TypeError, match="parameter 'targets'"):
        hs.train(small(), regression(), loss=lambda output, targets: output.sum(), epochs=1)
    with pytest.raises(TypeError, match="one element"):
        hs.train(small(), regression(), loss=lambda output, target: output - target, epochs=1)


def test_several_outputs_have_their_losses():
    class Two(nn.Module):
        def __init__(self):
            self.a, self.b = nn.Linear(3, 1), nn.Linear(3, 4)

        def forward(self, x):
            return {"value": self.a(x), "box": self.b(x)}

    x, y = regression()
    corner = RANDOM.uniform(0, 1, (200, 2)).astype(np.float32)
    boxes = np.concatenate([corner, corner + 1], 1)
    net = hs.network(Two(), x=(None, 3))
    data = {"x": x, "target.value": y, "target.box": boxes}
    report = hs.train(net, data, loss="mse + smooth_l1(output=box)", epochs=8)
    losses = [each["loss"] for each in report.validation_results]
    assert losses[-1] < losses[0] / 2


def test_prepared_networks_learn_by_a_loss():
    data = regression()
    net = small()
    hs.train(net, data, loss="mse", epochs=5)
    prepared = hs.quantize(net, "generic_int8", data=data[0], weight_bits=4, activation_bits=4, first_last_bits=4)
    report = hs.train(prepared, data, loss="mse", epochs=5)
    losses = [each["loss"] for each in report.validation_results]
    assert min(losses) < losses[0]
    assert hs.verify(prepared, hs.convert(prepared), data[0]).equal


def sequences(labels):
    """Three steps for each label, which move a peak through the numbers of a step."""
    steps = 3 * labels.shape[1]
    x = RANDOM.normal(0, 0.1, (len(labels), steps, 5)).astype(np.float32)
    for n, row in enumerate(labels):
        for i, label in enumerate(row):
            if label > 0:
                x[n, 3 * i, label] += 2
    return x


def reader(steps):
    """A network that answers each step by itself."""

    class Reader(nn.Module):
        def __init__(self):
            self.linear = nn.Linear(5, 5)

        def forward(self, x):
            return self.linear(x.reshape(-1, 5)).reshape(-1, steps, 5)

    return hs.network(Reader(), x=(None, steps, 5))


def test_sequences_learn_labels_without_positions():
    labels = RANDOM.integers(1, 5, (120, 4)).astype(np.int32)
    lengths = RANDOM.integers(1, 5, 120).astype(np.int32)
    for row, length in zip(labels, lengths):
        row[length:] = -1
    net = reader(12)
    data = {"x": sequences(labels), "target": labels, "target_lengths": lengths, "input_lengths": np.full(120, 12, np.int32)}
    report = hs.train(net, data, loss="ctc", epochs=10)
    losses = [each["loss"] for each in report.validation_results]
    assert losses[-1] < losses[0] / 2


def test_targets_that_are_too_long_are_named_before_training():
    labels = np.ones((20, 4), np.int32)
    labels[:, 1::2] = 2
    x = sequences(labels)[:, :6]
    labels[7] = 1
    net = reader(6)
    with pytest.raises(hs.Error) as raised:
        hs.train(net, {"x": x, "target": labels}, loss="ctc", epochs=1)
    error = raised.value
    assert error.id == "HS4027"
    assert error.where == "data: sample 7, loss ctc"
    assert error.found == "4 labels, which need 7 steps"
    assert error.layer == next(iter(net.outputs))
    assert error.remedy


def test_masks_are_learned():
    class Net(nn.Module):
        def __init__(self):
            self.conv = nn.Conv2d(1, 2, 1)

        def forward(self, x):
            return self.conv(x)

    x = RANDOM.uniform(-1, 1, (64, 1, 6, 6)).astype(np.float32)
    masks = (x[:, 0] > 0).astype(np.uint8)
    masks[:, 0] = 255
    report = hs.train(hs.network(Net(), x=(None, 1, 6, 6)), {"x": x, "target": masks}, loss="cross_entropy(ignore=255) + dice(ignore=255)", epochs=40)
    losses = [each["loss"] for each in report.validation_results]
    assert losses[-1] < losses[0] / 2


def test_samples_with_targets_need_a_loss():
    with pytest.raises(hs.Error) as raised:
        hs.train(small(), regression(), epochs=1)
    assert raised.value.id == "HS5424"


def test_a_loss_of_another_name_is_refused():
    with pytest.raises(hs.Error) as raised:
        hs.train(small(), regression(), loss="mze", epochs=1)
    assert raised.value.id == "HS4300"


def test_the_description_of_data_has_its_targets():
    described = hs.inspect_data(regression())
    assert described.values["targets"] == {"target": "f32[200, 1]"}
    assert "target   'target' f32[200, 1]" in str(described)


def png(path, pixels):
    """Write a PNG in grey."""
    height, width = pixels.shape
    rows = b"".join(b"\0" + row.astype(np.uint8).tobytes() for row in pixels)
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    body = b"".join(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


def test_masks_in_a_folder_are_learned(tmp_path):
    for number in range(60):
        picture = RANDOM.integers(0, 256, (9, 8))
        part = "train" if number < 48 else "val"
        png(tmp_path / part / "images" / f"{number}.png", picture)
        png(tmp_path / part / "masks" / f"{number}.png", np.where(picture == 255, 255, picture > 128))

    class Net(nn.Module):
        def __init__(self):
            self.conv = nn.Conv2d(1, 2, 1)

        def forward(self, x):
            return self.conv(x)

    net = hs.network(Net(), x=(None, 1, 8, 8))
    preprocess = {"crop": 8, "scale": 1 / 64, "mean": 2.0}
    report = hs.train(net, str(tmp_path), loss="cross_entropy(ignore=255)", epochs=30, flip=True, shift=1, preprocess=preprocess)
    losses = [each["loss"] for each in report.validation_results]
    assert losses[-1] < losses[0] / 2
    assert report.values["tested"] == "val/"
    png(tmp_path / "train" / "masks" / "3.png", np.full((9, 8), 2))
    with pytest.raises(hs.Error) as raised:
        hs.train(net, str(tmp_path), loss="cross_entropy(ignore=255)", epochs=1)
    assert raised.value.id == "HS4020"
    assert "sample 23, loss" in raised.value.where  # images are in the order of their names
