#include "halfstep/io/npz.h"

#include "tests/fuzz/target.h"

HS_FUZZ_TARGET(bytes) { halfstep::io::parse_npz(bytes, "fuzz"); }
