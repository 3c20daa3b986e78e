#!/bin/sh
# Install the missing Debian packages and list them. Without missing packages it needs no network.
# usage: tools/setup.sh [build|checks|deep]: packages for the build (default), or additional ones for the checks of
#        `make test` or of `make check-deep`. The build needs its packages. A check without its packages is skipped,
#        with a message.
set -eu
what=${1:-build}

# tools/check_* need python3, universal-ctags, codespell and patch. The Python package needs python3-dev and python3-venv. CMake's
# package of oneDNN needs OpenCL, which Debian only recommends: ocl-icd-opencl-dev. Clang before 16 lacks parts of
# C++20.
case $what in
  build)
    packages="g++ cmake ninja-build libfmt-dev libyaml-cpp-dev libdnnl-dev ocl-icd-opencl-dev libhwy-dev nlohmann-json3-dev
      libcli11-dev libxxhash-dev nettle-dev zlib1g-dev libarchive-dev coinor-libcbc-dev libpng-dev libjpeg-dev libprotobuf-dev protobuf-compiler libgtest-dev libbenchmark-dev
      python3 python3-dev python3-venv python3-yaml universal-ctags codespell patch"
    ;;
  checks) packages="git clang-tidy-16" ;;
  deep) packages="clang-16 libclang-rt-16-dev llvm-16 gcovr valgrind" ;;
  *) echo "setup: found '$what', expected build, checks or deep" >&2; exit 2 ;;
esac

fail() {
  echo "setup: $1" >&2
  [ "$what" != build ] || exit 2
  exit 0
}

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

as_root=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo > /dev/null || fail "run as root: apt-get install --no-install-recommends$missing"
  as_root="sudo"
fi
echo "setup: installing$missing"
$as_root apt-get update -qq || fail "apt-get update failed"
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing > /dev/null || fail "apt-get install failed"
echo "setup: done"
