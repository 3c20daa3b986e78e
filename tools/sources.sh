#!/bin/sh
# Print our C++ and CUDA files, each followed by a zero byte.
cd "$(dirname "$0")/.."
find halfstep opgen cli python tests bench \( -name '*.h' -o -name '*.cpp' -o -name '*.cuh' -o -name '*.cu' \) -print0
