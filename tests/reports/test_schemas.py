"""The JSON of every command passes its schema in docs/reference/schemas, and the schemas are strict."""

import json
import shutil
import subprocess
import sys

import jsonschema
import pytest

import json_lines
from conftest import ROOT, SCHEMAS, problems
from json_lines import LINES, SAID
from verbs import VERBS, run, whole

ELSEWHERE = {"trace", "target_report"}  # tests below


def test_every_verb_and_every_schema_has_a_line():
    assert {line.split()[0] for line in SAID} == set(VERBS)
    assert SCHEMAS.keys() == LINES.keys() | ELSEWHERE


@pytest.mark.parametrize("line", SAID)
def test_json_passes_its_schema(line):
    done, text = json_lines.ended(line)
    value = json.loads(text)
    assert problems(SAID[line], value) == []
    assert isinstance(value, list) or next(iter(value)) == "schema"


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_valid_and_describe_every_key(name):
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    whole_and_parts = [SCHEMAS[name], *SCHEMAS[name].get("$defs", {}).values()]
    for one in whole_and_parts:
        assert one["description"]
        assert one["type"] == "array" or one["additionalProperties"] is False
        assert all(key["description"] for key in one.get("properties", {}).values())


def test_another_key_and_an_absent_key_are_errors():
    value = json.loads(json_lines.ended("verify IN/p.st IN/i.st SOME")[1])
    for broken in (value, value["layers"][0], value["outputs"][0]["worst"]):
        broken["surplus"] = 1
        assert problems("verify", value) != []
        del broken["surplus"]
    assert problems("verify", value) == []
    del value["layers"][0]["sqnr_db"]
    assert any("sqnr_db" in problem for problem in problems("verify", value))


def test_the_target_and_the_trace_pass_theirs(tmp_path):
    inspected = json.loads(json_lines.ended("inspect IN/p.st --platform onnxruntime_int8")[1])
    assert problems("target_report", {"schema": inspected["schema"], **inspected["target"]}) == []
    (tmp_path / "there").mkdir()
    traced = run(tmp_path, "run IN/i.st --inputs IN/x.npy --trace there/t.json")
    assert traced.code == 0, traced.err
    assert problems("trace", json.loads((tmp_path / "there/t.json").read_text())) == []


def tree(tmp_path):
    """A copy of the files that tools/schemas.py reads and writes."""
    for name in ("tools/schemas.py", "tools/reports", "python/halfstep/report_rows.py", "docs/reference"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    return tmp_path


def check(folder):
    return subprocess.run([sys.executable, folder / "tools/schemas.py", "--check"], capture_output=True, text=True, timeout=60)


def test_schemas_and_page_are_those_of_the_descriptions(tmp_path):
    assert check(ROOT).stderr == ""
    changed = tree(tmp_path) / "tools/reports/verify.py"
    changed.write_text(changed.read_text().replace("    verdict: str\n", "    sentence: str\n"))
    found = check(tmp_path)
    assert found.returncode == 1 and "schemas/verify.schema.json:1" in found.stderr and "reports.md:1" in found.stderr


def test_numbers_that_do_not_exist_are_null():
    line = "compare IN/values IN/values --json"
    json_lines.prepare()
    assert {one["sqnr_db"] for one in json.loads(whole(line).out)["values"]} == {None}
