#!/usr/bin/env python3
"""Generate the references in Markdown from docstrings, headers and records.

usage: tools/reference.py BUILD OUT    (BUILD: a finished build folder, such as build/release)

Writes python.md, commands.md, cpp.md, operators.md, platforms.md and errors.md into the folder OUT.
"""
import ast
import inspect
import json
import pathlib
import re
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent


MODULES = ("datasets", "losses", "nn", "optim", "options")


def public_names():
    face = ast.parse((ROOT / "python/halfstep/__init__.py").read_text())
    names = next(node.value for node in face.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    return [name for name in ast.literal_eval(names) if name not in (*MODULES, "ops", "__version__")]


def definitions(build):
    """Return functions, classes and other top-level names of the modules: (node, the string after it)."""
    found = {}
    for path in sorted({*(ROOT / "python/halfstep").glob("*.py*"), build / "gen/python/halfstep/verbs.py"}):
        if path.name.startswith("onnxruntime_"):  # a script that the program starts
            continue
        body = ast.parse(path.read_text()).body
        for node, after in zip(body, [*body[1:], None]):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found[node.name] = node, ast.get_docstring(node)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found.setdefault(node.targets[0].id, (node, said(after)))
    return found


def source_of(module, build):
    """Return a module of the tree, or one that the build makes."""
    own = ROOT / f"python/halfstep/{module}.py"
    return own if own.exists() else build / f"gen/python/halfstep/{module}.py"


def said(node):
    """Return the string after a name."""
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value
    return inspect.cleandoc(text) if isinstance(text, str) else None


def markdown(text, parameters=()):
    """Highlight the parameters that a paragraph describes."""
    text = re.sub(r"^ {4,}", "", text or "", flags=re.MULTILINE)
    for name in parameters:
        text = re.sub(rf"(?<![`\w]){name}(?=(, \w+)*:\s)", f"**{name}**", text)
    return text


def signature(name, node):
    arguments = re.sub(r"^self(, )?", "", ast.unparse(node.args))
    line = f"{name}({arguments})"
    if len(line) > 80:
        line = f"{name}(\n    " + ",\n    ".join(re.split(r", (?=\*|\w+(?::|=))", arguments)) + ",\n)"
    return f"```python\n{line}{f' -> {ast.unparse(node.returns)}' if node.returns else ''}\n```\n"


def members(kind):
    """Yield the members that a class defines: properties as a list, then methods."""
    for node, after in zip(kind.body, kind.body[1:]):
        if isinstance(node, ast.AnnAssign) and said(after):
            yield f"- `.{ast.unparse(node)}`. {markdown(said(after))}".replace("\n", " ")
    public = [node for node in kind.body if isinstance(node, ast.FunctionDef) and (node.name == "__call__" or node.name[0] != "_")]
    properties = [node for node in public if any("property" in ast.unparse(decorator) for decorator in node.decorator_list)]
    for node in properties:
        about = markdown(ast.get_docstring(node)).replace("\n", " ")
        yield f"- `.{node.name}`: `{ast.unparse(node.returns)}`{'. ' + about if about else ''}"
    for node in public:
        if node not in properties:
            yield "\n" + signature(f".{node.name}", node)
            yield markdown(ast.get_docstring(node))


def module_nodes(module, build):
    """Yield the public functions and classes of a module, and those that its __all__ lists and that it imports."""
    body = ast.parse(source_of(module, build).read_text()).body
    listed = next((ast.literal_eval(node.value) for node in body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"), [])
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_":
            yield node
        elif isinstance(node, ast.ImportFrom) and {alias.name for alias in node.names} & set(listed):
            yield from (each for each in module_nodes(node.module.removeprefix("halfstep."), build) if each.name in listed)


def constructor(node, found):
    """Return the __init__ of a class or of a class that it derives from, else the node itself."""
    made = next((part for part in node.body if getattr(part, "name", "") == "__init__"), None)
    bases = [found[base.id][0] for base in getattr(node, "bases", []) if isinstance(base, ast.Name) and base.id in found]
    return made or (constructor(bases[0], found) if bases and isinstance(bases[0], ast.ClassDef) else node)


def python_page(build):
    found = definitions(build)
    kinds = {ast.FunctionDef: "Functions", ast.ClassDef: "Classes", ast.Assign: "Types"}
    text = ["# Python\n\n`import halfstep as hs`. Single operators, `hs.ops`, are in [Operators](operators.md)."]
    for kind, title in kinds.items():
        text.append(f"\n## {title}")
        for name in public_names():
            node, about = found[name]
            if not isinstance(node, kind):
                continue
            arguments = node.args if kind is ast.FunctionDef else None
            names = [argument.arg for argument in (arguments.args + arguments.kwonlyargs)] if arguments else []
            text += [f"\n### {name}\n", *([signature(name, node)] if arguments else []), markdown(about, names), ""]
            text += members(node) if kind is ast.ClassDef else []
    for module in MODULES:
        text.append(f"\n## hs.{module}")
        for node in module_nodes(module, build):
            made = constructor(node, found)
            text += [f"\n### {module}.{node.name}\n", *([signature(node.name, made)] if hasattr(made, "args") else []), markdown(ast.get_docstring(node)), ""]
            text += members(node) if isinstance(node, ast.ClassDef) else []
    return "\n".join(text)


def cpp_page():
    """Return a page of every header of the library's face: its comment, then its declarations."""
    face = (ROOT / "halfstep/halfstep.h").read_text()
    text = ["# C++\n\n" + prose(face) + "\n\nThe headers below say all: shapes, units and errors are in their comments.\n"]
    for header in re.findall(r'#include "(halfstep/(?:api|report|eager)/[\w/]+\.h)"', face):
        source = (ROOT / header).read_text()
        body = re.sub(r"^(#.*|//(?!/).*)\n", "", source[source.index("#pragma once") :], flags=re.MULTILINE)
        text.append(f"## {header.removeprefix('halfstep/')}\n\n{prose(source)}\n\n```cpp\n{body.strip()}\n```\n")
    return "\n".join(text)


def prose(source):
    return "\n".join(line.removeprefix("//").strip() for line in source.split("#pragma once")[0].splitlines())


def platforms_page():
    text = ["# Platforms\n\nA platform is a record that says what a chip can do: one of those built in, by its name, or a file of your own, by its\n"
            "path. `--overrides KEY=VALUE` and `overrides={KEY: VALUE}` replace any field.\n"]
    for path in sorted((ROOT / "platforms").glob("*.yaml")):
        record = yaml.safe_load(path.read_text())
        source = path.read_text()
        keys = re.split(r"^(?=\w+:)", source, flags=re.MULTILINE)
        fields = "".join(key for key in keys[1:] if not key.startswith(("platform:", "doc:")))
        text.append(f"## {record['platform']}\n\n{record['doc'].strip()}\n\n```yaml\n{fields.strip()}\n```\n")
    return "\n".join(text)


def operators_page(build):
    text = (build / "gen/docs/operators.md").read_text()
    return text.replace("# Operators\n", "# Operators\n\nEach is a function of the same name in `hs.ops`, whose docstring and stubs say types and rules.\n", 1)


def commands_page(build):
    """Return the help of every command, with advanced options."""
    def help_of(*words):
        return subprocess.run([build / "halfstep", *words], capture_output=True, text=True, check=True).stdout

    commands = re.findall(r"^  (\w+) {2,}", help_of("--help").partition("Subcommands:")[2], re.MULTILINE)
    text = ["# Commands\n\nEvery command takes its options from `--config FILE` too. The names of options are those of Python."]
    text += [f"## {name}\n\n```text\n{help_of(name, '--help-all').strip()}\n```" for name in commands]
    return "\n\n".join(text) + "\n"


def errors_page(build):
    found = subprocess.run([build / "halfstep", "explain", "--json"], capture_output=True, text=True, check=True)
    text = ["# Errors\n\n`halfstep explain HS1100` prints an entry of this page. Names in braces stand for values."]
    text += [f"## {one['id']} {one['title']}\n\n`{one['message']}`\n\nKind `{one['kind']}`, name `{one['name']}`. {one['explanation']}" for one in json.loads(found.stdout)["errors"]]
    return "\n\n".join(text) + "\n"


def main():
    build, out = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    pages = {"python": python_page(build), "commands": commands_page(build), "cpp": cpp_page(), "operators": operators_page(build), "platforms": platforms_page(), "errors": errors_page(build)}
    for name, text in pages.items():
        (out / f"{name}.md").write_text(text)


if __name__ == "__main__":
    main()
