#!/bin/sh
# The checks that take too long for `make test`. All steps run, even after a finding. A table at the end lists the
# steps, their times and their findings. Exits with 1 if there are findings. Builds of a step are kept for the next run.
# usage: tools/deep.sh [STEP...]    (default: all, in this order)
#   together  every folder whose sources are compiled in groups, as one group: its names must not collide
#   asan      every test under AddressSanitizer and UndefinedBehaviorSanitizer
#   networks  HALFSTEP_FUZZ_NETWORKS random networks (200) in the program of that build
#   tsan      tests of the rooms that have threads under ThreadSanitizer
#   fuzz      every libFuzzer target for HALFSTEP_FUZZ_SECONDS (60); build/fuzz/findings has the inputs that break them
#   growth    instructions of the verbs at 1x, 2x and 4x of a network
#   form      a toy form of requantization in a copy of the tree: quantized, trained, converted, verified
#   cuda      CUDA kernels on the host against their references, and through nvcc if it is installed
#   wheel     the wheel with everything, which is installed in a bare root and proves a network there
#   coverage  lines that the tests run, by room
# ctest repeats some tests for each CPU level. tsan and coverage, which are slow, run them at the best level only.
set -eu
cd "$(dirname "$0")/.."
out=build/deep
jobs=$(nproc)
seconds=${HALFSTEP_FUZZ_SECONDS:-60}
networks=${HALFSTEP_FUZZ_NETWORKS:-200}
levels='\.(scalar|avx2|avx512|vnni|amx)$'
threaded="base formats kernels runtime compile eager train verify equivalence device"

build() {
  preset=$1
  shift
  cmake --preset "$preset" && cmake --build "build/$preset" --target "$@"
}

# tests PRESET [ctest's options]: run the tests. The last line is the number of passed ones.
tests() {
  preset=$1
  shift
  ctest --preset "$preset" -j "$jobs" -LE '^(checks|python|bench)$' --output-log "$out/ctest.$preset.log" "$@" && code=0 || code=$?
  grep 'tests passed' "$out/ctest.$preset.log"
  return $code
}

step_together() {
  cmake --preset release -B build/together -DHALFSTEP_TOGETHER=1000 -DCMAKE_CXX_FLAGS_RELEASE=-O0 &&
    cmake --build build/together --target halfstep
}

step_asan() { build asan all && tests asan; }

step_networks() { build asan halfstep && build/asan/halfstep fuzz --seeds "0:$networks" --out "$out/networks"; }

step_tsan() {
  build tsan $(printf 'test_%s ' $threaded) || return
  tests tsan -L "^($(echo $threaded | tr ' ' '|'))\$" -E "$levels" && code=0 || code=$?
  echo "$(grep 'tests passed' "$out/ctest.tsan.log"), in $threaded"
  return $code
}

fuzz_target() {
  name=${1#fuzz_}
  mkdir -p "build/fuzz/corpus/$name"
  "build/fuzz/$1" -max_total_time="$seconds" -timeout=200 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/findings/$name." "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" > "$out/$1.log" 2>&1 && verdict=ok || verdict=FAIL
  echo "$verdict $1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$1.log") executions"
  [ $verdict = ok ]
}

step_fuzz() {
  build fuzz fuzz_targets || return
  rm -rf build/fuzz/findings
  mkdir -p build/fuzz/findings
  export ASAN_SYMBOLIZER_PATH="$(command -v llvm-symbolizer-16 || true)"
  targets=$(cd tests/fuzz && ls ./*.cpp | sed 's,./\(.*\)\.cpp,fuzz_\1,')
  echo "$targets" | xargs -P "$jobs" -I{} "$0" --fuzz-target {} && code=0 || code=$?
  echo "$(echo "$targets" | wc -l) targets for $seconds s each, $(ls build/fuzz/findings | wc -l) findings"
  return $code
}

step_growth() { build release halfstep && build/venv/bin/python tests/growth/work.py build/release/halfstep "$out/growth"; }

step_form() {
  rm -rf build/form
  mkdir -p build/form
  git ls-files -z | xargs -0 cp --parents -t build/form && patch -d build/form -p1 --silent < tests/cost/requantization.patch || return
  (cd build/form && cmake --preset release && cmake --build build/release --target halfstep &&
    build/release/halfstep quickstart --set requantize.form=reciprocal32 --set 'fused_activations.weighted=[relu, relu6]' --epochs 8 --tune-epochs 3)
}

step_cuda() {
  build release test_kernels && build/release/test_kernels --gtest_brief=1 || return
  tools/check_cuda build/release && code=0 || code=$?
  [ $code = 0 ] || [ $code = 77 ]
}

step_wheel() { tools/wheel.sh && tools/try_wheel.sh; }

step_coverage() {
  build coverage all && find build/coverage -name '*.gcda' -delete || return
  tests coverage -E "$levels" && code=0 || code=$?
  tools/coverage.py build/coverage || return
  return $code
}

if [ "${1:-}" = --fuzz-target ]; then
  fuzz_target "$2"
  exit
fi
for step in "$@"; do
  case $step in
    together | asan | networks | tsan | fuzz | growth | form | cuda | wheel | coverage) ;;
    *) echo "deep: found '$step', expected together, asan, networks, tsan, fuzz, growth, form, cuda, wheel or coverage" >&2; exit 2 ;;
  esac
done
[ $# != 0 ] || set -- together asan networks tsan fuzz growth form cuda wheel coverage

mkdir -p $out
tools/setup.sh
tools/setup.sh deep
tools/python_env.sh
[ ! -x build/venv/bin/python ] || export HALFSTEP_PYTHON="$PWD/build/venv/bin/python"
: > $out/table
bad=0
for step in "$@"; do
  echo "== $step ($out/$step.log)"
  start=$(date +%s)
  if "step_$step" > "$out/$step.log" 2>&1; then
    verdict=ok
  else
    verdict=FAIL
    bad=1
  fi
  printf '%-5s%-10s%6s s  %s\n' $verdict "$step" $(($(date +%s) - start)) "$(tail -n 1 "$out/$step.log")" | tee -a $out/table
done
printf '\n%-5s%-10s%8s  %s\n' "" step time "what it found"
cat $out/table
exit $bad
