#!/usr/bin/env python3
"""Check that the library never prints, aborts or exits, that sources are ASCII, and that no text holds a path of a
developer's machine.

usage: tools/check_library.py [BUILD]    (BUILD: a finished build folder; default build/release)

Symbols are checked only in a release build.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BANNED = re.compile(r"_?_?(v?f?printf|puts|fputs|putchar|fputc|putc|fwrite|perror)(_chk)?|abort|_?_?exit|_Exit|quick_exit|_exit|__assert_fail|"
                    r"stdout|stderr|std::(cout|cerr|clog|terminate|abort|exit)(\(\))?|fmt::.*::v?print\(.*")
# (object, symbol): the reason for the exception.
EXCEPTED = {
    ("parallel.cpp.o", "std::terminate()"): "std::thread's inline destructor calls it for a thread that was never joined",
    ("fleet.cpp.o", "_exit"): "a forked process of the fuzzer ends; the caller's own never does",
}
SOURCES = {".h", ".cpp", ".cu", ".py", ".sh", ".cmake", ".yaml", ".ir", ".txt", ".json", ".patch"}
SKIPPED = {".git", "build", "quickstart_out"}
# Below the usual roots of homes and checkouts. A scheme or a longer path in front of it excludes it.
MACHINE_PATH = re.compile(r"(?<![\w./:$}~-])/(?:home|root|Users|mnt|work|workspace|tmp/b-)\b[/\w.-]*")


def check_symbols(build):
    """Check the undefined symbols of each object of the library."""
    archives = sorted(build.glob("libhalfstep*.a"))
    archives = [path for path in archives if "heavy" not in path.name and "test_support" not in path.name]
    violations, counts = [], collections.Counter()
    for archive in archives:
        listing = subprocess.run(["nm", "-C", "-A", "--undefined-only", archive], capture_output=True, text=True, check=True)
        for line in listing.stdout.splitlines():
            place, symbol = line.split(" U ", 1) if " U " in line else (line, "")
            member = place.split(":")[1] if ":" in place else ""
            counts[member] += 1
            symbol = symbol.split("@")[0].strip()
            if BANNED.fullmatch(symbol) and (member, symbol) not in EXCEPTED:
                violations.append(f"{archive.name}:{member}: refers to {symbol}")
    print(f"symbols: {sum(counts.values())} references of {len(counts)} objects in {len(archives)} archives, "
          f"{len(EXCEPTED)} excepted by name, {len(violations)} banned")
    if archives and not counts:
        violations.append("tools/check_library.py:1: nm listed nothing")
    return violations


def is_release(build):
    """Other builds use symbols that optimization and NDEBUG remove: asserts and noexcept guards of included headers."""
    cache = build / "CMakeCache.txt"
    return not cache.exists() or re.search(r"^CMAKE_BUILD_TYPE:\w+=Release$", cache.read_text(), re.M) is not None


def texts():
    for path in sorted(ROOT.rglob("*")):
        name = path.relative_to(ROOT)
        if name.parts[0] in SKIPPED or not path.is_file():
            continue
        data = path.read_bytes()
        if b"\0" not in data[:4096] and path.suffix not in (".gz", ".zst", ".bin"):
            yield path, name.as_posix(), data


def check_texts():
    violations, files, sources = [], 0, 0
    for path, name, data in texts():
        files += 1
        is_source = path.suffix in SOURCES or path.name in ("Makefile", "CMakeLists.txt", ".clang-format", ".clang-tidy", "run")
        sources += is_source
        for number, line in enumerate(data.split(b"\n"), 1):
            if is_source and not line.isascii():
                violations.append(f"{name}:{number}: is not ASCII")
            match = MACHINE_PATH.search(line.decode("utf-8", "replace"))
            if match:
                violations.append(f"{name}:{number}: names the path {match.group(0)} of a machine")
    print(f"texts: {files} files without paths of a machine, {sources} sources in ASCII, {len(violations)} violations")
    return violations


def main():
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/release"
    violations = check_texts()
    if (build / "libhalfstep.a").exists() and is_release(build):
        violations += check_symbols(build)
    else:
        print("symbols: not checked, there is no release build")
    print("\n".join(violations), file=sys.stderr, end="\n" if violations else "")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
