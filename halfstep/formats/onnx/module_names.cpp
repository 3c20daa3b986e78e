#include "halfstep/formats/onnx/module_names.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace halfstep::formats::onnx {
namespace {

constexpr std::string_view kWeight = ".weight";
/// Modules of these classes run other modules. All other classes of torch.nn are layers.
constexpr std::string_view kLayers = "torch.nn.modules.", kContainers = "torch.nn.modules.container.";

/// A module around the node. The last entry of the list is the call that the node belongs to.
struct Scope {
  std::string_view path, type;
};

/// Parses "stem: torch.nn.modules.container.Sequential/stem.0: .../conv2d: aten.conv2d.default".
std::vector<Scope> scopes_of(std::string_view text) {
  std::vector<Scope> scopes;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('/'));
    const size_t colon = part.find(": ");
    if (colon == std::string_view::npos) return {};
    scopes.push_back({part.substr(0, colon), part.substr(colon + 2)});
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  return scopes;
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

std::string_view metadata(const proto::Node& node, std::string_view key) {
  for (const proto::Entry& entry : node.metadata_props()) {
    if (entry.key() == key) return entry.value();
  }
  return {};
}

/// Returns nothing if the text cannot be Python names, because metadata are not validated like names of the graph.
std::string_view scope_text(const proto::Node& node) {
  const std::string_view text = metadata(node, "namespace");
  return is_printable(text) ? text : std::string_view();
}

/// A frame of a Python stack trace: File "net.py", line 12, in forward.
struct Frame {
  std::string_view path;
  int line = 0;
};

/// Returns the next frame and removes it from `text`, or nothing if there is none.
std::optional<Frame> next_frame(std::string_view& text) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ";
  const size_t begin = text.find(kFile);
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin + kFile.size());
  const size_t end = text.find(kLine);
  if (end == std::string_view::npos) return std::nullopt;
  Frame frame{text.substr(0, end)};
  text.remove_prefix(end + kLine.size());
  const auto [_, error] = std::from_chars(text.data(), text.data() + text.size(), frame.line);
  return error == std::errc() && frame.line > 0 && is_printable(frame.path) ? std::optional(frame) : Frame();
}

/// Returns the module that owns a weight of the node.
std::optional<std::string> owner(const proto::Node& node) {
  for (const std::string& input : node.input()) {
    if (input.size() > kWeight.size() && input.ends_with(kWeight))
      return input.substr(0, input.size() - kWeight.size());
  }
  return std::nullopt;
}

/// Returns "add" for "add_3".
std::string_view without_number(std::string_view call) {
  const size_t end = call.find_last_not_of("0123456789");
  const bool is_numbered = end != std::string_view::npos && end + 1 < call.size() && call[end] == '_' && end > 0;
  return is_numbered ? call.substr(0, end) : call;
}

}  // namespace

Location source_line(const proto::Node& node) {
  std::string_view trace = metadata(node, "pkg.torch.onnx.stack_trace");
  Location found;
  while (const auto frame = next_frame(trace)) {
    const bool is_torch = frame->path.find("-packages/torch/") != std::string_view::npos;
    if (frame->line == 0 || is_torch || frame->path.ends_with("/halfstep/magik.py")) continue;
    found = {std::string(frame->path.substr(frame->path.find_last_of("/\\") + 1)), frame->line};
  }
  return found;
}

std::vector<std::string> module_names(const proto::Node& node) {
  const std::vector<Scope> scopes = scopes_of(scope_text(node));
  if (scopes.size() < 2) return {};
  const Scope& module = scopes[scopes.size() - 2];
  std::vector<std::string> names;
  if (const auto layer = owner(node)) names.push_back(*layer);
  const bool is_layer = module.type.starts_with(kLayers) && !module.type.starts_with(kContainers);
  if (is_layer && !module.path.empty()) names.emplace_back(module.path);
  const std::string call(without_number(scopes.back().path));
  names.push_back(module.path.empty() ? call : std::string(module.path) + "." + call);
  return names;
}

}  // namespace halfstep::formats::onnx
