"""The examples of docstrings run. They share the names of the fixture `names`."""

import inspect
import re
import textwrap

import numpy as np
import pytest

import halfstep as hs

VERBS = ("analyze", "bits", "compare", "convert", "dump", "evaluate", "export", "inspect", "quantize", "train", "verify")


def examples():
    """Yield (name, code) of the public functions, classes and their methods."""
    for name in hs.__all__:
        thing = getattr(hs, name)
        members = {name: thing}
        if inspect.isclass(thing):
            members |= {f"{name}.{key}": getattr(value, "__func__", value) for key, value in vars(thing).items() if key[0] != "_"}
        for path, member in members.items():
            section = (inspect.getdoc(member) or "").partition("\nExample:\n")[2]
            if section and callable(member):
                yield path, textwrap.dedent(re.split(r"\n(?=\S)", section)[0])


FOUND = dict(examples())


@pytest.fixture(scope="module")
def names():
    data = hs.datasets.digits()
    net = hs.create_network("digits", data)
    hs.train(net, data, epochs=1)
    prepared = hs.quantize(net, "onnxruntime_int8", data=data)
    model = hs.nn.Sequential(hs.nn.Conv2d(3, 4, 3, padding=1), hs.nn.ReLU(), hs.nn.Flatten(), hs.nn.Linear(4096, 10))
    arrays = {"x": hs.ones((2, 1, 8, 8)), "y": np.array([1, 2]), "xs": hs.array([1.0, 2.0, 3.0])}
    return {"hs": hs, "np": np, "data": data, "net": net, "prepared": prepared, "program": hs.convert(prepared), "model": model, **arrays}


def torch_names():
    torch = pytest.importorskip("torch")
    return {"torch": torch, "module": torch.nn.Conv2d(3, 4, 3)}


def test_every_verb_has_an_example_and_one_entry_for_each_exception():
    assert set(VERBS) <= FOUND.keys()
    for verb in VERBS:
        raises = inspect.getdoc(getattr(hs, verb)).partition("\nRaises:\n")[2].partition("\n\nExample:")[0]
        entries = re.findall(r"^    (\w+): [A-Z]", raises, re.MULTILINE)
        assert entries and len(entries) == len(set(entries)), verb
        assert all(issubclass(getattr(hs, name), Exception) for name in entries)


@pytest.mark.parametrize("name", FOUND)
def test_example(names, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    if name == "load":
        hs.export(names["net"], "resnet20.onnx", format="float")
    if name == "from_torch":
        names = names | torch_names()
    exec(compile(FOUND[name], name, "exec"), {**names, "net": names["net"].copy(), "prepared": names["prepared"].copy()})
