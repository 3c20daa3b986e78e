#include "halfstep/api/tools/gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <mutex>

#include "halfstep/api/errors.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/engine/eager/signature.h"
#include "halfstep/engine/eager/team.h"
#include "halfstep/passes/gradient/autodiff.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::api {
namespace {

std::string operand_name(size_t i) { return fmt::format("x{}", i); }
std::string seed_name(size_t port) { return fmt::format("grad{}", port); }

struct Call {
  const OpInfo& info;
  const Attributes& attributes;
  std::span<const Tensor> operands, result_gradients;
  const std::vector<bool>& wanted;

  /// Returns equal keys for calls that can share one program.
  std::vector<uint64_t> key() const {
    std::vector<kernels::ConstView> views;
    for (const Tensor& tensor : operands)
      views.push_back(tensor.defined() ? kernels::ConstView{tensor.raw(), tensor.dtype(), tensor.dims()}
                                       : kernels::ConstView{});
    const eager::Signature signature = eager::signature_of(info, attributes, views);
    std::vector<uint64_t> words(signature.words().begin(), signature.words().end());
    for (const Tensor& tensor : result_gradients) words.push_back(tensor.defined() ? 1 : 0);
    words.insert(words.end(), wanted.begin(), wanted.end());
    return words;
  }

  /// Returns a graph whose outputs are the available gradients, named after the operands. Compilation removes the parts
  /// of the operator that the gradients do not need.
  Model model() const {
    Model model;
    Graph& graph = model.graph;
    std::vector<Value> values;
    std::vector<std::string> names;
    for (size_t i = 0; i < operands.size(); ++i) {
      const Tensor& tensor = operands[i];
      values.push_back(tensor.defined() ? passes::add_argument(graph, operand_name(i), tensor.type()) : Value());
      if (wanted[i]) names.push_back(operand_name(i));
    }
    const Op op = Builder(graph).insert({&info, std::move(values), attributes, "call", {}});
    std::vector<passes::Seed> seeds;
    for (size_t port = 0; port < result_gradients.size(); ++port) {
      if (!result_gradients[port].defined()) continue;
      const Value result = op.out(static_cast<int>(port));
      if (!result) fail(errors::gradient_of_absent_result(info.name, info.outputs[port].name));
      seeds.push_back({result, passes::add_argument(graph, seed_name(port), result.type())});
    }
    std::vector<Value> outputs;
    std::vector<std::string> output_names;
    for (const auto& [name, value] : passes::autodiff(model, seeds, names).of) {
      outputs.push_back(value);
      output_names.push_back(name);
    }
    graph.set_outputs(std::move(outputs), std::move(output_names));
    return model;
  }

  /// Returns the inputs of the program. An operand that no gradient reads is still an argument.
  Tensors inputs() const {
    Tensors inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].defined()) inputs.emplace(operand_name(i), operands[i]);
    }
    for (size_t port = 0; port < result_gradients.size(); ++port) {
      if (result_gradients[port].defined()) inputs.emplace(seed_name(port), result_gradients[port]);
    }
    return inputs;
  }
};

/// Recently used programs, most recent first.
class Programs {
 public:
  Tensors run(const Call& call) {
    const std::scoped_lock lock(turn_);
    auto key = call.key();
    const auto known = std::ranges::find(programs_, key, &Entry::key);
    if (known == programs_.end()) {
      programs_.push_front({std::move(key), compile(call.model())});
      if (programs_.size() > kPrograms) programs_.pop_back();
    } else {
      programs_.splice(programs_.begin(), programs_, known);
    }
    if (pool_ == nullptr || pool_->threads() != eager::threads())
      pool_ = std::make_unique<ThreadPool>(eager::threads());
    return programs_.front().program.run(call.inputs(), *pool_);
  }

 private:
  static constexpr size_t kPrograms = 64;
  struct Entry {
    std::vector<uint64_t> key;
    runtime::Program program;
  };

  std::mutex turn_;  ///< protects all members below
  std::list<Entry> programs_;
  std::unique_ptr<ThreadPool> pool_;
};

}  // namespace

std::vector<Tensor> gradient(const OpInfo& info, const Attributes& attributes, std::span<const Tensor> operands,
                             std::span<const Tensor> result_gradients, const std::vector<bool>& wanted) {
  static auto* programs = new Programs;  // not destroyed, because calls may come while static objects are destroyed
  HS_CHECK(wanted.size() == operands.size());
  Tensors found = programs->run({info, attributes, operands, result_gradients, wanted});
  std::vector<Tensor> gradients(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (const auto gradient = found.find(operand_name(i)); gradient != found.end()) gradients[i] = gradient->second;
  }
  return gradients;
}

}  // namespace halfstep::api
