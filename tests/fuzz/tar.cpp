#include "halfstep/io/archive.h"
#include "tests/fuzz/target.h"

HS_FUZZ_TARGET(bytes) {
  const auto source = halfstep::io::decompressed(halfstep::io::memory_source(bytes, "fuzz"));
  halfstep::io::TarReader reader(*source);
  while (reader.next()) reader.contents();
}
