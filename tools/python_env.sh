#!/bin/sh
# Makes build/venv, where the Python package is built and tested, out of PyPI. Where that cannot be had it says so and leaves no
# stamp: the build goes on without the package, and its tests are skipped.
set -eu
cd "$(dirname "$0")/.."
packages="nanobind numpy pytest ml_dtypes"
# Tests leave out what these are for where they cannot be had: tests/networks asks onnxruntime, benchmarks write networks with onnx,
# tests/pages pyyaml, tools/check_format this clang-format. Of onnxruntime those whose arithmetic was measured (halfstep/api/detail/onnxruntime_backend.cpp).
extras="onnxruntime>=1.31,<1.33 onnx safetensors pyyaml clang-format==14.0.6"
venv=build/venv

[ ! -e $venv/stamp ] || [ tools/python_env.sh -nt $venv/stamp ] || { echo "python: $venv is there"; exit 0; }
install() {
  $venv/bin/pip install --quiet --disable-pip-version-check --retries 1 "$@" >> $venv.log 2>&1
}
mkdir -p build
if ! { python3 -m venv $venv > $venv.log 2>&1 && install --timeout 20 $packages; }; then
  echo "python: no $venv, so no Python package: $(tail -n 1 $venv.log)"
  exit 0
fi
for extra in $extras; do
  if install --timeout 60 $extra; then
    packages="$packages $extra"
  else
    echo "python: no $extra: $(tail -n 1 $venv.log)"
  fi
done
echo "python: made $venv with $packages"
touch $venv/stamp
