"""Moving averages of weights. Integers follow the averaged weights, no matter which code averages them, and no value is
stale.
"""
# pyright: basic, reportMissingImports=false

import copy

import numpy as np
import pytest

import halfstep as hs


@pytest.fixture(scope="module")
def network(samples):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = torch.nn.Conv2d(1, 8, 3, padding=1)
            self.conv2 = torch.nn.Conv2d(8, 8, 3, padding=1)
            self.fc = torch.nn.Linear(8 * 16, 4)

        def forward(self, x):
            x = torch.relu(self.conv2(torch.relu(self.conv1(x))))
            return self.fc(torch.nn.functional.max_pool2d(x, 2).flatten(1))

    return hs.from_torch(Net(), torch.zeros(2, 1, 8, 8))


def integers(prepared, x):
    """Return the outputs of a newly converted program."""
    return hs.convert(prepared)(x)


@pytest.mark.parametrize("bits", [8, 4])
def test_a_copy_that_is_averaged_outside_gives_new_integers_every_epoch(network, samples, bits):
    torch = pytest.importorskip("torch")
    x, labels = samples
    prepared = hs.quantize(network, "magik_t40", data=x, weight_bits=bits, activation_bits=bits)
    module = prepared.as_torch()
    ema = copy.deepcopy(module).eval()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    seen = [np.asarray(ema(torch.from_numpy(x))), integers(ema.network, x)]
    for _ in range(3):
        module.train()
        for start in range(0, 400, 50):
            optimizer.zero_grad()
            part = torch.from_numpy(x[start : start + 50]), torch.from_numpy(labels[start : start + 50]).long()
            torch.nn.functional.cross_entropy(module(part[0]), part[1]).backward()
            optimizer.step()
        with torch.no_grad():  # Helpers of training loops average only the floats of the state dict.
            live = module.state_dict()
            for name, kept in ema.state_dict().items():
                if kept.is_floating_point():
                    kept.mul_(0.5).add_(live[name], alpha=0.5)
        codes = integers(ema.network, x)
        np.testing.assert_array_equal(np.asarray(ema(torch.from_numpy(x))), codes)  # the averages' integers
        assert all((codes != before).any() for before in seen)
        seen.append(codes)


def test_integers_are_those_of_the_averages_and_not_of_the_last_step(network, samples):
    results = {}
    for decay in (0, 0.5, 0.999):
        prepared = hs.quantize(network, "magik_t40", data=samples[0])
        fit = hs.train(prepared, samples, epochs=5, ema=decay, learning_rate=0.05)
        results[decay] = fit.digest, integers(prepared, samples[0])
        np.testing.assert_array_equal(prepared(samples[0]), results[decay][1])
    assert len({digest for digest, _ in results.values()}) == 3
    assert (results[0][1] != results[0.999][1]).any()


def test_the_decay_is_checked(network, samples):
    with pytest.raises(hs.Error, match="ema.*1.5.*at least 0 and below 1"):
        hs.train(network.copy(), samples, ema=1.5)
