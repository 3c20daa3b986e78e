#include "halfstep/formats/paddle/pir.h"
#include "tests/fuzz/paddle.h"

HS_FUZZ_TARGET(bytes) { halfstep::fuzz::import_program(halfstep::formats::paddle::read_pir(bytes, "fuzz")); }
