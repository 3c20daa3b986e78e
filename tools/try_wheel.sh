#!/bin/sh
# Install a wheel in a bare Debian root without network, and prove the digits network there. Prints the time of each step.
# usage: tools/try_wheel.sh [WHEEL] [SUITE]    (default: the wheel of build/dist, bookworm)
# Needs root and debootstrap. The wheel must be for the Python of SUITE: bookworm has 3.11, trixie has 3.13.
set -eu
cd "$(dirname "$0")/.."
wheel=${1:-$(ls build/dist/halfstep-*.whl)}
suite=${2:-bookworm}
root=build/bare_$suite

timed() {
  name=$1
  shift
  start=$(date +%s%3N)
  "$@" > "$root.log" 2>&1 || { cat "$root.log"; exit 1; }
  printf '%-12s%7d ms\n' "$name" $(($(date +%s%3N) - start))
}
inside() { unshare -n chroot "$root" "$@"; }

command -v debootstrap > /dev/null || apt-get install -qq -y debootstrap > /dev/null
[ -e "$root/usr/bin/python3" ] || timed debootstrap debootstrap --variant=minbase --include=python3,python3-venv "$suite" "$root"
rm -rf "$root/v" "$root/quickstart_out" "$root"/*.whl
cp "$wheel" "$root"
inside python3 -m venv v
timed install inside v/bin/pip install --quiet --no-index --no-deps "/$(basename "$wheel")"
timed import inside v/bin/python -c 'import halfstep'
timed quickstart inside v/bin/halfstep quickstart --data digits
tail -n 1 "$root.log"
