// Paddle programs built in a test.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "halfstep/formats/paddle/paddle_file.h"
#include "program.pb.h"

namespace halfstep::formats::paddle::test {

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// A ProgramDesc with one block: x [2, 3] is fed.
class ProgramText {
 public:
  ProgramText() {
    desc.add_blocks()->set_idx(0);
    var("x", {2, 3});
    proto::OpDesc& feed = op("feed", {{"X", "feed"}}, {{"Out", "x"}});
    integer(feed, "col", 0);
  }

  proto::VarDesc& var(const std::string& name, std::vector<int64_t> dims, int type = 5, bool persistable = false) {
    proto::VarDesc& var = *desc.mutable_blocks(0)->add_vars();
    var.set_name(name);
    var.set_persistable(persistable);
    var.mutable_type()->set_type(7);
    auto& tensor = *var.mutable_type()->mutable_dense_tensor()->mutable_tensor();
    tensor.set_data_type(type);
    tensor.mutable_dims()->Add(dims.begin(), dims.end());
    return var;
  }

  using Slots = std::vector<std::pair<std::string, std::string>>;
  proto::OpDesc& op(const std::string& type, const Slots& inputs, const Slots& outputs) {
    proto::OpDesc& op = *desc.mutable_blocks(0)->add_ops();
    op.set_type(type);
    const auto add = [](auto* list, const Slots& slots) {
      for (const auto& [slot, value] : slots) {
        auto& added = *list->Add();
        added.set_parameter(slot);
        added.add_arguments(value);
      }
    };
    add(op.mutable_inputs(), inputs);
    add(op.mutable_outputs(), outputs);
    return op;
  }

  static proto::OpDesc::Attr& integer(proto::OpDesc& op, const std::string& name, int value) {
    proto::OpDesc::Attr& attr = *op.add_attrs();
    attr.set_name(name);
    attr.set_type(0);
    attr.set_i(value);
    return attr;
  }

  void fetch(const std::string& name) { integer(op("fetch", {{"X", name}}, {{"Out", "fetch"}}), "col", 0); }

  std::string text() const { return desc.SerializeAsString(); }

  proto::ProgramDesc desc;
};

/// A tensor in the format of a parameters file.
inline std::string record(const std::vector<float>& values, std::vector<int64_t> dims) {
  proto::TensorDesc desc;
  desc.set_data_type(5);
  desc.mutable_dims()->Add(dims.begin(), dims.end());
  const std::string description = desc.SerializeAsString();
  std::string bytes(16, '\0');  // version, levels, version
  const auto size = static_cast<int32_t>(description.size());
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += description;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return bytes;
}

/// A PIR program of these operators, which are JSON texts.
inline std::string pir(const std::string& ops) {
  return R"({"base_code":{"magic":"pir","trainable":true,"version":4},"program":{"regions":[{"#":"region_0","blocks":[)"
         R"({"#":"block_0","args":[],"ops":[)" +
         ops + "]}]}]}}";
}

/// "TT" of a float32 tensor.
inline std::string type_text(const std::string& dims) {
  return R"({"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[)" + dims + R"(],"NCHW",[],0]})";
}

/// Value 1 is x [2, 3], which is fed.
inline std::string data() {
  return R"({"#":"1.data","A":[{"N":"name","AT":{"#":"0.a_str","D":"x"}}],"I":[],"O":[{"%":1,"TT":)" +
         type_text("2,3") + "}]}";
}

/// An operator from value 1 to value 2.
inline std::string op(const std::string& name, const std::string& attributes = "",
                      const std::string& operands = R"({"%":1})") {
  return R"({"#":")" + name + R"(","A":[)" + attributes + R"(],"I":[)" + operands + R"(],"O":[{"%":2,"TT":)" +
         type_text("2,3") + "}]}";
}

inline std::string fetch(int id) {
  return R"({"#":"1.fetch","A":[{"N":"col","AT":{"#":"0.a_i32","D":0}}],"I":[{"%":)" + std::to_string(id) +
         R"(}],"O":[{"%":9,"TT":)" + type_text("2,3") + "}]}";
}

}  // namespace halfstep::formats::paddle::test
