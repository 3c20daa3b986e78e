#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

void print_list(bool as_json) {
  nlohmann::ordered_json list;
  for (const PassInfo& pass : api::passes()) {
    list.push_back({{"name", pass.name}, {"doc", pass.doc}});
    if (!as_json) fmt::print("{:20} {}\n", pass.name, pass.doc);
  }
  if (as_json) fmt::print("{}\n", list.dump(2));
}

bool is_shown(const api::PassCourse& pass, const std::vector<std::string>& shown) {
  return std::ranges::any_of(shown, [&](const std::string& name) { return name == pass.name || name == "all"; });
}

void print_course(const std::vector<api::PassCourse>& course, const std::vector<std::string>& shown, bool as_json) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const api::PassCourse& pass : course) {
    auto& entry = list.emplace_back(nlohmann::ordered_json{{"name", pass.name},
                                                           {"before", pass.before},
                                                           {"after", pass.after},
                                                           {"changed", pass.changed},
                                                           {"seconds", pass.seconds}});
    if (is_shown(pass, shown)) entry["network"] = pass.network;
    if (as_json) continue;
    fmt::print("{:20} {:6} -> {:6} operations  {:8.2f} ms{}\n", pass.name, pass.before, pass.after, pass.seconds * 1e3,
               pass.changed ? "" : "  nothing changed");
    if (is_shown(pass, shown)) fmt::print("{}", pass.network);
  }
  if (as_json) fmt::print("{}\n", list.dump(2));
}

}  // namespace

void add_pass(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    std::vector<std::string> names, disabled, shown;
    std::filesystem::path model;
    OutFile out;
    bool list = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = add_command(
      program, "pass",
      "Run optimizations on a network one by one: what each changes, and the network after "
      "it; --list says what there is",
      "halfstep pass simplify,cse,dce network.ir --print-after cse --out smaller.safetensors", options->common);
  command->add_option("passes", options->names, "names with commas, or all")->delimiter(',')->allow_extra_args(false);
  command->add_option("model", options->model, "Model, an .ir text, or an ONNX or Paddle file");
  command->add_flag("--list", options->list, "the passes, with a sentence each");
  command->add_option("--disable", options->disabled, "of all: those to leave out")->delimiter(',');
  command->add_option("--print-after", options->shown, "passes behind which the network is printed, or all")
      ->delimiter(',');
  add_out_file(*command, options->out, "--out", "Model to write");
  command->callback([options, &work] {
    work = [options] {
      if (options->list) return print_list(options->common.json), int{kDone};
      if (options->model.empty()) fail(errors::pass_without_network());
      options->out.require();
      const bool is_text = options->model.extension() == ".ir";
      const Model network = is_text ? api::load_text(options->model, 0) : api::load(options->model);
      const api::Passed passed = api::run_passes(network, options->names, options->disabled);
      print_course(passed.course, options->shown, options->common.json);
      if (!options->out.path.empty()) api::save(passed.model, options->out.path);
      return int{kDone};
    };
  });
}

}  // namespace halfstep::cli
