"""tools/rooms.py refuses a wrong description, and finds the room of a file by its folder."""

import importlib
import importlib.util

import pytest
from pages import ROOT

pytest.importorskip("yaml", reason="python3-yaml is not there for this Python")


@pytest.fixture(scope="module")
def rooms():
    spec = importlib.util.spec_from_file_location("rooms", ROOT / "tools/rooms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def described(*rooms):
    """A description of two wings, `low` in front of `high`, and these rooms: (name, its includes)."""
    cards = "".join(f"  {name}: {{owns: a, not: b, start: [c.h], includes: [{includes}]}}\n" for name, includes in rooms)
    return f"wings: {{low: first, high: second}}\nrooms:\n{cards}"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([("other/a", "")], "room 'other/a': its wing is not described"),
        ([("low/a", "low/b")], "room 'low/a': includes 'low/b', expected a room, a wing or a header"),
        ([("low/a", "high/b"), ("high/b", "")], "wing 'low' includes high, which stand behind it"),
        ([("low/a", "low/b"), ("low/b", "low/a")], "rooms include each other: low/a -> low/b -> low/a"),
    ],
    ids=["wing", "target", "upward", "cycle"],
)
def test_wrong_descriptions(rooms, lines, expected):
    with pytest.raises(SystemExit, match=expected):
        found = rooms.Rooms(described(*lines))
        found.levels()
        rooms.in_order(found)


def test_hidden_rooms_have_no_public_header(monkeypatch):
    """tools/check_includes.py names a hidden room with a public header, and a public room without one."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    check = importlib.import_module("check_includes")
    headers = {f"halfstep/{name}/{card['start'][0]}" for name, card in check.ROOMS.cards.items() if name not in check.ROOMS.hidden()}
    assert not list(check.wrong_exports(headers))
    assert "room 'fuzz' exports nothing, but 'halfstep/fuzz/checks.h' is public" in "".join(check.wrong_exports(headers | {"halfstep/fuzz/checks.h"}))
    shown = {header for header in headers if not header.startswith("halfstep/report/")}
    assert "room 'report' has no public header" in "".join(check.wrong_exports(shown))


def test_headers_of_different_concepts_have_different_names(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    check = importlib.import_module("check_includes")
    names = ["halfstep/verify/board/layout.h", "halfstep/engine/kernels/a/rule.h", "halfstep/engine/kernels/b/rule.h", "halfstep/api/bits.h", "halfstep/report/bits.h"]
    assert not list(check.names_of_several_rooms(names))
    assert "engine/kernels and verify/board have a header 'layout.h'" in "".join(check.names_of_several_rooms([*names, "halfstep/engine/kernels/layout.h"]))


def test_a_wing_stands_for_its_rooms(rooms):
    found = rooms.Rooms(described(("low/a", ""), ("low/b", "low/a"), ("high/c", "low, low/a/only.h")))
    assert found.includes("high/c") == (["low/a", "low/b"], ["halfstep/low/a/only.h"])
    assert found.levels() == {"low": 1, "high": 2}
    assert found.room_of("halfstep/low/a/deep/x.cpp") == "low/a"
    assert found.room_of("halfstep/low/x.cpp") is None


def test_cards_name_headers_that_exist(rooms):
    cards = rooms.load().cards
    missing = [f"{name}/{header}" for name, card in cards.items() for header in card["start"] if not (ROOT / "halfstep" / name / header).is_file()]
    assert not missing
