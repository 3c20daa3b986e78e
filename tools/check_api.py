#!/usr/bin/env python3
"""The public C++ and Python names are those of the stored listings, and CHANGELOG.md names each one that is removed or changed.

usage: tools/check_api.py [BUILD] [--update] [--root ROOT]    (BUILD: a finished build folder; default build/release)

The listings are tests/api_surface/cpp.txt (headers that halfstep/halfstep.h reaches, read by universal-ctags) and
tests/api_surface/python.txt (public modules, read without an import). --update writes them from the sources. Removed and
changed names are found by comparison with the listings of the last release tag, or of the commit where this branch left its
upstream. The first section of CHANGELOG.md has to name them. Exits 77 where a generated file or ctags is missing.
"""
import argparse
import ast
import json
import pathlib
import re
import shutil
import subprocess
import sys

LISTINGS = "tests/api_surface"
SKIPPED = 77
REMEDY = "run tools/check_api.py --update, and add a line to the first section of CHANGELOG.md"
MODULES = ("datasets", "losses", "magik", "nn", "ops", "optim", "options", "report_rows")  # public beside `halfstep` itself
KINDS = {"prototype": "function", "externvar": "variable", "typedef": "alias", "enumerator": "value", "union": "struct"}


class Missing(Exception):
    """A file that a build makes, or a program."""


def spaced(text):
    """One spelling of C++, whatever its line breaks."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\s*([&*]+)\s*", r"\1 ", text)
    text = re.sub(r" ?([,()]) ?", r"\1", text)
    return re.sub(r" ([>&*])", r"\1", text).replace(",", ", ").replace(")const", ") const").strip()


def public_headers(root, build):
    """Paths of the headers that halfstep/halfstep.h reaches, as cmake/public_headers.cmake installs them."""
    todo, paths = ["halfstep/halfstep.h"], {}
    while todo:
        header = todo.pop()
        path = next((folder / header for folder in (root, build / "gen") if (folder / header).is_file()), None)
        if path is None:
            raise Missing(f"{build} has no {header}")
        paths[header] = path
        included = re.findall(r'^#include "(halfstep/[^"]*)"', path.read_text(), re.MULTILINE)
        todo += [name for name in included if name not in paths and name not in todo]
    return [paths[header] for header in sorted(paths)]


def statement(tag):
    """The declaration as its header has it: for types that ctags does not read."""
    lines = pathlib.Path(tag["path"]).read_text().splitlines()[tag["line"] - 1 :]
    text = re.sub(r"//.*", "", "\n".join(lines[:20]))
    return re.sub(r"^using \w+ = ", "", spaced(text.split(";")[0]))


def is_public(tag):
    scope = tag.get("scope", "")
    hidden = tag.get("access") in ("private", "protected") or re.search(r"\b(detail|__anon\w*)\b", scope) or tag["name"].startswith("__anon")
    # Members of operators are made of their records, as the functions of halfstep.ops are: python.txt has those.
    return not hidden and not scope.startswith("halfstep::ops::") and tag["name"] not in ("operator", "")


def cpp_line(tag, hidden):
    scope, kind = tag.get("scope", ""), KINDS.get(tag["kind"], tag["kind"])
    if any(scope == name or scope.startswith(name + "::") for name in hidden):
        return None
    name = f"{scope}::{tag['name']}" if scope else tag["name"]
    in_class = tag.get("scopeKind") in ("class", "struct", "union")
    kind = "method" if kind == "function" and in_class else kind
    result = tag.get("typeref", "").removeprefix("typename:")
    if kind in ("function", "method"):
        called = spaced(tag.get("signature", "()"))
        return f"{kind} {name}{called}{f' -> {spaced(result)}' if result else ''}"
    if kind in ("member", "variable"):
        return f"{kind} {name}: {spaced(result) or statement(tag)}"
    if kind == "alias":
        return f"alias {name} = {spaced(result) or statement(tag)}"
    if kind == "macro":
        return f"macro {name}{spaced(tag.get('signature', ''))}"
    base = f": {spaced(tag['inherits'])}" if tag.get("inherits") else ""
    return f"{kind.replace('struct', 'class')} {name}{base}"


def cpp_listing(root, build):
    """Lines of public declarations in C++."""
    if not shutil.which("ctags"):
        raise Missing("there is no ctags")
    arguments = ["ctags", "--output-format=json", "--languages=C++", "--langmap=C++:+.h", "--kinds-C++=degmpstuvxc", "--fields=*",
                 "--fields-C++=*", "--extras=-{anonymous}", "-L", "-", "-f", "-"]
    paths = "\n".join(map(str, public_headers(root, build)))
    run = subprocess.run(arguments, input=paths, capture_output=True, text=True, check=True)
    tags = [json.loads(line) for line in run.stdout.splitlines()]
    tags = [tag for tag in tags if tag.get("_type") == "tag" and tag["kind"] in (*KINDS, "function", "member", "struct", "class", "enum", "variable", "macro")]
    # Members of a private class are private too.
    hidden = {f"{tag['scope']}::{tag['name']}" for tag in tags if tag.get("access") in ("private", "protected") and tag["kind"] in ("class", "struct", "enum")}
    lines = {cpp_line(tag, hidden) for tag in tags if is_public(tag)}
    return sorted(lines - {None})


class Package:
    """The sources of the Python package: those of the tree, and those that the build makes."""

    def __init__(self, root, build):
        self.folders = [root / "python/halfstep", build / "gen/python/halfstep"]
        self.build = build
        self.trees = {}

    def tree(self, module):
        if module not in self.trees:
            # The stub of a generated or compiled module says more than its source.
            paths = [folder / f"{module}{ending}" for ending in (".pyi", ".py") for folder in self.folders]
            path = next((path for path in paths if path.is_file()), None)
            if path is None:
                raise Missing(f"{self.build} has no Python module halfstep.{module}")
            self.trees[module] = ast.parse(path.read_text())
        return self.trees[module]

    def definitions(self, module):
        """Nodes of the names that a module defines. An overloaded name has several."""
        found = {}
        for node in self.tree(module).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.setdefault(node.name, []).append(node)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, [node])
        return found

    def listed(self, module):
        """The names of __all__, or None."""
        for node in self.definitions(module).get("__all__", []):
            return ast.literal_eval(node.value)
        return None

    def origins(self, module):
        """The module of each name that a module imports from the package."""
        return {alias.asname or alias.name: node.module.removeprefix("halfstep.") for node in self.tree(module).body
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("halfstep.") for alias in node.names}

    def home(self, module, name):
        """The module that defines a name, which `module` defines or imports."""
        while name not in self.definitions(module) and name in self.origins(module):
            module = self.origins(module)[name]
        return module


def signature(node, bound):
    arguments = ast.unparse(node.args)
    if bound:
        arguments = re.sub(r"^(self|cls)(, )?", "", arguments)
    renamed = [ast.unparse(one) for one in node.decorator_list if ast.unparse(one).startswith("renamed(")]
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({arguments}){result}{''.join(f' @{one}' for one in renamed)}"


def members(package, module, node, public):
    """Nodes of a class, and those that it has from bases which are not public."""
    here, own = package.definitions(module), {getattr(part, "name", "") for part in node.body}
    for base in node.bases:
        for other in here.get(ast.unparse(base).split("[")[0], []):
            if isinstance(other, ast.ClassDef) and other.name not in public:
                yield from (part for part in members(package, module, other, public) if getattr(part, "name", None) not in own)
    yield from node.body


def python_lines(package, module, name, path, public):
    """Lines of one public name. `path` is the name that users write, `public` has all names beside it."""
    for node in package.definitions(module).get(name, [None]):
        if isinstance(node, ast.FunctionDef):
            yield f"function {path}{signature(node, False)}"
        elif isinstance(node, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in node.bases if not ast.unparse(base).startswith("_"))
            yield f"class {path}{f'({bases})' if bases else ''}"
            for member in members(package, module, node, public):
                if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name) and member.target.id[0] != "_":
                    yield f"attribute {path}.{member.target.id}: {ast.unparse(member.annotation)}"
                elif isinstance(member, ast.FunctionDef) and not re.match(r"_(?!_)", member.name):
                    decorators = [ast.unparse(one) for one in member.decorator_list]
                    if any("property" in one for one in decorators):
                        yield f"property {path}.{member.name}: {ast.unparse(member.returns) if member.returns else 'Any'}"
                    elif not any(one.endswith(".setter") for one in decorators):
                        yield f"method {path}.{member.name}{signature(member, 'staticmethod' not in decorators)}"
        elif isinstance(node, ast.AnnAssign):
            yield f"name {path}: {ast.unparse(node.annotation)}"
        else:
            yield f"name {path}"


def python_listing(root, build):
    """Lines of public names in Python."""
    package, lines = Package(root, build), set()
    public = package.listed("__init__")
    for name in public:
        if name in MODULES:
            continue
        lines.update(python_lines(package, package.home("__init__", name), name, f"halfstep.{name}", public))
    for node in package.definitions("__init__").get("_RENAMED", []):
        lines.update(f"name halfstep.{old} = {new}" for old, new in ast.literal_eval(node.value).items())
    for module in MODULES:
        names = package.listed(module) or [name for name in package.definitions(module) if not name.startswith("_")]
        for name in names:
            lines.update(python_lines(package, package.home(module, name), name, f"halfstep.{module}.{name}", names))
    return sorted(lines)


def key(line):
    """The qualified name of a line."""
    return re.match(r"\w+ ((?:operator\W+|[\w.:~]|<[^>]*>)+?)(?=\(|: | = |$)", line)[1]


def grouped(lines):
    found = {}
    for line in lines:
        found.setdefault(key(line), set()).add(line)
    return found


def differences(before, after):
    """Names that were added, removed and changed. A name inside of a removed one is not named by itself."""
    before, after = grouped(before), grouped(after)
    removed = before.keys() - after.keys()
    removed = {name for name in removed if not any(re.split(r"::|\.", name)[:-1] == re.split(r"::|\.", other) for other in removed)}
    changed = {name for name in before.keys() & after.keys() if before[name] != after[name]}
    return sorted(after.keys() - before.keys()), sorted(removed), sorted(changed)


def git(root, *words):
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def base(root):
    """The last release, else the commit where this branch left its upstream, else the last commit."""
    tag = git(root, "describe", "--tags", "--abbrev=0", "--match", "v*").strip()
    if tag and git(root, "show", f"{tag}:{LISTINGS}/cpp.txt"):
        return tag
    for upstream in ("@{upstream}", "origin/main"):
        commit = git(root, "merge-base", "HEAD", upstream).strip()
        if commit and commit != git(root, "rev-parse", "HEAD").strip():
            return commit
    return "HEAD"


def newest_section(root):
    """The first section of CHANGELOG.md."""
    sections = re.split(r"^## ", (root / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    return sections[1] if len(sections) > 1 else ""


def short(name):
    """The last two parts of a name: api::verify, VerifyOptions::backend, hs.quantize, Model.save. One alone is too common."""
    separator = "::" if "::" in name else "."
    return re.sub(r"^halfstep\.", "hs.", separator.join(name.split(separator)[-2:]))


def is_named(name, section):
    return re.search(rf"(?<!\w){re.escape(short(name))}(?!\w)", section) is not None


def check(root, file, stored, current):
    """Messages about one listing."""
    added, removed, changed = differences(stored, current)
    for what, names in (("added", added), ("removed", removed), ("changed", changed)):
        if names:
            shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
            yield f"{LISTINGS}/{file}:1: {what}: {shown}; {REMEDY}"
    earlier = git(root, "show", f"{base(root)}:{LISTINGS}/{file}").splitlines()
    _, removed, changed = differences(earlier, current)
    section = newest_section(root)
    for name in [*removed, *changed]:
        if not is_named(name, section):
            yield f"CHANGELOG.md:1: {name} was {'removed' if name in removed else 'changed'}; name `{short(name)}` in the first section"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build/release", type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="write the listings")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    given = parser.parse_args()
    root = given.root.resolve()
    build = (root / given.build).resolve()
    try:
        listings = {"cpp.txt": cpp_listing(root, build), "python.txt": python_listing(root, build)}
    except Missing as missing:
        print(f"check_api: skipped, {missing}")
        return SKIPPED
    problems = []
    for file, current in listings.items():
        path = root / LISTINGS / file
        if given.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in current))
        stored = path.read_text().splitlines() if path.exists() else []
        problems += check(root, file, stored, current)
        print(f"{file}: {len(current)} public declarations")
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
