#include "halfstep/data/datasets/csv.h"

#include "tests/fuzz/target.h"

HS_FUZZ_TARGET(bytes) {
  halfstep::data::read_csv(*halfstep::io::decompressed(halfstep::io::memory_source(bytes, "fuzz")));
}
