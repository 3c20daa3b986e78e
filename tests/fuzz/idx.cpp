#include "halfstep/data/datasets/idx.h"

#include "tests/fuzz/target.h"

HS_FUZZ_TARGET(bytes) {
  halfstep::data::read_idx(*halfstep::io::decompressed(halfstep::io::memory_source(bytes, "fuzz")));
}
