#!/usr/bin/env python3
"""Generate CMake's list of rooms, the map in HACKING.md and the cards in docs/internals/rooms.md from
halfstep/rooms.yaml.

usage: tools/rooms.py    (tools/check_includes.py fails if a file is not up to date)
"""
import pathlib
import textwrap

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
DESCRIPTION = "halfstep/rooms.yaml"
BEGIN, END = "<!-- made by tools/rooms.py -->", "<!-- end -->"


class Rooms:
    """The description: wings and rooms by name, and the includes that each room may use."""

    def __init__(self, text):
        described = yaml.safe_load(text)
        self.wings, self.cards = described["wings"], described["rooms"]
        for name, card in self.cards.items():
            if wing_of(name) not in self.wings:
                raise SystemExit(f"{DESCRIPTION}: room '{name}': its wing is not described")
            for target in card.get("includes", []):
                if not target.endswith(".h") and not self.named(target):
                    raise SystemExit(f"{DESCRIPTION}: room '{name}': includes '{target}', expected a room, a wing or a header")

    def named(self, name):
        """Return the rooms with this name, or in the wing of this name."""
        return [room for room in self.cards if name in (room, wing_of(room))]

    def includes(self, name):
        """Return (rooms, headers) that the room may include."""
        written = self.cards[name].get("includes", [])
        rooms = [room for target in written if not target.endswith(".h") for room in self.named(target)]
        return rooms, [f"halfstep/{target}" for target in written if target.endswith(".h")]

    def hidden(self):
        """Return the rooms that export nothing."""
        return [name for name, card in self.cards.items() if card.get("exports") == "nothing"]

    def room_of(self, path):
        """Return the room of a file below halfstep/: its longest folder that is a room. None outside of all."""
        parts = path.split("/")[1:-1]
        names = ("/".join(parts[:count]) for count in (2, 1))
        return next((name for name in names if name in self.cards), None)

    def levels(self):
        """Return the level of each wing: the length of its longest chain of includes, itself included."""
        levels = {}
        for wing in self.wings:
            below = {wing_of(room) for name in self.named(wing) for room in self.includes(name)[0]} - {wing}
            if not below <= levels.keys():
                raise SystemExit(f"{DESCRIPTION}: wing '{wing}' includes {', '.join(sorted(below - levels.keys()))}, which stand behind it")
            levels[wing] = 1 + max((levels[other] for other in below), default=0)
        return levels


def wing_of(room):
    return room.split("/")[0]


def load():
    return Rooms((ROOT / DESCRIPTION).read_text())


def in_order(rooms):
    """Return the names of the rooms, each after the rooms that it includes."""
    done = []

    def add(name, above):
        if name in above:
            raise SystemExit(f"{DESCRIPTION}: rooms include each other: {' -> '.join([*above, name])}")
        for target in rooms.includes(name)[0]:
            if target not in done:
                add(target, [*above, name])
        done.append(name)

    for name in rooms.cards:
        if name not in done:
            add(name, [])
    return done


def cmake_text(rooms):
    lines = [f"# Rooms and what each links: made by tools/rooms.py of {DESCRIPTION}.",
             f"set(HALFSTEP_HIDDEN_ROOMS {' '.join(rooms.hidden())})"]
    for name in in_order(rooms):
        words = [name, *rooms.includes(name)[0], *rooms.cards[name].get("links", [])]
        lines.append(f"halfstep_room({' '.join(words)})")
    return "\n".join(lines) + "\n"


def map_text(rooms):
    lines = ["| wing | level | content | rooms |", "| --- | ---: | --- | --- |"]
    levels = rooms.levels()
    for wing, what in rooms.wings.items():
        inside = ", ".join(f"`{name.partition('/')[2] or name}`" for name in rooms.named(wing))
        lines.append(f"| `{wing}` | {levels[wing]} | {what} | {inside} |")
    return "\n".join(lines) + "\n"


def wrapped(text):
    """Return a list item, wrapped to the line length of the sources."""
    return textwrap.fill(text, 120, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def card_text(name, card):
    reads = ", ".join(f"`{header}`" for header in card["start"])
    targets = [f"`{target}`" for target in card.get("includes", [])]
    lines = [f"Owns: {card['owns']}.", f"Does not know: {card['not']}.", f"Read first: {reads}.", f"May include: {', '.join(targets) or 'nothing'}."]
    return f"### {name}\n\n" + "".join(f"{wrapped(line)}\n" for line in lines)


def cards_text(rooms):
    parts = ["# Rooms\n\nEvery folder of sources below `halfstep/` is a room. `halfstep/rooms.yaml` describes them, "
             "and `tools/rooms.py`\nmakes this page of it. `tools/check_includes.py` fails on any include that a card does not allow.\n"]
    for wing, what in rooms.wings.items():
        parts.append(f"## {wing}\n\n{what[0].upper() + what[1:]}.\n")
        parts += [card_text(name, rooms.cards[name]) for name in rooms.named(wing)]
    return "\n".join(parts)


def within(text, inside):
    """Return `text` with new content between its markers."""
    if BEGIN not in text or END not in text:
        raise SystemExit(f"HACKING.md: found no '{BEGIN}' and '{END}'")
    return text[:text.index(BEGIN) + len(BEGIN)] + "\n" + inside + text[text.index(END):]


def stale():
    """Return (path, text) of the files that are not up to date."""
    rooms = load()
    hacking = ROOT / "HACKING.md"
    texts = {ROOT / "cmake/room_list.cmake": cmake_text(rooms), ROOT / "docs/internals/rooms.md": cards_text(rooms),
             hacking: within(hacking.read_text(), map_text(rooms))}  # fmt: skip
    return [(path, text) for path, text in texts.items() if not path.exists() or path.read_text() != text]


def main():
    for path, text in stale():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
