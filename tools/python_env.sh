#!/bin/sh
# Make build/venv from PyPI. The Python package is built and tested there. If PyPI is not available, print that and
# leave no stamp. The build then continues without the package, and its tests are skipped.
set -eu
cd "$(dirname "$0")/.."
packages="nanobind numpy pytest ml_dtypes"
# Tests skip the parts that need a missing package. tests/networks uses onnxruntime, benchmarks write networks with
# onnx, tests/pages uses pyyaml, tools/check_format this clang-format, and tools/check_workflows check-jsonschema. The
# versions of onnxruntime are those whose arithmetic was measured (halfstep/api/detail/onnxruntime_backend.cpp).
extras="onnxruntime>=1.31,<1.33 onnx safetensors pyyaml clang-format==14.0.6 check-jsonschema"
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
