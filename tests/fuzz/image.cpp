#include "halfstep/io/image.h"

#include "tests/fuzz/target.h"

HS_FUZZ_TARGET(bytes) { halfstep::io::decode_image(bytes, "fuzz"); }
