#!/bin/sh
# tools/affected.sh BUILD: print the labels of tests whose program or Python module was linked after all tests last
# passed.
set -eu
cd "$1"
newer=
[ ! -e tests.passed ] || newer="-newer tests.passed"
{
  find . -maxdepth 1 -type f -name 'test_*' $newer | sed 's|.*/test_||'
  [ ! -d gen/python ] || find gen/python -name '_core*.so' $newer | sed 's|.*|python|'
} | sort | paste -s -d ' '
