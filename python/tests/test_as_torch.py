"""Networks as PyTorch modules in user training loops."""
# pyright: basic, reportMissingImports=false, reportOptionalMemberAccess=false

import copy
import pickle

import numpy as np
import pytest

import halfstep as hs

torch = pytest.importorskip("torch")

CLASSES, BATCH = 4, 16


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 8, 3, padding=1)
        self.fc = torch.nn.Linear(8 * 16, CLASSES)

    def forward(self, x):
        return self.fc(torch.nn.functional.max_pool2d(torch.relu(self.conv(x)), 2).flatten(1))


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture
def images():
    return torch.randn(64, 1, 8, 8)


@pytest.fixture
def labels(images):
    return (images.mean((1, 2, 3)) * 40).long().clamp(0, CLASSES - 1)


def imported():
    return hs.from_torch(Net(), torch.zeros(2, 1, 8, 8))


def prepared(images, bits=8, platform="generic_int8"):
    return hs.quantize(imported(), platform, data=images.numpy(), weight_bits=bits, activation_bits=bits, first_last_bits=bits)


def fit(module, images, labels, steps=20, rate=0.02):
    optimizer = torch.optim.SGD(module.parameters(), lr=rate, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(module(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_float_network_has_the_gradients_of_pytorch(images):
    original = Net()
    module = hs.from_torch(original, torch.zeros(2, 1, 8, 8)).as_torch()
    theirs, ours = images.clone().requires_grad_(), images.clone().requires_grad_()
    original(theirs).square().mean().backward()
    module(ours).square().mean().backward()
    expected = dict(original.named_parameters())
    assert {name for name, _ in module.named_parameters()} == set(expected)
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name].grad)
    torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize("platform", ["onnxruntime_int8", "generic_int8", "magik_t40"])
@pytest.mark.parametrize("bits", [8, 4])
def test_a_loop_of_pytorch_then_integers(images, labels, bits, platform):
    network = prepared(images, bits, platform)
    module = network.as_torch()
    before = network.digest
    losses = fit(module, images, labels)
    assert losses[-1] < losses[0]
    assert network.digest != before
    program = hs.convert(network)
    assert hs.verify(network, program, images.numpy()).equal
    assert torch.equal(module.eval()(images), torch.from_numpy(program(images)))


def test_memory_is_shared_both_ways(images, labels):
    network = prepared(images)
    module = network.as_torch()
    assert network.as_torch() is module
    weight = dict(module.named_parameters())["fc.weight"]
    with torch.no_grad():
        weight.mul_(-1)  # Gives training something to improve.
    given = weight.clone()
    assert (network(images) == module.eval()(images).numpy()).all()
    program = hs.convert(network)
    integers = program(images)
    hs.train(network, (images.numpy(), labels.numpy().astype(np.int32)), epochs=5, batch=8, learning_rate=0.05)
    assert (network(images) == module(images).numpy()).all()
    assert not torch.equal(weight, given)
    assert (program(images) == integers).all(), "what was made from it stays"


def test_state_travels(images, labels):
    module = prepared(images, 4).as_torch()
    twin = copy.deepcopy(module)
    start = {name: value.clone() for name, value in module.state_dict().items()}
    fit(module, images, labels, 3)
    module.eval(), twin.eval()
    assert not torch.equal(module(images), twin(images))
    for assign in (False, True):
        twin.load_state_dict({name: value.clone() for name, value in module.state_dict().items()}, assign=assign)
        assert twin.network.digest == module.network.digest
        assert torch.equal(module(images), twin(images))
        twin.load_state_dict(start)
    next(module.parameters()).requires_grad_(False)
    pickled = pickle.loads(pickle.dumps(module))
    assert torch.equal(pickled(images), module(images))
    assert not pickled.training and not next(pickled.parameters()).requires_grad


def test_an_average_copy_has_scales_of_its_own(images, labels):
    module = prepared(images, 4).as_torch()
    average = torch.optim.swa_utils.AveragedModel(module, use_buffers=True)
    fit(module, images, labels, 3)
    average.update_parameters(module)
    program = hs.convert(average.module.network)
    assert torch.equal(average.eval()(images), torch.from_numpy(program(images)))
    assert average.module.network.digest != prepared(images, 4).digest


def test_runs_overlap_and_add_up(images):
    module = prepared(images, 4).as_torch()
    module(images)  # Observers adapt to these images.
    weight = dict(module.named_parameters())["conv.weight"]

    def gradient(*losses):
        module.zero_grad()
        for loss in losses:
            loss.backward()
        return weight.grad.clone()

    one, other = module(images[:8]), module(images[8:24])
    together = gradient(one.sum() + other.square().sum())
    one, other = module(images[:8]), module(images[8:24])
    apart = gradient(other.square().sum(), one.sum())
    torch.testing.assert_close(together, apart)


def test_nothing_is_kept_without_gradients(images):
    module = prepared(images).as_torch()
    with torch.no_grad():
        assert not module(images).requires_grad
    assert not module.eval()(images).requires_grad
    module.train().requires_grad_(False)
    assert not module(images).requires_grad


def test_what_is_frozen_stays(images, labels):
    module = prepared(images).as_torch()
    frozen = dict(module.named_parameters())["conv.weight"].requires_grad_(False)
    before = frozen.clone()
    fit(module, images, labels, 2)
    assert frozen.grad is None and torch.equal(frozen, before)


def train_as(rank, ranks, folder):
    """One of several processes: a step on its share of the images."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks)
    module = torch.nn.parallel.DistributedDataParallel(hs.load(folder / "prepared.safetensors").as_torch())
    images, labels = (part.chunk(ranks)[rank] for part in torch.load(folder / "samples.pt"))
    fit(module, images, labels, 1)
    gradients = {name: parameter.grad for name, parameter in module.module.named_parameters()}
    fit(module, images, labels, 3)
    torch.save((gradients, dict(module.module.named_parameters())), folder / f"rank{rank}.pt")
    torch.distributed.destroy_process_group()


def test_distributed(images, labels, tmp_path):
    pytest.importorskip("torch.distributed")
    network = prepared(images)
    network.save(tmp_path / "prepared.safetensors")
    torch.save((images, labels), tmp_path / "samples.pt")
    torch.multiprocessing.spawn(train_as, (2, tmp_path), nprocs=2)
    (gradients, parameters), (others, same) = (torch.load(tmp_path / f"rank{rank}.pt") for rank in range(2))
    halves = []
    for half, answers in zip(images.chunk(2), labels.chunk(2), strict=True):
        module = network.copy().as_torch()
        fit(module, half, answers, 1)
        halves.append(dict(module.named_parameters()))
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, (halves[0][name].grad + halves[1][name].grad) / 2)
        assert torch.equal(gradient, others[name]), name
        assert torch.equal(parameters[name], same[name]), name
    assert not any(torch.equal(parameters[name], before) for name, before in network.as_torch().named_parameters())


def refuses(call, kind, *words):
    with pytest.raises(kind) as error:
        call()
    for word in words:
        assert word in str(error.value)


def test_mistakes_are_named(images, labels):
    network = prepared(images, 4)
    module = network.as_torch()
    refuses(hs.convert(prepared(images)).as_torch, hs.Error, "is an integer program, which cannot be trained")
    refuses(lambda: module(), hs.Error, "input 'x'", "missing")
    refuses(lambda: module(images.double()), hs.Error, "found f64", "expected f32")
    refuses(lambda: module(images[:, :, :5]), hs.Error, "input 'x'", "found f32[64, 1, 5, 8], expected f32[?, 1, 8, 8]")
    out = module(images).sum()
    out.backward(retain_graph=True)
    refuses(out.backward, hs.Error, "taken before; run it again")
    refuses(lambda: module.half(), TypeError, "conv.bias: found torch.float16", "module.to('cpu', torch.float32)")
    module.float()


def test_scales_stay_positive(images):
    network = prepared(images, 4)
    module = network.as_torch()
    scale = next(value for name, value in module.named_parameters() if name.endswith("scale"))
    before = scale.detach().clone()
    with torch.no_grad():
        scale.neg_()
    hs.convert(network)
    assert torch.equal(scale.detach(), before / 2)
    with torch.no_grad():
        scale.fill_(float("nan"))
    refuses(lambda: module(images), hs.Error, "learned scale", "found nan", "expected a positive number")


def test_operators_have_the_gradients_of_their_records(images):
    x = (images[0, 0] * 3).requires_grad_()
    scale, zero = torch.tensor([0.02], requires_grad=True), torch.tensor([128], dtype=torch.int32)
    out = hs.ops.fake_quantize(x, scale, zero)
    (out * 2).sum().backward()
    inside = (x / scale).round().abs() <= 127
    assert torch.equal(x.grad, 2.0 * inside)
    assert scale.grad.shape == (1,)

    a, b = images[:2].clone().requires_grad_(), images[2:4].clone().requires_grad_()
    joined = hs.ops.concat([a, b], axis=1)
    joined.square().sum().backward()
    torch.testing.assert_close(a.grad, 2 * a.detach())
    torch.testing.assert_close(b.grad, 2 * b.detach())


def test_operators_with_several_results(images):
    x = images.clone().requires_grad_()
    one, zero = torch.ones(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    results = hs.ops.batch_norm(x, one, zero, torch.zeros(1), torch.ones(1), is_test=False)
    expected = torch.nn.functional.batch_norm(images, None, None, training=True)
    torch.testing.assert_close(results.out.detach(), expected)
    weights = torch.randn_like(images)
    (results.out * weights).sum().backward()
    theirs = images.clone().requires_grad_()
    (torch.nn.functional.batch_norm(theirs, None, None, training=True) * weights).sum().backward()
    torch.testing.assert_close(x.grad, theirs.grad, rtol=1e-4, atol=1e-4)


def test_operators_without_a_gradient(images):
    x = images.clone().requires_grad_()
    assert not hs.ops.arg_max(x, axis=1).requires_grad
    with torch.no_grad():
        assert not hs.ops.relu(x).requires_grad
    refuses(hs.ops.hardmax(x).sum().backward, hs.UnsupportedError, "hardmax has no gradient")
