"""Functions, docstrings and stubs agree."""

import ast
import importlib.resources
import inspect
import os
import re
import subprocess

import pytest

import halfstep

STUB = ast.parse((importlib.resources.files("halfstep") / "ops.pyi").read_text())
FUNCTIONS = {}  # overloads by name
for node in STUB.body:
    if isinstance(node, ast.FunctionDef):
        FUNCTIONS.setdefault(node.name, []).append(node)
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def test_the_same_functions():
    assert sorted(FUNCTIONS) == sorted(halfstep.ops.__all__)
    on_arrays = {"arange", "concat", "matmul", "zeros_like"}  # NumPy's functions of these names
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
