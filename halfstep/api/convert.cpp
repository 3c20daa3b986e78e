#include "halfstep/api/convert.h"

#include "halfstep/api/detail/declared_codes.h"
#include "halfstep/api/inputs/model.h"

namespace halfstep::api {

quant::Conversion convert(const Model& prepared, const quant::ConvertOptions& options) {
  require_stage(prepared, Stage::prepared);
  return quant::convert(with_declared_codes(prepared), options);
}

}  // namespace halfstep::api
