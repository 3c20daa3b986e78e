#!/bin/sh
# Installs the Debian packages that the build needs and that are missing, and says which. Asks for no network when all are there.
set -eu

# python3, universal-ctags, patch: of tools/check_*. python3-dev, python3-venv: of the Python package.
# ocl-icd-opencl-dev: what CMake finds oneDNN through asks for OpenCL, which the package only recommends.
packages="g++ cmake ninja-build libfmt-dev libyaml-cpp-dev libdnnl-dev ocl-icd-opencl-dev libhwy-dev nlohmann-json3-dev
  libcli11-dev libxxhash-dev zlib1g-dev libarchive-dev libpng-dev libjpeg-dev libprotobuf-dev protobuf-compiler libgtest-dev libbenchmark-dev
  python3 python3-dev python3-venv universal-ctags patch"

if ! command -v dpkg-query > /dev/null; then
  echo "setup: this is not a Debian system, so nothing is installed; needed are:" $packages
  exit 0
fi
missing=""
for package in $packages; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
if [ -z "$missing" ]; then
  echo "setup: all $(echo $packages | wc -w) packages are there"
  exit 0
fi

echo "setup: installing$missing"
as_root=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo > /dev/null || { echo "setup: run as root: apt-get install$missing" >&2; exit 2; }
  as_root="sudo"
fi
$as_root apt-get update -qq
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing > /dev/null
echo "setup: done"
