#include "halfstep/formats/paddle/program_desc.h"
#include "tests/fuzz/paddle.h"

HS_FUZZ_TARGET(bytes) { halfstep::fuzz::import_program(halfstep::formats::paddle::read_program_desc(bytes, "fuzz")); }
