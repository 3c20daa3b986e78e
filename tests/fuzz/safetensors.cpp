#include "halfstep/core/files/safetensors.h"

#include "tests/fuzz/target.h"

HS_FUZZ_TARGET(bytes) { halfstep::io::parse_safetensors(bytes, "fuzz"); }
