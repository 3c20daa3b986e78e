"""Platforms as objects: their records, keys and differences."""

import json
import os
import subprocess

import pytest

import halfstep as hs
from raising import raises

PROGRAM = os.environ.get("HALFSTEP_PROGRAM", "build/release/halfstep")


@pytest.mark.parametrize("name", hs.platforms())
def test_a_record_is_that_of_the_command_line(name):
    platform = hs.Platform.load(name)
    shown = subprocess.run([PROGRAM, "platform", "show", name, "--json"], check=True, capture_output=True, text=True).stdout
    assert platform.record == json.loads(shown)["platform"]
    assert (platform.name, platform.doc) == (platform.record["platform"], platform.record["doc"])
    assert repr(platform) == f"<halfstep.Platform {name!r}>"


def test_keys_are_those_of_overrides(tmp_path):
    plain = hs.Platform.load("generic_int8")
    changed = hs.Platform.load("generic_int8", {"weights.bits": 4, "activations.rate": 0.25})
    assert (plain.keys["weights.bits"], changed.keys["weights.bits"], changed.keys["activations.rate"]) == (8, 4, 0.25)
    assert plain.compare(changed) == {"weights.bits": ("8", "4"), "activations.rate": ("0.05", "0.25")}
    assert plain.compare(hs.Platform.load("generic_int8")) == {}
    hidden = hs.Platform.load("vitis").compare(plain)
    assert any(first is not None and second is None for first, second in hidden.values())


def test_what_is_no_platform_is_refused(tmp_path):
    with raises("platform_unknown"):
        hs.Platform.load("generic_int9")
    with pytest.raises(hs.Error, match="weights.bit"):
        hs.Platform.load("generic_int8", {"weights.bit": 4})
    file = tmp_path / "mine.yaml"
    subprocess.run([PROGRAM, "platform", "new", file], check=True, capture_output=True)
    assert hs.Platform.load(file).name == "mine"
