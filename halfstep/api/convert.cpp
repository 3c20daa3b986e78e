#include "halfstep/api/convert.h"

#include "halfstep/api/model.h"

namespace halfstep::api {

quant::Conversion convert(const Model& prepared, const quant::ConvertOptions& options) {
  if (const std::string stage = stage_of(prepared); stage != "prepared")
    fail("found a network of stage {}, expected prepared", stage);
  return quant::convert(prepared, options);
}

}  // namespace halfstep::api
