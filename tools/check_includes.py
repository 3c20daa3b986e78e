#!/usr/bin/env python3
"""Check that includes are allowed by halfstep/rooms.yaml, in the tree and in the code that opgen wrote.

usage: tools/check_includes.py [BUILD]    (BUILD: a build folder, whose gen/ is checked too; default build/release)

Prints the number of includes for each pair of rooms. Violations are an include that is not allowed, one of a missing
file, one by a path that does not start at the root, a header without #pragma once (except Highway's *-inl.h), and headers of
different rooms that have one name and not one concept.
"""
import collections
import pathlib
import re
import sys

import rooms

ROOT = pathlib.Path(__file__).resolve().parent.parent

ROOMS = rooms.load()
# Folders outside the library, and the rooms that they may include: "all", or the face (halfstep.h).
OTHERS = {"face": "all", "opgen": "core/base", "cli": "face", "python": "face", "tests": "all opgen", "bench": "all"}
# The program and the Python extension include the public header of the face. These headers come with it, because its
# signatures use them. The Python extension includes the program for its command.
FACE_USERS = ("cli", "python")
FACE_HEADERS = {"halfstep/halfstep.h", "halfstep/core/base/limits.h", "halfstep/core/base/small_vector.h", "halfstep/core/base/diagnostics/nearest.h", "halfstep/core/base/progress.h", "halfstep/core/base/status.h", "halfstep/api/errors.h", "halfstep/api/tools/explain.h", "halfstep/api/inputs/option.h", "halfstep/api/commands.h", "halfstep/core/files/file.h", "halfstep/report/common/json.h", "halfstep/report/errors.h",
                "cli/program.h"}
# Allowed includes among the folders of kernels. All of them may include common.
KERNEL_ARROWS = {
    "codes": "image reduce",
    "image": "elementwise",
    "matrix": "elementwise reduce",
    "norm": "reduce",
    "quantizers": "image matrix",
    "recurrent": "elementwise matrix",
}
# Headers of several rooms with one name, because they are about the same concept.
SAME_CONCEPT = set("analysis attention audit bits compare convert dataset errors flow forms model node options "
                   "own_quantizers platform quickstart range region resampling shared_forms trace translator".split())
# A namespace below halfstep::kernels has the name of a folder around the file, or of the file.
NAMESPACE = re.compile(r"^namespace (?:halfstep::kernels::)?(\w+)(?:::HWY_NAMESPACE)? \{", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
# Text that opgen and tests write into files may hold includes. They are not includes of the source.
RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"', re.DOTALL)


def room_of(path):
    parts = path.split("/")
    if parts[0] != "halfstep":
        return parts[0]
    return "face" if len(parts) == 2 else ROOMS.room_of(path) or "no room"


def targets_of(room):
    """Return (rooms, headers) that a room or one of the others may include."""
    if room in ROOMS.cards:
        return ROOMS.includes(room)
    words = OTHERS.get(room, "").split()
    return [*words, *(["face", *ROOMS.cards] if "all" in words else [])], []


def allowed(room, header):
    target = room_of(header)
    if room in FACE_USERS and target != room:
        return header in FACE_HEADERS
    inside, headers = targets_of(room)
    return target in (room, *inside) or header in headers


def kernel_folder(name):
    parts = name.split("/")
    return parts[3] if name.startswith("halfstep/engine/kernels/") and len(parts) > 4 else None


def foreign_namespaces(name, text):
    """Return namespaces of a kernel's file without a file or folder of that name. Nested namespaces are free."""
    path = pathlib.PurePosixPath(name)
    known = {"halfstep", *path.parts[:-1], path.stem.removesuffix("-inl")}
    found = set(re.findall(r"^namespace halfstep::kernels::(\w+)", text, re.MULTILINE))
    if "namespace halfstep::kernels {" in text:
        found |= set(NAMESPACE.findall(text))
    return sorted(found - known)


def arrow_of(room, header):
    inside, _ = targets_of(room)
    return f"{room} -> {header.removeprefix('halfstep/') if room in FACE_USERS or room_of(header) not in inside else room_of(header)}"


def unused(arrows):
    """Yield includes that cards allow and no source uses."""
    for room, card in ROOMS.cards.items():
        for target in card.get("includes", []):
            reached = ROOMS.named(target) or [target]
            if not any(f"{room} -> {name}" in arrows for name in reached):
                yield f"halfstep/rooms.yaml:1: room '{room}' may include '{target}', and does not"


def public_headers(generated):
    """Return halfstep/halfstep.h and the headers that it includes, with those of gen."""
    found, todo = set(), ["halfstep/halfstep.h"]
    while todo:
        header = todo.pop()
        path = next((base / header for base in (ROOT, generated) if (base / header).is_file()), None)
        if header in found or path is None:
            continue
        found.add(header)
        todo += [match.group(1) for match in map(INCLUDE.match, path.read_text().splitlines()) if match and match.group(1).startswith("halfstep/")]
    return found


def wrong_exports(headers):
    """Return hidden rooms with public headers, and rooms that are not hidden and have none."""
    singly = {f"halfstep/{target}" for card in ROOMS.cards.values() for target in card.get("includes", []) if target.endswith(".h")}
    for room in ROOMS.cards:
        own = sorted(header for header in headers - singly if room_of(header) == room and not header.endswith("/errors.h"))
        if (room in ROOMS.hidden()) == bool(own):
            yield f"halfstep/rooms.yaml:1: room '{room}' exports nothing, but '{own[0]}' is public" if own else \
                f"halfstep/rooms.yaml:1: room '{room}' has no public header, expected 'exports: nothing'"


def names_of_several_rooms(names):
    """Yield headers of different rooms that have one name without one concept."""
    rooms_of = collections.defaultdict(dict)
    for name in names:
        path = pathlib.PurePosixPath(name)
        if path.suffix == ".h" and ROOMS.room_of(name):
            rooms_of[path.stem].setdefault(room_of(name), name)
    for stem, found in sorted(rooms_of.items()):
        if len(found) > 1 and stem not in SAME_CONCEPT:
            yield f"{min(found.values())}:1: {' and '.join(sorted(found))} have a header '{stem}.h', expected two names"


class Check:
    def __init__(self, generated):
        self.generated = generated
        self.arrows = collections.Counter()
        self.inside = 0
        self.files = 0
        self.violations = []

    def find(self, header, path):
        """Return the path of an included file from the root, or None for a file of others."""
        for base in (ROOT, self.generated):
            if (base / header).is_file():
                return header
        if (path.parent / header).is_file():
            return "beside"
        first = header.split("/")[0]
        return header if first in ("halfstep", "cli", "python", "opgen", "tests", "bench") else None

    def file(self, path, name):
        self.files += 1
        room = room_of(name)
        text = RAW_STRING.sub(lambda match: "\n" * match.group(0).count("\n"), path.read_text())
        if path.suffix == ".h" and "#pragma once" not in text and not name.endswith("-inl.h"):
            self.violations.append(f"{name}:1: no #pragma once")
        if kernel_folder(name):
            self.violations += [f"{name}:1: namespace {found}, expected that of a folder around it"
                                for found in foreign_namespaces(name, text)]
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                self.include(path, room, f"{name}:{number}", match.group(1))

    def include(self, path, room, where, written):
        header = self.find(written, path)
        if header is None:
            return
        if header == "beside":
            self.violations.append(f"{where}: '{written}' is not a path from the root")
        elif not (ROOT / header).is_file() and not (self.generated / header).is_file():
            if self.generated.is_dir():
                self.violations.append(f"{where}: '{header}' does not exist")
        elif not allowed(room, header):
            may = " ".join(sorted(FACE_HEADERS)) if room in FACE_USERS else " ".join(sum(targets_of(room), [])) or "nothing of ours"
            self.violations.append(f"{where}: {room} includes '{header}', expected only: {may}")
        elif room_of(header) == room:
            self.inside += 1
            self.between_kernels(where, header)
        else:
            self.arrows[arrow_of(room, header)] += 1

    def between_kernels(self, where, header):
        source, target = kernel_folder(where.split(":")[0]), kernel_folder(header)
        if not source or not target or target in (source, "common"):
            return
        if target in KERNEL_ARROWS.get(source, "").split():
            self.arrows[f"kernels/{source} -> kernels/{target}"] += 1
        else:
            self.violations.append(f"{where}: kernels/{source} includes '{header}', expected only: common "
                                   f"{KERNEL_ARROWS.get(source, '')}".rstrip())


def sources(base, folders):
    for folder in folders:
        for path in sorted((base / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".cu") and path.is_file():
                yield path, path.relative_to(base).as_posix()


def main():
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/release"
    check = Check(build / "gen")
    for path, name in sources(ROOT, ["halfstep", "opgen", "cli", "python", "tests", "bench"]):
        check.file(path, name)
    own = check.files
    for path, name in sources(check.generated, ["halfstep", "tests"]):
        check.file(path, name)
    check.violations += names_of_several_rooms(name for _, name in sources(ROOT, ["halfstep"]))
    check.violations += [f"{path.relative_to(ROOT)}:1: is not what halfstep/rooms.yaml says; run tools/rooms.py" for path, _ in rooms.stale()]
    if check.generated.is_dir():
        public = public_headers(check.generated)
        check.violations += [*unused(check.arrows), *wrong_exports(public)]
    check.violations += [f"{room}: is described and has no folder" for room in ROOMS.cards if not (ROOT / "halfstep" / room).is_dir()]
    for arrow, count in sorted(check.arrows.items()):
        print(f"{count:5}  {arrow}")
    print(f"{own} files and {check.files - own} generated ones: {sum(check.arrows.values())} includes along {len(check.arrows)} arrows, "
          f"{check.inside} inside rooms, {len(check.violations)} violations")
    print("\n".join(check.violations), file=sys.stderr, end="\n" if check.violations else "")
    return 1 if check.violations else 0


if __name__ == "__main__":
    sys.exit(main())
