"""Functions, docstrings and stubs agree."""

import ast
import importlib.resources
import inspect
import os
import re
import subprocess

import pytest

import halfstep
from halfstep import losses

STUB = ast.parse((importlib.resources.files("halfstep") / "ops.pyi").read_text())
FUNCTIONS = {}  # overloads by name
for node in STUB.body:
    if isinstance(node, ast.FunctionDef):
        FUNCTIONS.setdefault(node.name, []).append(node)
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def test_the_same_functions():
    assert sorted(FUNCTIONS) == sorted(halfstep.ops.__all__)
    on_arrays = {"arange", "concat", "matmul", "zeros_like"}  # NumPy's and PyTorch's functions of these names
    on_arrays |= {"clip", "exp", "log", "relu", "sigmoid", "softmax", "sqrt", "squeeze", "tanh"}
    assert set(halfstep.ops.__all__) & set(halfstep.__all__) == {"quantize", *on_arrays}
    assert halfstep.quantize is not halfstep.ops.quantize
    assert (importlib.resources.files("halfstep") / "py.typed").is_file()


def stub_parameters(arguments):
    """Yield (name, kind, default) of each, in the form of inspect."""
    kind = inspect.Parameter
    missing = [None] * (len(arguments.args) - len(arguments.defaults))
    for given, kinds, defaults in (
        (arguments.args, kind.POSITIONAL_OR_KEYWORD, missing + arguments.defaults),
        (arguments.kwonlyargs, kind.KEYWORD_ONLY, arguments.kw_defaults),
    ):
        for argument, default in zip(given, defaults):
            value = kind.empty if default is None else eval(compile(ast.Expression(default), "stub", "eval"))
            yield argument.arg, kinds, value


def documented_results(function):
    section = inspect.getdoc(function).split("Returns:")[1].split("Raises:")[0]
    return re.findall(r"^ {8}(\w+): ", section, re.M)


@pytest.mark.parametrize("name", halfstep.ops.__all__)
def test_stubs_match(name):
    function = getattr(halfstep.ops, name)
    parameters = [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]
    for stub in FUNCTIONS[name]:
        assert parameters == list(stub_parameters(stub.args))
        assert all(argument.annotation is not None for argument in stub.args.args + stub.args.kwonlyargs)
        result, _, tensor = ast.unparse(stub.returns).partition("Results[")
        if tensor:
            assert [part.name for part in CLASSES[result + "Results"].body] == documented_results(function)
        assert (tensor[:-1] or result) in ("_T", "NDArray[Any]")


@pytest.mark.parametrize("name", halfstep.ops.__all__)
def test_docstrings(name):
    function = getattr(halfstep.ops, name)
    doc = inspect.getdoc(function)
    for section in ("Returns:", "Raises:", "Gradient", "Source: ops/"):
        assert section in doc, section
    for parameter in inspect.signature(function).parameters:
        assert f"\n    {parameter}: " in doc, parameter


def undocumented(function):
    """Return the parameters that the section Args of the docstring does not name."""
    section = re.search(r"^Args:\n(.*?)(?:\n\n|\Z)", inspect.getdoc(function) or "", re.MULTILINE | re.DOTALL)
    names = re.findall(r"^    \*{0,2}(\w[\w, ]*): ", section[1], re.MULTILINE) if section else []
    return set(inspect.signature(function).parameters) - {"self"} - set(", ".join(names).split(", "))


LOSSES = sorted(name for name, value in vars(losses).items() if inspect.isfunction(value) and value.__module__ == losses.__name__ and name[0] != "_")
PAPERS = {"smooth_l1": "Girshick", "huber": "Huber", "focal": "Lin", "giou": "Rezatofighi", "diou": "Zheng", "ciou": "Zheng", "cross_entropy": "Szegedy",
          "dice": "Milletari", "ctc": "Graves", "triplet_margin": "Balntas"}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_docstrings_of_losses(name):
    function = getattr(losses, name)
    assert undocumented(function) == set()
    doc = inspect.getdoc(function)
    assert "[" in doc.partition("Args:")[2] and "Raises:\n    Error: " in doc, "shapes and errors"
    assert PAPERS.get(name, "") in doc


ON_ARRAYS = ("arange", "concat", "device", "full", "matmul", "normal", "ones", "seed", "stack", "uniform", "where", "zeros")
METHODS = ("sum", "mean", "max", "min", "argmax")


@pytest.mark.parametrize("function", [*(getattr(halfstep, name) for name in ON_ARRAYS), *(getattr(halfstep.array, name) for name in METHODS)])
def test_docstrings_of_functions_of_arrays(function):
    assert undocumented(function) == set()


def test_the_stub_of_the_extension_has_what_it_has():
    nodes = ast.parse((importlib.resources.files("halfstep") / "_core.pyi").read_text()).body
    said = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    said |= {node.target.id for node in nodes if isinstance(node, ast.AnnAssign)}
    there = {name for name in dir(halfstep._core) if name[:2] != "__" or name == "__version__"}
    assert said - {"Tensor"} == there


def test_version():
    program = os.environ.get("HALFSTEP_PROGRAM", "build/release/halfstep")
    printed = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    assert printed == f"halfstep {halfstep.__version__}\n"
