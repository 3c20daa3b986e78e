#include "halfstep/core/files/npz.h"

#include "tests/fuzz/target.h"

HS_FUZZ_TARGET(bytes) { halfstep::io::read_npz(halfstep::io::memory_source(bytes, "fuzz")); }
