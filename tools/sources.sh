#!/bin/sh
# Prints our C++ files, each ended by a zero byte.
cd "$(dirname "$0")/.."
find halfstep opgen cli python tests bench -name '*.h' -print0 -o -name '*.cpp' -print0
