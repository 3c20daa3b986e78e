#include "halfstep/verify/operators/golden_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/verify/operators/errors.h"

namespace halfstep::verify {
namespace {

/// Formats whose names golden files use.
constexpr std::array<std::string_view, 3> kFormats = {"pir", "torch", "onnx"};
/// Keys in `attr` of a case that are not attributes of the operator.
const std::set<std::string, std::less<>> kRemarks = {"opset", "domain", "batch", "reduce_range"};
/// PyTorch's names of the element types of codes.
const std::map<std::string, std::string, std::less<>> kCodeTypes = {
    {"quint8", "u8"}, {"qint8", "i8"}, {"qint32", "i32"}};

const ForeignInfo& entry_of(const OpInfo& info, const std::string& op) {
  const auto entry = std::find_if(info.foreign.begin(), info.foreign.end(), [&](const ForeignInfo& candidate) {
    return candidate.op == op && std::find(kFormats.begin(), kFormats.end(), candidate.format) != kFormats.end();
  });
  HS_CHECK(entry != info.foreign.end());
  return *entry;
}

/// Our names of the element types in ONNX's numbering (TensorProto.DataType). "" for 0, which means undefined.
const std::map<int64_t, std::string>& onnx_dtypes() {
  static const std::map<int64_t, std::string> kNames = {
      {0, ""},      {1, "f32"},        {2, "u8"},           {3, "i8"},       {4, "u16"},
      {5, "i16"},   {6, "i32"},        {7, "i64"},          {10, "f16"},     {11, "f64"},
      {16, "bf16"}, {17, "f8_e4m3fn"}, {18, "f8_e4m3fnuz"}, {19, "f8_e5m2"}, {20, "f8_e5m2fnuz"},
      {21, "u4"},   {22, "i4"},        {23, "f4_e2m1fn"},   {25, "u2"},      {26, "i2"}};
  return kNames;
}

/// Converts `value` to the type in the record. Values that cannot be converted are returned unchanged, and
/// complete_attributes refuses them.
Attribute as_wanted(const Attribute& value, const AttributeInfo& info) {
  const Attribute& wanted = info.default_value;
  if (const auto* text = std::get_if<std::string>(&value); text != nullptr && kCodeTypes.contains(*text)) {
    const std::string& ours = kCodeTypes.find(*text)->second;
    if (std::find(info.choices.begin(), info.choices.end(), ours) != info.choices.end()) return ours;
  }
  const auto* integer = std::get_if<int64_t>(&value);
  if (integer != nullptr && std::holds_alternative<bool>(wanted)) return *integer != 0;
  if (integer != nullptr && std::holds_alternative<std::string>(wanted) && onnx_dtypes().contains(*integer))
    return onnx_dtypes().at(*integer);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&wanted); integer != nullptr && list != nullptr)
    return std::vector<int64_t>(std::max<size_t>(list->size(), 1), *integer);
  const auto* real = std::get_if<double>(&value);
  if (real != nullptr && std::holds_alternative<int64_t>(wanted) && *real == std::trunc(*real))
    return static_cast<int64_t>(*real);
  return value;
}

class Former {
 public:
  Former(const GoldenCase& golden, const std::string& where)
      : golden_(golden), where_(where), info_(operator_of(golden, where)), entry_(entry_of(info_, golden.op)) {
    form_.problem.info = &info_;
  }

  GoldenForm form() {
    take_attributes();
    take_operands();
    take_results();
    return std::move(form_);
  }

 private:
  const std::string& theirs(const std::string& ours) const {
    for (const auto& [name, other] : entry_.names) {
      if (name == ours) return other;
    }
    return ours;
  }

  void take_attributes() {
    Attributes given;
    for (const auto& [name, value] : golden_.attributes) {
      const auto ours = std::find_if(info_.attributes.begin(), info_.attributes.end(),
                                     [&, key = &name](const AttributeInfo& a) { return theirs(a.name) == *key; });
      if (ours != info_.attributes.end()) {
        given[ours->name] = as_wanted(value, *ours);
      } else if (!kRemarks.contains(name)) {
        fail(errors::golden_member_unknown(where_, fmt::format("attribute '{}'", name), info_.name));
      }
    }
    for (const AttributeInfo& attribute : info_.attributes) {
      const Tensor* stored = result_named_by(attribute.name);
      if (stored != nullptr && !given.contains(attribute.name))
        given[attribute.name] = std::string(name(stored->dtype()));
    }
    form_.problem.use.attributes = complete_attributes(info_, std::move(given), where_);
  }

  /// For an attribute such as zero_point_type: the stored result whose type it selects, here zero_point.
  const Tensor* result_named_by(const std::string& attribute) const {
    if (!attribute.ends_with("_type")) return nullptr;
    const std::string port = attribute.substr(0, attribute.size() - std::string_view("_type").size());
    return info_.output(port) < 0 ? nullptr : find(golden_.out, theirs(port));
  }

  /// A state that is empty before the case but not after it has no observations yet. Its extremes are infinite.
  Tensor unseen(const std::string& port, const Tensor& tensor) const {
    const Tensor* after = find(golden_.out, port);
    if (tensor.size() > 0 || after == nullptr || after->size() == 0 || tensor.dtype() != DType::f32) return tensor;
    Tensor state(DType::f32, after->dims());
    const float infinity = std::numeric_limits<float>::infinity();
    std::ranges::fill(state.data<float>(), port.starts_with("min") ? infinity : -infinity);
    return state;
  }

  void add_operand(const Tensor& tensor) {
    form_.operands.push_back(tensor);
    form_.problem.use.in.push_back(tensor.defined() ? std::optional(tensor.type()) : std::nullopt);
  }

  void take_operands() {
    std::set<std::string> taken = {"dy"};
    for (size_t i = 0; i < info_.inputs.size(); ++i) {
      const PortInfo& port = info_.inputs[i];
      taken.insert(theirs(port.name));
      const std::vector<Tensor>* list = find(golden_.in, theirs(port.name));
      if (port.variadic) {
        if (list != nullptr) std::for_each(list->begin(), list->end(), [this](const Tensor& t) { add_operand(t); });
        if (list == nullptr) take_rest(taken);
      } else {
        const bool there = list != nullptr && info_.has_input(static_cast<int>(i), form_.problem.use.attributes);
        add_operand(there ? unseen(theirs(port.name), list->front()) : Tensor());
      }
    }
    for (const auto& [name, tensors] : golden_.in) {
      if (!taken.contains(name))
        fail(errors::golden_member_unknown(where_, fmt::format("input '{}'", name), info_.name));
    }
    if (const auto* out_grad = find(golden_.in, std::string("dy"))) form_.out_grad = out_grad->front();
  }

  /// A variadic port with its operands under separate names: takes all remaining operands, in the order of the file.
  void take_rest(std::set<std::string>& taken) {
    for (const auto& [name, tensors] : golden_.in) {
      if (taken.insert(name).second) add_operand(tensors.front());
    }
  }

  void take_results() {
    for (const auto& [name, tensor] : golden_.out) {
      if (take_output(name, tensor) || take_gradient(name, tensor) || take_dequantized(name, tensor)) continue;
      fail(errors::golden_member_unknown(where_, fmt::format("output '{}'", name), info_.name));
    }
  }

  bool take_output(const std::string& name, const Tensor& tensor) {
    for (size_t port = 0; port < info_.outputs.size(); ++port) {
      if (theirs(info_.outputs[port].name) != name) continue;
      form_.results.push_back({static_cast<int>(port), tensor});
      return true;
    }
    return false;
  }

  /// "dscale" is the gradient of the input "scale".
  bool take_gradient(const std::string& name, const Tensor& tensor) {
    for (size_t i = 0; i < info_.inputs.size(); ++i) {
      if ("d" + theirs(info_.inputs[i].name) != name) continue;
      form_.gradients.push_back({i, tensor});
      return true;
    }
    return false;
  }

  /// "y" of PyTorch's quantize_per_tensor and quantize_per_channel contains the dequantized values of the codes.
  bool take_dequantized(const std::string& name, const Tensor& tensor) {
    if (&info_ == &ops::QuantizePerTensor::record()) form_.inverse = &ops::DequantizePerTensor::record();
    if (&info_ == &ops::QuantizePerChannel::record()) form_.inverse = &ops::DequantizePerChannel::record();
    form_.dequantized = tensor;
    return name == "y" && form_.inverse != nullptr;
  }

  template <class Value>
  static const Value* find(const std::vector<std::pair<std::string, Value>>& list, const std::string& name) {
    const auto found = std::find_if(list.begin(), list.end(), [&](const auto& item) { return item.first == name; });
    return found == list.end() ? nullptr : &found->second;
  }

  const GoldenCase& golden_;
  const std::string& where_;
  const OpInfo& info_;
  const ForeignInfo& entry_;
  GoldenForm form_;
};

}  // namespace

const OpInfo& operator_of(const GoldenCase& golden, const std::string& where) {
  for (const std::string_view format : kFormats) {
    if (const OpInfo* info = find_foreign_operator(format, golden.op)) return *info;
  }
  std::vector<std::string> known;
  for (const OpInfo& info : all_operators()) {
    for (const ForeignInfo& entry : info.foreign) {
      if (std::find(kFormats.begin(), kFormats.end(), entry.format) != kFormats.end()) known.push_back(entry.op);
    }
  }
  fail(errors::golden_operator_unknown(where, golden.op, did_you_mean(golden.op, known)));
}

GoldenForm form_of(const GoldenCase& golden, const std::string& where) { return Former(golden, where).form(); }

}  // namespace halfstep::verify
