#!/usr/bin/env python3
"""Add the licences of bundled software to an unpacked wheel: of its libraries, and of the headers compiled into the
extension.

usage: tools/wheel_notices.py BUILD UNPACKED    (BUILD: the folder that the wheel was built in)

Names, versions and licences are from Debian's and PyPI's packages. A library without a package is an error. The
compiler's own headers are left out, which its licence allows.
"""
import collections
import importlib.metadata
import pathlib
import re
import subprocess
import sys

COMPILER = re.compile(r"gcc-\d+|glibc|linux")
COMMON = re.compile(r"/usr/share/common-licenses/([\w.-]*\w)")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def sources_of(paths):
    """Return Debian's packages by source package and version, and the names of the files that they own."""
    found = subprocess.run(["dpkg-query", "--search", *paths], capture_output=True, text=True).stdout
    owners = re.findall(r"^([^\s,]+).*: (/\S+)$", found, re.M)
    lines = output("dpkg-query", "-W", "-f", "${source:Package} ${source:Version} ${binary:Package}\n", *{package for package, _ in owners})
    sources = collections.defaultdict(set)
    for source, version, package in (line.split() for line in lines.splitlines()):
        sources[source, version].add(package.split(":")[0])
    return sources, {pathlib.Path(path).name for _, path in owners}


def headers(build):
    """Return the headers of others that the compiler read for the extension."""
    extension = max(build.glob("gen/python/halfstep/_core.*.so"), key=lambda path: path.stat().st_mtime)
    inputs = output("ninja", "-C", build, "-t", "inputs", extension.relative_to(build)).splitlines()
    objects = [path for path in inputs if path.endswith((".o", ".gch"))]
    lines = set(re.findall(r"^    (.+)$", output("ninja", "-C", build, "-t", "deps", *objects), re.M))
    paths = {(build / line).resolve() for line in lines}
    foreign = sorted(str(path) for path in paths if "/usr/include/" in str(path) or "/site-packages/" in str(path))
    if not foreign:
        sys.exit(f"tools/wheel_notices.py: found no headers in {build}, expected the folder that the wheel was built in")
    return foreign


def distributions(paths):
    """Return the PyPI packages of these files."""
    names = {match[1] for path in paths if (match := re.search(r"/site-packages/(\w+)/", path))}
    return [importlib.metadata.distribution(name) for name in sorted(names)]


def debian_text(packages):
    return "\n".join(dict.fromkeys(pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text() for package in sorted(packages)))


def pypi_text(distribution):
    licences = [file for file in distribution.files if ".dist-info/licenses/" in str(file)]
    inside = [file for file in distribution.files if str(file).endswith("robin_map.h")]  # nanobind omits its licence
    comments = [re.match(r"\s*/\*\*(.*?)\*/", file.read_text(), re.S)[1] for file in inside]
    return "\n".join([file.read_text() for file in licences] + comments)


def main(build, unpacked):
    libraries = [re.sub(r"-[0-9a-f]{8}(?=\.so)", "", path.name) for path in sorted(unpacked.glob("halfstep.libs/*"))]
    bundled, owned = sources_of([f"*/{name}" for name in libraries])
    if unowned := sorted(set(libraries) - owned):
        sys.exit(f"tools/wheel_notices.py: no package of Debian's has {', '.join(unowned)}, so its licence is not known")
    included = headers(build)
    compiled = {source: packages for source, packages in sources_of(included)[0].items() if not COMPILER.fullmatch(source[0])}
    parts = {source: debian_text(packages) for source, packages in sorted((compiled | bundled).items())}
    parts |= {(found.name, found.version): pypi_text(found) for found in distributions(included)}
    common = [pathlib.Path("/usr/share/common-licenses", name) for name in sorted(set(COMMON.findall("".join(parts.values()))))]
    parts |= {(path.name, "in full"): path.read_text() for path in common if path.exists()}
    names = [" ".join(source) for source in parts]
    rule = "=" * 100
    text = "This wheel bundles, beside Halfstep (LICENSE):\n\n" + "".join(f"    {name}\n" for name in names)
    text += "".join(f"\n{rule}\n{name}\n{rule}\n\n{licence}" for name, licence in zip(names, parts.values()))
    (info,) = unpacked.glob("*.dist-info")
    (info / "licenses/NOTICES").write_text(text)
    metadata = (info / "METADATA").read_text()
    (info / "METADATA").write_text(metadata.replace("License-File: LICENSE\n", "License-File: LICENSE\nLicense-File: NOTICES\n", 1))
    print(f"{len(libraries)} libraries; notices of {', '.join(names)}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
