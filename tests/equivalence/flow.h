// A prepared network with a scan, a branch and a loop, and its verification.
#pragma once

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "tests/equivalence/fixture.h"

namespace halfstep::test {

/// A recurrent cell over five rows, a branch on the result, and a loop until a value is large.
struct Flow {
  ThreadPool pool{1};
  data::Dataset data;
  data::TrainTest parts;
  Model source, prepared;

  explicit Flow(const quant::PrepareOptions& options = {}, float shift = 0,
                const std::string& platform = "generic_int8") {
    Random random(5, 0);
    Tensor x(DType::f32, {32, 5, 4});
    for (int64_t i = 0; i < x.size(); ++i)
      x.data<float>()[static_cast<size_t>(i)] = random.normal() + shift + (i / 20 % 2 == 0 ? 0.5F : -0.5F);
    data.name = "random";
    data.inputs.emplace("x", x);
    parts = data::split(data);
    source = network();
    prepared = quant::prepare(source, quant::load_platform(platform), options);
    train::calibrate(prepared, parts.train, {.batch = parts.train.size(), .batches = 1}, pool);
    prepared.source = std::make_shared<const Source>(Source{source, parts.test.inputs(0, 3)});
  }

  /// `tanh` is the function used in the cell.
  static Model network(const std::string& tanh = "tanh") {
    std::ifstream file(HALFSTEP_SOURCE_DIR "/tests/equivalence/flow.ir");
    std::string text(std::istreambuf_iterator<char>(file), {});
    text.replace(text.find("tanh("), 4, tanh);
    Model source = train::initialize(parse(text, "flow.ir"), 3);
    Random random(6, 0);
    for (float& value : source.tensors["start"].data<float>()) value = random.uniform();
    source.tensors["half"].data<float>()[0] = 0;
    source.tensors["limit"].data<float>()[0] = 6;
    source.tensors["zero"] = Tensor::of<int64_t>(DType::i64, {}, std::array<int64_t, 1>{0});
    source.tensors["one"] = Tensor::of<int64_t>(DType::i64, {}, std::array<int64_t, 1>{1});
    return source;
  }

  Model integers() const { return quant::convert(prepared, {.float_fallback = true}).model; }

  verify::VerifyReport prove(const Model& integer) { return prove(api::paths_of(prepared, integer)); }
  verify::VerifyReport prove(const verify::ExecutionPaths& paths) {
    return api::prove(paths, prepared, parts.test, {.all = true}, pool, {});
  }
};

inline const verify::LayerReport& layer(const verify::VerifyReport& report, const std::string& name) {
  const auto found = std::ranges::find_if(report.layers, [&](const auto& one) { return one.layer.name == name; });
  if (found == report.layers.end()) fail(errors::record_wrong(fmt::format("the report has no layer '{}'", name)));
  return *found;
}

}  // namespace halfstep::test
