#!/bin/sh
# tools/steps.sh quickstart|install|test|test-affected|bench|lint|site PRESET: set up, configure, build, then run the
# job. It prints each step. A step that is already done prints that and costs nothing.
set -eu
cd "$(dirname "$0")/.."
job=$1
preset=$2
tree=build/$preset

say() { printf '== %s/4 %s\n' "$1" "$2"; }

# set_up build|checks|deep: install the packages for one of these.
set_up() {
  stamp=build/setup.stamp
  [ "$1" = build ] || stamp=build/setup.$1.stamp
  if [ -e $stamp ] && [ ! tools/setup.sh -nt $stamp ]; then
    say 1 "setup: already done for the $1"
    return
  fi
  say 1 "setup: looking for the Debian packages that the $1 needs"
  tools/setup.sh "$1"
  mkdir -p build
  touch $stamp
}

configure() {
  if [ -e "$tree/build.ninja" ] && [ ! CMakePresets.json -nt "$tree/build.ninja" ] &&
    [ ! build/venv/stamp -nt "$tree/build.ninja" ]; then
    say 2 "configure: $tree is configured"
    return
  fi
  say 2 "configure: cmake --preset $preset"
  cmake --preset "$preset" > "$tree.log" 2>&1 || { cat "$tree.log"; exit 1; }
}

build() {
  say 3 "build: ninja in $tree ($*)"
  cmake --build "$tree" --target "$@"
}

# Show the table of a finished run again if neither the program nor its results have changed since.
quickstart() {
  table=$tree/quickstart.txt
  if [ -e "$table" ] && [ ! "$tree/halfstep" -nt "$table" ] && [ -e quickstart_out/report.json ] &&
    [ ! quickstart_out/report.json -nt "$table" ]; then
    say 4 "run: already done, its table was ($tree/halfstep quickstart runs it again)"
    cat "$table"
    return
  fi
  say 4 "run: $tree/halfstep quickstart"
  { "$tree/halfstep" quickstart && code=0 || code=$?; echo "$code" > "$tree/quickstart.code"; } | tee "$table.new"
  code=$(cat "$tree/quickstart.code")
  [ "$code" = 0 ] || exit "$code"
  mv "$table.new" "$table"
  touch "$table"
}

set_up build
case $job in
  test | test-affected | lint) set_up checks ;;
esac
[ "$preset" != clang ] || set_up deep
case $job in
  test | test-affected | site) tools/python_env.sh ;;
esac
configure
case $job in
  quickstart)
    build halfstep
    quickstart
    ;;
  install)
    build halfstep halfstep_shared
    say 4 "install: $PREFIX"
    cmake --install "$tree" --prefix "$PREFIX" --component library > "$tree/install.log"
    [ "$(command -v halfstep)" = "$PREFIX/bin/halfstep" ] || echo "installed $PREFIX/bin/halfstep; to find it: PATH=$PREFIX/bin:\$PATH"
    ;;
  test | test-affected)
    build all
    affected=$(tools/affected.sh "$tree")
    say 4 "test: ctest in $tree; linked since all tests passed: ${affected:-nothing}"
    if [ "$job" = test ]; then
      touch "$tree/tests.started"
      ctest --preset "$preset" -j "$(nproc)"
      mv "$tree/tests.started" "$tree/tests.passed"
    elif [ -n "$affected" ]; then
      ctest --preset "$preset" -j "$(nproc)" -L "^($(echo "$affected" | tr ' ' '|'))\$"
    fi
    ;;
  bench)
    build bench
    say 4 "bench: $tree/bench"
    "$tree/bench"
    ;;
  lint)
    build halfstep_gen
    say 4 "lint: clang-tidy"
    tools/check_lint.py "$tree" --all
    ;;
  site)
    [ ! -e build/venv/stamp ] || build halfstep halfstep_python
    say 4 "site: build/site"
    tools/site.sh "$tree"
    ;;
esac
