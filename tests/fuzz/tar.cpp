#include "halfstep/core/files/archive.h"
#include "tests/fuzz/target.h"

HS_FUZZ_TARGET(bytes) {
  using namespace halfstep::io;
  ArchiveReader reader(memory_source(bytes, "fuzz"), ArchiveForm::tar);
  while (reader.next()) reader.contents();
}
