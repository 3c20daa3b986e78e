#include "halfstep/data/datasets/image_list.h"

#include "tests/fuzz/target.h"

HS_FUZZ_TARGET(bytes) {
  using namespace halfstep::data;
  using halfstep::io::memory_source;
  is_image_list(*memory_source(bytes, "fuzz"));
  read_image_list(*memory_source(bytes, "fuzz"), kMaxClasses, "");
}
