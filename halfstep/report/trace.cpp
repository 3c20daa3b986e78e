#include "halfstep/report/trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace halfstep::report {
namespace {

using Json = nlohmann::ordered_json;
using api::TracedInstruction;
using api::TracedRegion;
using api::TracedValue;

double microseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

std::string range_text(const TracedValue& value) {
  const auto& range = value.range;
  if (!range.known) return "";
  std::string text = range.low > range.high ? "empty" : fmt::format("{:.6g}..{:.6g}", range.low, range.high);
  if (range.not_numbers > 0) text += fmt::format(", {} NaN", range.not_numbers);
  return text;
}

/// "x:[name=x.q;dtype=u8;place=cpu;dim=1,1,8,8;]".
std::string value_text(const TracedValue& value) {
  if (value.name.empty()) return value.port + ":[]";
  return fmt::format("{}:[name={};dtype={};place={};dim={};]", value.port, value.name, halfstep::name(value.type.dtype),
                     to_string(value.place), fmt::join(value.type.dims, ","));
}

std::string list(const std::vector<TracedValue>& values) {
  std::vector<std::string> texts;
  for (const TracedValue& value : values) texts.push_back(value_text(value));
  return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

Json json_of(const TracedValue& value) {
  Json json = {{"port", value.port}, {"name", value.name}};
  if (value.name.empty()) return json;
  json["type"] = to_string(value.type);
  json["place"] = to_string(value.place);
  if (const std::string range = range_text(value); !range.empty()) json["range"] = range;
  return json;
}

Json event_of(const TracedInstruction& instruction, size_t index, const std::string& inside, int place) {
  Json arguments = {{"id", index}, {"operator", instruction.op}, {"kernel", instruction.kernel}};
  if (!inside.empty()) arguments["inside"] = inside;
  if (!instruction.location.empty()) arguments["location"] = instruction.location;
  for (const TracedValue& value : instruction.in) arguments["in"].push_back(json_of(value));
  for (const TracedValue& value : instruction.out) arguments["out"].push_back(json_of(value));
  return {{"name", instruction.name},
          {"cat", instruction.op},
          {"ph", "X"},
          {"ts", microseconds(instruction.begin)},
          {"dur", microseconds(instruction.end - instruction.begin)},
          {"pid", place},
          {"tid", instruction.worker},
          {"args", arguments}};
}

/// The region after the path around it, for example "while 'loop', body, iteration 3".
std::string path_of(const std::string& inside, const TracedInstruction& instruction, const TracedRegion& region) {
  return fmt::format("{}{}{} '{}', {}", inside, inside.empty() ? "" : ": ", instruction.op, instruction.name,
                     region.name);
}

/// Calls visit(instruction, number in its program, path around it). The instructions of regions follow the instruction
/// that runs them.
template <class Visit>
void for_each(const std::vector<TracedInstruction>& instructions, const std::string& inside, const Visit& visit) {
  for (size_t i = 0; i < instructions.size(); ++i) {
    visit(instructions[i], i, inside);
    for (const TracedRegion& region : instructions[i].regions)
      for_each(region.instructions, path_of(inside, instructions[i], region), visit);
  }
}

void write_log(const std::vector<TracedInstruction>& instructions, const std::string& inside, std::string& text) {
  std::vector<size_t> order(instructions.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](size_t i) { return instructions[i].begin; });
  for (const size_t i : order) {
    const TracedInstruction& one = instructions[i];
    const std::string place = to_string(one.place);
    text += fmt::format("begin: op id:{} name:{} node:{} kernel:{} runs on {}, worker {}{}{}\n", i, one.op, one.name,
                        one.kernel.empty() ? "copy" : one.kernel, place, one.worker,
                        one.location.empty() ? "" : ", " + one.location, inside.empty() ? "" : ", in " + inside);
    text +=
        fmt::format("before: Place({}) Op({}), inputs:{}, outputs:{}\n", place, one.op, list(one.in), list(one.out));
    for (const TracedRegion& region : one.regions) write_log(region.instructions, path_of(inside, one, region), text);
    std::string ranges;
    for (const TracedValue& value : one.out) {
      if (const std::string range = range_text(value); !range.empty())
        ranges += fmt::format(", {}:{}", value.port, range);
    }
    text += fmt::format("end: op id:{} at {:.3f} us, took {:.3f} us{}\n", i, microseconds(one.begin),
                        microseconds(one.end - one.begin), ranges);
  }
}

}  // namespace

std::string as_chrome_trace(const api::ExecutionTrace& trace) {
  std::map<Place, int> places;
  for_each(trace.instructions, "", [&](const TracedInstruction& instruction, size_t, const std::string&) {
    places.emplace(instruction.place, static_cast<int>(places.size()));
  });
  Json json = {{"displayTimeUnit", "ns"}, {"otherData", {{"network", trace.network}}}, {"traceEvents", Json::array()}};
  if (trace.left_out > 0) json["otherData"]["left_out"] = trace.left_out;
  for (const auto& [place, number] : places)
    json["traceEvents"].push_back(
        {{"name", "process_name"}, {"ph", "M"}, {"pid", number}, {"args", {{"name", to_string(place)}}}});
  for_each(trace.instructions, "", [&](const TracedInstruction& one, size_t i, const std::string& inside) {
    json["traceEvents"].push_back(event_of(one, i, inside, places.at(one.place)));
  });
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_log(const api::ExecutionTrace& trace) {
  std::string text;
  write_log(trace.instructions, "", text);
  if (trace.left_out > 0) text += fmt::format("{} later runs of regions are omitted\n", trace.left_out);
  return text;
}

}  // namespace halfstep::report
