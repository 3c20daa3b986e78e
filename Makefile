# Each target is a short call of tools/steps.sh or a script; CMakePresets.json has the builds.
.PHONY: quickstart install wheel test test-affected test-asan test-clang test-tsan check-deep bench format lint site

# Installs what is missing (apt), builds build/release, runs the main job. Done steps are not repeated.
quickstart:
	@tools/steps.sh quickstart release

# Builds, and puts the program with its completion for bash, the library and its headers below PREFIX.
PREFIX ?= /usr/local
install:
	@PREFIX="$(PREFIX)" tools/steps.sh install release

# A wheel with everything, for PYTHON (python3); it lies in build/dist.
wheel:
	@tools/wheel.sh

# As quickstart, then every test through ctest.
test:
	@tools/steps.sh test release

# Of those tests the ones whose programs were linked since all passed.
test-affected:
	@tools/steps.sh test-affected release

test-asan:
	@tools/steps.sh test asan

# With Clang 16 instead of GCC.
test-clang:
	@tools/steps.sh test clang

test-tsan:
	@tools/steps.sh test tsan

# What takes hours: sanitizers, fuzzing, random networks, coverage; ends with a table.
check-deep:
	@tools/deep.sh

bench:
	@tools/steps.sh bench release

format:
	@tools/check_format --fix

lint:
	@tools/steps.sh lint release

# Builds the Python package, and of it and the pages a site with references, in build/site.
site:
	@tools/steps.sh site release
