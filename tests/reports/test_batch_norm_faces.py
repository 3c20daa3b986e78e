"""A network with batch norms that are folded, frozen or live, trained by hs.train and in a loop of PyTorch: the same
parameters move, and both results are the integer programs that are proven."""

import numpy as np
import pytest

import halfstep as hs

torch = pytest.importorskip("torch")

WIDTH, STEPS = 32, 30
PARAMETERS = {"folded": 4, "frozen": 5, "live": 5}  # weight and bias of two layers; the norm's scale and shift for a bias
# How far the loss falls at least: PyTorch's own float module with its norm in evaluation mode goes from 2.28 to 1.98.
SHARE_LEFT = {"folded": 0.93, "frozen": 0.93, "live": 0.7}


def prepared(shared, form):
    arrays = hs.dataset(None).arrays()
    x, y = torch.from_numpy(arrays["x"]) / 16, torch.from_numpy(arrays["labels"]).long()
    network = hs.load(shared / "detector/small_bn.onnx")
    return hs.quantize(network, "generic_int8", calibrate=x, batch_norm=form), x, y


def moved(before, after):
    return {name for name, value in after.items() if not torch.equal(value, before[name])}


def state(module):
    return {name: value.clone() for name, value in module.state_dict().items()}


@pytest.mark.parametrize("form", PARAMETERS)
def test_both_loops_train_the_same_parameters(shared, form):
    network, x, y = prepared(shared, form)
    module = network.as_torch()
    parameters = {name for name, _ in module.named_parameters()}
    assert len(parameters) == PARAMETERS[form]
    before, digest = state(module), network.digest
    module.train()
    optimizer = torch.optim.SGD(module.parameters(), 0.05)
    losses = []
    for k in range(STEPS):
        loss = torch.nn.functional.cross_entropy(module(x[k * WIDTH : (k + 1) * WIDTH]), y[k * WIDTH : (k + 1) * WIDTH])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.mean(losses[-5:]) < SHARE_LEFT[form] * np.mean(losses[:5])
    by_hand = moved(before, state(module))
    assert parameters <= by_hand and network.digest != digest

    program = hs.convert(network)
    proof = hs.verify(network, program, x[:64])
    assert proof.equal, proof.values["verdict"]
    assert torch.equal(module.eval()(x[:64]), torch.from_numpy(program(x[:64])))

    ours, x, y = prepared(shared, form)
    twin = ours.as_torch()
    before = state(twin)
    hs.train(ours, (x, y), epochs=2, learning_rate=0.02)
    assert moved(before, state(twin)) == by_hand
