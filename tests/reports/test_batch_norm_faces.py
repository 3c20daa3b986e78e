"""A network with batch norms that are folded, frozen or live, trained by hs.train and in a PyTorch loop. The same
parameters change, and both results convert to verified integer programs."""

import numpy as np
import pytest

import halfstep as hs

torch = pytest.importorskip("torch")

WIDTH, STEPS = 32, 30
# weight and bias of two layers. With a norm, its scale and shift replace a bias
PARAMETERS = {"folded": 4, "frozen": 5, "live": 5}


def prepared(shared, form):
    arrays = hs.datasets.digits().arrays()
    x, y = torch.from_numpy(arrays["x"]) / 16, torch.from_numpy(arrays["labels"]).long()
    network = hs.load(shared / "detector/small_bn.onnx")
    return hs.quantize(network, "generic_int8", data=x, batch_norm=form), x, y


def moved(before, after):
    return {name for name, value in after.items() if not torch.equal(value, before[name])}


def state(module):
    return {name: value.clone() for name, value in module.state_dict().items()}


def losses_of(module, x, y):
    optimizer = torch.optim.SGD(module.parameters(), 0.05)
    losses = []
    for k in range(STEPS):
        loss = torch.nn.functional.cross_entropy(module(x[k * WIDTH : (k + 1) * WIDTH]), y[k * WIDTH : (k + 1) * WIDTH])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def fall(losses):
    return np.mean(losses[:5]) - np.mean(losses[-5:])


def fall_in_pytorch(shared, form, x, y):
    """Fall of the loss when PyTorch trains the float network as a module. Norms that are not live are in evaluation
    mode."""
    layers = [torch.nn.Conv2d(1, 8, 3, padding=1, bias=False), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(512, 10)]
    module = torch.nn.Sequential(*layers)
    given = hs.load(shared / "detector/small_bn.onnx").as_torch().state_dict()
    module.load_state_dict({name: given.get(name, value).clone() for name, value in module.state_dict().items()})
    module.train()
    module[1].train(form == "live")
    return fall(losses_of(module, x, y))


@pytest.mark.parametrize("form", PARAMETERS)
def test_both_loops_train_the_same_parameters(shared, form):
    network, x, y = prepared(shared, form)
    module = network.as_torch()
    parameters = {name for name, _ in module.named_parameters()}
    assert len(parameters) == PARAMETERS[form]
    before, digest = state(module), network.digest
    module.train()
    assert fall(losses_of(module, x, y)) > 0.7 * fall_in_pytorch(shared, form, x, y)
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
