"""Functions, docstrings and stubs say the same."""

import ast
import importlib.resources
import inspect

import pytest

import halfstep

STUB = ast.parse((importlib.resources.files("halfstep") / "ops.pyi").read_text())
FUNCTIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def test_the_same_functions():
    assert sorted(FUNCTIONS) == sorted(halfstep.ops.__all__)
    assert all(getattr(halfstep, name) is getattr(halfstep.ops, name) for name in halfstep.ops.__all__)
    assert set(halfstep.ops.__all__) < set(halfstep.__all__)
    assert (importlib.resources.files("halfstep") / "py.typed").is_file()


def stub_parameters(arguments):
    """(name, kind, default) of each, as inspect has them."""
    kind = inspect.Parameter
    missing = [None] * (len(arguments.args) - len(arguments.defaults))
    for given, kinds, defaults in (
        (arguments.args, kind.POSITIONAL_OR_KEYWORD, missing + arguments.defaults),
        (arguments.kwonlyargs, kind.KEYWORD_ONLY, arguments.kw_defaults),
    ):
        for argument, default in zip(given, defaults):
            value = kind.empty if default is None else eval(compile(ast.Expression(default), "stub", "eval"))
            yield argument.arg, kinds, value


@pytest.mark.parametrize("name", halfstep.ops.__all__)
def test_stubs_match(name):
    function, stub = getattr(halfstep.ops, name), FUNCTIONS[name]
    signature = inspect.signature(function)
    assert [(p.name, p.kind, p.default) for p in signature.parameters.values()] == list(stub_parameters(stub.args))
    assert all(argument.annotation is not None for argument in stub.args.args + stub.args.kwonlyargs)
    result = ast.unparse(stub.returns)
    if result.startswith("_") and result.split("[")[0] in CLASSES:
        ports = [part.name for part in CLASSES[result.split("[")[0]].body]
        section = function.__doc__.split("Returns:")[1].split("Raises:")[0]
        assert [line.split(":")[0].strip() for line in section.splitlines() if line.startswith(" " * 12 )
                and not line.startswith(" " * 13)] == ports
    else:
        assert result in ("_T", "Tensor")


@pytest.mark.parametrize("name", halfstep.ops.__all__)
def test_docstrings(name):
    function = getattr(halfstep.ops, name)
    doc = inspect.getdoc(function)
    for section in ("Returns:", "Raises:", "Gradient", "Source: ops/"):
        assert section in doc, section
    for parameter in inspect.signature(function).parameters:
        assert f"\n    {parameter}: " in doc, parameter


def test_version():
    assert halfstep.__version__.count(".") == 2
