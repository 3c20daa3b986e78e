#!/bin/sh
# Makes build/venv, where the Python package is built and tested, out of PyPI. Where that cannot be had it says so and leaves no
# stamp: the build goes on without the package, and its tests are skipped.
set -eu
cd "$(dirname "$0")/.."
packages="nanobind numpy pytest ml_dtypes"
witness="onnxruntime"  # tests/networks asks it; without it they leave that check out
venv=build/venv

[ ! -e $venv/stamp ] || [ tools/python_env.sh -nt $venv/stamp ] || { echo "python: $venv is there"; exit 0; }
mkdir -p build
if ! { python3 -m venv $venv && $venv/bin/pip install --quiet --disable-pip-version-check --retries 1 --timeout 20 $packages; } \
  > $venv.log 2>&1; then
  echo "python: no $venv, so no Python package: $(tail -n 1 $venv.log)"
  exit 0
fi
if $venv/bin/pip install --quiet --disable-pip-version-check --retries 1 --timeout 60 $witness >> $venv.log 2>&1; then
  packages="$packages $witness"
else
  echo "python: no $witness: $(tail -n 1 $venv.log)"
fi
echo "python: made $venv with $packages"
touch $venv/stamp
