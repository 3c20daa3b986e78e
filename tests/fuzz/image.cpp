#include "halfstep/data/datasets/image.h"

#include "tests/fuzz/target.h"

HS_FUZZ_TARGET(bytes) {
  using namespace halfstep::data;
  const ImageHeader header = image_header(bytes, "fuzz");
  upright(decode_image(bytes, "fuzz"), header.orientation);
}
