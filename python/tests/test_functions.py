"""Functions of arrays as networks."""

import pathlib
import subprocess

import halfstep as hs
import numpy as np
import pytest
from raising import raises


def parameter(*shape):
    made = hs.normal(shape, std=0.3)
    made.requires_grad = True
    return made


@pytest.fixture
def classify():
    hs.seed(3)
    w1, b1, w2, b2 = parameter(8, 1, 3, 3), parameter(8), parameter(10, 8 * 64), parameter(10)

    def classify(image):
        hidden = hs.ops.conv2d(image, w1, b1, pad=[1, 1, 1, 1]).relu()
        return hs.ops.linear(hidden.reshape(hidden.shape[0], -1), w2, b2)

    return classify


def test_has_names_types_and_lines(classify):
    net = hs.network(classify, image=(None, 1, 8, 8))
    assert net.inputs == {"image": ("f32", (None, 1, 8, 8))}
    assert {"conv2d", "relu", "linear"} <= set(net.layers)
    assert "param @w1: f32[8, 1, 3, 3]" in str(net)
    image = np.random.default_rng(0).standard_normal((5, 1, 8, 8)).astype(np.float32)
    np.testing.assert_allclose(net(image), classify(hs.array(image)).numpy(), rtol=1e-4, atol=1e-5)


def test_goes_to_verified_integers(classify):
    digits = hs.datasets.digits()
    for function in (classify, hs.jit(classify)):
        prepared = hs.quantize(function, "generic_int8", data=digits, preprocess={"scale": 1 / 16})
        assert hs.verify(prepared, hs.convert(prepared), digits).equal


def test_messages_name_lines(classify, tmp_path):
    line = classify.__code__.co_firstlineno + 1
    program = hs.convert(hs.quantize(classify, "generic_int8", data=hs.datasets.digits(), preprocess={"scale": 1 / 16}))
    with raises("not_exact_in_form", hs.UnsupportedError, match=rf"test_functions\.py:{line}: node '\w+'"):
        hs.export(program, tmp_path / "classify.onnx", format="qoperator")


def test_loops_have_their_weights_inside():
    hs.seed(5)
    wx, wh = parameter(6, 4), parameter(6, 6)

    def read(x):
        def step(count, hidden):
            now = hs.ops.gather(x, count.astype("i64"), axis=1)
            return count + 1.0, (hs.ops.linear(now, wx) + hs.ops.linear(hidden, wh)).tanh()

        return hs.while_loop(lambda count, hidden: count < 5.0, step, hs.array(0.0), x[:, 0, :1] * hs.zeros((1, 6)))[1]

    net = hs.network(read, x=(None, 5, 4))
    assert "w=@wx" in str(net)
    assert "w=@wh" in str(net)
    samples = np.random.default_rng(1).standard_normal((16, 5, 4)).astype(np.float32)
    prepared = hs.quantize(net, "generic_int8", data=samples)
    program = hs.convert(prepared, float_fallback=True)
    assert hs.verify(prepared, program, samples).equal


def test_says_what_cannot_be_a_network(classify):
    with pytest.raises(TypeError, match="network: found 'picture', expected extents for image"):
        hs.network(classify, picture=(None, 1, 8, 8))
    with raises("contents_asked_in_region", match="network '<lambda>'"):
        hs.network(lambda x: x.relu() if x.sum() > 0 else x, x=(None, 3))
    with pytest.raises(TypeError, match="a result that is not an array"):
        hs.network(lambda x: 3.0, x=(None, 3))


def losses_of_cpp(test):
    """Return the losses that tests/capture/modules_test.cpp prints. The trainings are repeated here."""
    program = pathlib.Path(hs._core.__file__).parents[3] / "test_capture"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    said = subprocess.run([program, f"--gtest_filter={test}"], capture_output=True, text=True, check=True).stdout
    losses = [float.fromhex(line.split()[1]) for line in said.splitlines() if line.startswith("loss ")]
    assert len(losses) == 6
    return losses


def step_of(network, optimizer):
    @hs.jit
    def step(x, labels):
        optimizer.zero_grad()
        loss = hs.nn.cross_entropy(network(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def test_cpp_trains_to_the_same_bits():
    losses = losses_of_cpp("Modules.TrainTheSameCapturedAndNot")
    hs.seed(3)
    network = hs.nn.Sequential(hs.nn.Conv2d(1, 4, 3, padding=1), hs.nn.BatchNorm2d(4), hs.nn.ReLU(), hs.nn.Flatten(), hs.nn.Linear(64, 3))
    optimizer = hs.optim.SGD(network.parameters(), learning_rate=0.1, momentum=0.9, weight_decay=1e-4)
    labels = hs.array(np.array([0, 1, 2, 0, 1, 2, 0, 1], np.int32))
    step = step_of(network, optimizer)
    with hs.train_mode():
        assert [step(hs.normal((8, 1, 4, 4)), labels).item() for _ in losses] == losses


class Reader(hs.nn.Module):
    def __init__(self):
        self.letters, self.norm, self.cell = hs.nn.Embedding(7, 5), hs.nn.LayerNorm(5), hs.nn.LSTMCell(5, 6)
        self.head, self.drop = hs.nn.Linear(6, 2), hs.nn.Dropout(0.25)

    def forward(self, ids):
        rows = self.norm(self.letters(ids))
        state = hs.zeros((4, 6)), hs.zeros((4, 6))
        for t in range(3):
            state = self.cell(rows[:, t], state)
        return self.head(self.drop(state[0]))


def test_cpp_reads_to_the_same_bits():
    losses = losses_of_cpp("Modules.ReadTheSameCapturedAndNot")
    hs.seed(5)
    reader = Reader()
    optimizer = hs.optim.Adam(reader.parameters(), learning_rate=0.05)
    ids = hs.array([[0, 1, 2], [3, 4, 5], [6, 0, 3], [2, 2, 1]])
    labels = hs.array([0, 1, 0, 1], "i32")
    step = step_of(reader, optimizer)
    with hs.train_mode():
        assert [step(ids, labels).item() for _ in losses] == losses
