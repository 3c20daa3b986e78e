#!/usr/bin/env python3
"""Make the JSON Schemas of all reports, and the tables of docs/reference/reports.md.

usage: tools/schemas.py [--check]    (--check compares the files with those that it would write)

The classes of tools/reports/ and of python/halfstep/report_rows.py describe each key once: type, presence and content.
"""
import ast
import inspect
import json
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
ORDER = ("quantize", "export", "verify", "train", "analyze", "dump", "run", "platform", "developer")
PAGE = ROOT / "docs/reference/reports.md"
FOLDER = ROOT / "docs/reference/schemas"
MARK = "<!-- made by tools/schemas.py -->\n"
PLAIN = {"str": "string", "int": "integer", "float": "number", "Number": "number", "bool": "boolean", "None": "null"}
WORDS = {"str": "text", "Number": "number", "None": "`null`", "Any": "any value"}


def sources():
    """Return the classes and lists by name, those of the objects first."""
    found = {}
    for path in (*(ROOT / f"tools/reports/{name}.py" for name in (*ORDER, "common")), ROOT / "python/halfstep/report_rows.py"):
        body = ast.parse(path.read_text()).body
        for node, after in zip(body, [*body[1:], None]):
            if isinstance(node, ast.ClassDef):
                found[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
                node.doc = text_of(after)
                found[node.targets[0].id] = node
    return found


def text_of(node):
    """Return the string after a name."""
    assert isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant), "each key needs a description"
    return " ".join(node.value.value.split())


class Key:
    """A key of an object."""

    def __init__(self, name, type, doc, required):
        optional = isinstance(type, ast.Subscript) and ast.unparse(type.value) == "NotRequired"
        self.name, self.doc = name.rstrip("_"), doc
        self.type = type.slice if optional else type
        self.required = required and not optional


def doc_of(node):
    return " ".join(inspect.cleandoc(node.doc if isinstance(node, ast.Assign) else ast.get_docstring(node) or "").split())


def keys_of(node, classes):
    """Return the keys of a class and of its bases, in order."""
    keys = [key for base in node.bases if base.id in classes for key in keys_of(classes[base.id], classes)]
    required = not any(word.arg == "total" for word in node.keywords)
    for part, after in zip(node.body, [*node.body[1:], None]):
        if isinstance(part, ast.AnnAssign):
            keys.append(Key(part.target.id, part.annotation, text_of(after), required))
    return keys


def alternatives(node):
    if isinstance(node, ast.BinOp):
        return [*alternatives(node.left), *alternatives(node.right)]
    return [node]


def schema_of(node, used):
    """Return the schema of an annotation. Collects the classes that it names."""
    several = alternatives(node)
    if len(several) > 1:
        return {"anyOf": [schema_of(one, used) for one in several]}
    text = ast.unparse(node)
    if text == "Any":
        return {}
    if text in PLAIN:
        return {"type": PLAIN[text]}
    if isinstance(node, ast.Name):
        used.append(text)
        return {"$ref": f"#/$defs/{text}"}
    kind = node.value.id
    if kind == "Literal":
        return {"enum": list(ast.literal_eval(node.slice) if isinstance(node.slice, ast.Tuple) else [ast.literal_eval(node.slice)])}
    if kind == "list":
        return {"type": "array", "items": schema_of(node.slice, used)}
    return {"type": "object", "additionalProperties": schema_of(node.slice.elts[1], used)}


def object_schema(name, classes, used):
    node = classes[name]
    if isinstance(node, ast.Assign):
        return {"description": doc_of(node), **schema_of(node.value, used)}
    keys = keys_of(node, classes)
    properties = {key.name: {"description": key.doc, **schema_of(key.type, used)} for key in keys}
    required = [key.name for key in keys if key.required]
    return {"description": doc_of(node), "type": "object", "properties": properties, "required": required, "additionalProperties": False}


def schema(name, classes):
    """Return the complete schema of a report."""
    used, made = [], {}
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name, **object_schema(name, classes, used)}
    while used:
        one = used.pop(0)
        if one not in made:
            made[one] = object_schema(one, classes, used)
    return whole | ({"$defs": dict(sorted(made.items()))} if made else {})


def words(node):
    """Return an annotation in words, with links to the tables of the page."""
    several = alternatives(node)
    if len(several) > 1:
        return " or ".join(words(one) for one in several)
    text = ast.unparse(node)
    if text in WORDS or text in PLAIN:
        return WORDS.get(text) or PLAIN[text]
    if isinstance(node, ast.Name):
        return f"[{text}](#{text.lower()})"
    if node.value.id == "Literal":
        return ", ".join(f"`{value}`" for value in (ast.literal_eval(node.slice) if isinstance(node.slice, ast.Tuple) else [ast.literal_eval(node.slice)]))
    return f"list of {words(node.slice)}" if node.value.id == "list" else f"{words(node.slice.elts[1])} by name"


def table(node, classes):
    keys = [key for key in keys_of(node, classes) if key.name != "schema"]
    rows = "".join(f"| `{key.name}` | {words(key.type)} | {'' if key.required else 'optional: '}{key.doc} |\n" for key in keys)
    return f"| key | type | content |\n| --- | --- | --- |\n{rows}" if keys else ""


def file_of(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() + ".schema.json"


def is_report(node):
    """Return whether a class or list is the JSON of a command, not a part of one."""
    return doc_of(node).startswith("`") or doc_of(node).startswith("Standard error")


def section(name, classes):
    node = classes[name]
    doc = doc_of(node)
    if not is_report(node):
        return f"### {name}\n\n{textwrap.fill(doc, 120)}\n\n{table(node, classes)}"
    head, _, rest = doc.partition(": ")
    rest = rest or doc
    text = textwrap.fill(f"{rest[0].upper()}{rest[1:]} [Schema](schemas/{file_of(name)}).", 120)
    if isinstance(node, ast.Assign):
        return f"### {head}\n\n{text}\nIts elements: {words(node.value.slice)}.\n"
    return f"### {head if _ else name}\n\n{text}\n\n{table(node, classes)}"


def page(classes):
    shown = [name for name in classes if name[0] != "_" and name not in ("Object",)]
    reports = [name for name in shown if is_report(classes[name])]
    parts = [name for name in shown if name not in reports]
    text = ["## Commands\n", *(section(name, classes) for name in reports), "## Parts\n", *(section(name, classes) for name in sorted(parts))]
    return "\n".join(text).replace("\n\n\n", "\n\n").rstrip() + "\n"


def files():
    """Return the text of each file that this program makes."""
    classes = sources()
    made = {FOLDER / file_of(name): json.dumps(schema(name, classes), indent=1) + "\n" for name in classes if is_report(classes[name])}
    return made | {PAGE: PAGE.read_text().partition(MARK)[0] + MARK + "\n" + page(classes)}


def main():
    made = files()
    others = set(FOLDER.glob("*.json")) - set(made)
    if "--check" in sys.argv:
        wrong = [path for path, text in made.items() if not path.exists() or path.read_text() != text] + sorted(others)
        for path in wrong:
            print(f"{path.relative_to(ROOT)}:1: it is not what the descriptions make; run tools/schemas.py", file=sys.stderr)
        return 1 if wrong else 0
    FOLDER.mkdir(exist_ok=True)
    for path in others:
        path.unlink()
    for path, text in made.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
