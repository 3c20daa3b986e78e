#include "halfstep/api/report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "halfstep/api/convert.h"
#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/contact_sheet.h"
#include "halfstep/api/inputs/dataset.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/api/run.h"
#include "halfstep/core/base/limits.h"
#include "halfstep/core/files/file.h"
#include "halfstep/train/loop/checkpoint.h"

namespace halfstep::api {
namespace {

/// Returns the integer program, or nullopt with the reason in `unproved`.
std::optional<Model> integers_of(const Model& prepared, const std::optional<Model>& given, std::string& unproved) {
  if (given) return given;
  try {
    return convert(prepared).model;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    unproved = error.what();
    return std::nullopt;
  }
}

std::vector<LayerTime> times_of(const Model& integer, const data::Samples& samples, const Settings& settings) {
  constexpr int kRuns = 9;
  Settings quiet = settings;
  quiet.progress = {};
  RunOptions options;
  options.repeat = 1;
  options.trace = true;
  const Tensors inputs = samples.inputs(0, data::batch_of(integer, 1));
  std::map<std::string, std::vector<double>> taken;
  std::vector<std::string> order;
  for (int i = 0; i < kRuns; ++i) {
    const RunResult result = run(integer, inputs, options, quiet);
    for (const TracedInstruction& one : result.trace->instructions) {
      if (!taken.contains(one.name)) order.push_back(one.name);
      taken[one.name].push_back(static_cast<double>(one.end - one.begin) / 1000);
    }
  }
  std::vector<LayerTime> times;
  for (const std::string& name : order) {
    auto& all = taken[name];
    std::ranges::nth_element(all, all.begin() + static_cast<int64_t>(all.size() / 2));
    times.push_back({name, all[all.size() / 2]});
  }
  return times;
}

std::string class_of(const Dataset& data, int64_t index) {
  if (index < 0) return "no number";
  const auto& names = data.classes;
  return index < static_cast<int64_t>(names.size()) ? names[static_cast<size_t>(index)] : std::to_string(index);
}

/// Priority of a sample in the report. Samples that the float network classifies correctly come first.
enum class Harm { none, in_both, by_codes };

Harm harm_of(int64_t label, int64_t in_float, int64_t on_codes) {
  if (on_codes == label) return Harm::none;
  return in_float == label ? Harm::by_codes : Harm::in_both;
}

void add_worst(NetworkReport& report, const data::Samples& samples, int64_t most) {
  const verify::Answers& answers = report.proof->answers;
  const Dataset& data = *samples.data;
  const auto count = static_cast<int64_t>(answers.integer.size());
  if (count == 0) return;
  const bool has_labels = data.labels_each() == 1;
  const Tensor labels = has_labels ? samples.labels(0, count) : Tensor();
  const bool has_pictures = shows_pictures(data);
  for (const Harm wanted : {Harm::by_codes, Harm::in_both}) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t in_float = answers.unquantized[static_cast<size_t>(i)];
      const int64_t on_codes = answers.integer[static_cast<size_t>(i)];
      const int64_t label = has_labels ? labels.data<int32_t>()[static_cast<size_t>(i)] : in_float;
      if (harm_of(label, in_float, on_codes) != wanted) continue;
      ++report.wrong;
      if (static_cast<int64_t>(report.worst.size()) >= most) continue;
      report.worst.push_back({i, has_labels ? class_of(data, label) : "", class_of(data, in_float),
                              class_of(data, on_codes),
                              has_pictures ? fitted_picture(data, samples.indices[static_cast<size_t>(i)]) : Tensor()});
    }
  }
}

using Json = nlohmann::json;

TriedBitWidths bit_widths_of(const Json& point, const char* kind) {
  TriedBitWidths bit_widths{kind, point.at("what"), point.at("costs").at("size"), point.at("loss")};
  for (const char* right : {"accuracy", "agreement"}) {
    if (point.contains(right)) bit_widths.right = point.at(right);
  }
  return bit_widths;
}

std::vector<TriedBitWidths> bit_widths_in(const std::filesystem::path& path) {
  try {
    const Json json = Json::parse(io::read_text_file(path));
    std::vector<TriedBitWidths> all;
    for (const char* kind : {"front", "uniform"}) {
      for (const Json& point : json.at(kind)) all.push_back(bit_widths_of(point, kind));
    }
    all.push_back(bit_widths_of(json.at("chosen"), "chosen"));
    return all;
  } catch (const Json::exception&) {
    fail(errors::not_bits_json(path.string()));
  }
}

}  // namespace

NetworkReport report(const Model& prepared, const std::optional<Model>& integer, const Dataset& data,
                     const ReportOptions& options, const Settings& settings) {
  require_in_range(options);
  NetworkReport report;
  if (options.training) report.history = train::history_in(*options.training);
  if (options.bits) report.bit_widths = bit_widths_in(*options.bits);
  report.audited = audit(prepared);
  const std::optional<Model> program = integers_of(prepared, integer, report.unproved);
  report.analysis = analyze(prepared, data, options.analyze, settings);
  if (!program) return report;
  if (options.verify.backend) report.with = name(*options.verify.backend);
  report.proof = verify(prepared, *program, data, options.verify, settings);
  const auto parts = parts_for(prepared, data);
  report.times = times_of(*program, parts.test, settings);
  add_worst(report, parts.test, options.worst);
  return report;
}

}  // namespace halfstep::api
