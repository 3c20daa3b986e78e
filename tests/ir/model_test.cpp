#include "halfstep/core/ir/model.h"

#include <unistd.h>

#include <fstream>

#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/safetensors.h"
#include "halfstep/core/ir/source_file.h"
#include "halfstep/core/ir/text/parse.h"
#include "tests/ir/ir_test.h"

namespace halfstep {
namespace {

constexpr const char* kText = R"(graph small(x: f32[?, 3]) {
  param @w: f32[2, 3]
  param @codes: i4[5]
  state @scale: f32[1]
  const @k: bool[2]
  a = linear(x, w=@w) at "net.py":3
  s = observe(a, in_scale=@scale) {is_test: true}
  return s
}
)";

Model small() {
  Model model;
  model.graph = parse(kText, "small.ir", {.locations = false});
  model.tensors["w"] = Tensor::of<float>(DType::f32, {2, 3}, std::vector<float>{1, -2, 3, 0.5f, -0.0f, 1e-40f});
  model.tensors["codes"] = Tensor::of<int8_t>(DType::i4, {5}, std::vector<int8_t>{-8, 7, 0, -1, 3});
  model.tensors["scale"] = Tensor::scalar(0.25f);
  model.tensors["k"] = Tensor(DType::boolean, {2});
  model.metadata.platform = PlatformRecord("caf\xc3\xa9 \"int8\"");
  return model;
}

bool same_model(const Model& a, const Model& b) {
  return a.graph == b.graph && a.metadata == b.metadata &&
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && x.second.same_bits(y.second); });
}

/// The bytes of a file with the given metadata keys replaced. An empty text removes the key. The checksum is left as it
/// was.
std::vector<std::byte> with_metadata(const std::map<std::string, std::string>& metadata) {
  io::TensorFile file = io::parse_safetensors(serialize(small()), "m");
  for (const auto& [key, text] : metadata) {
    file.metadata[key] = text;
    if (text.empty()) file.metadata.erase(key);
  }
  return io::serialize_safetensors(file);
}

Diagnostic load_error(const std::vector<std::byte>& bytes) {
  return diagnostic_of([&] { deserialize(bytes, "m.safetensors"); });
}

TEST(Model, CheckComparesTensorsWithDeclarations) {
  const auto error = [](const std::function<void(Model&)>& damage) {
    Model model = small();
    check(model);
    damage(model);
    return diagnostic_of([&] { check(model); });
  };
  EXPECT_EQ(error([](Model& m) { m.tensors.erase("w"); }),
            errors::tensor_contents("graph 'small': tensor 'w'", "no contents", "f32[2, 3]"));
  EXPECT_EQ(error([](Model& m) { m.tensors["w"] = Tensor::scalar(1.0f); }),
            errors::tensor_contents("graph 'small': tensor 'w'", "contents of f32[1]", "f32[2, 3]"));
  EXPECT_EQ(error([](Model& m) { m.tensors["v"] = Tensor::scalar(1.0f); }), errors::tensor_undeclared("small", "v"));
  EXPECT_EQ(error([](Model& m) { m.tensors["codes"].data<int8_t>()[1] = 8; }),
            errors::code_out_of_range("graph 'small': tensor 'codes'", 8, "i4", -8, 7));
}

TEST(Model, CloneSharesNothing) {
  const Model model = small();
  Model copy = clone(model);
  EXPECT_TRUE(same_model(copy, model));
  copy.tensors["w"].data<float>()[0] = 9;
  EXPECT_EQ(model.tensors.at("w").data<float>()[0], 1);
}

TEST(Model, DigestSeesTrainedBitsAlone) {
  const uint64_t digest_before = digest(small());
  const auto changed = [](const std::function<void(Model&)>& change) {
    Model model = small();
    change(model);
    return digest(model);
  };
  EXPECT_EQ(changed([](Model& m) { m.metadata = {}; }), digest_before);
  EXPECT_EQ(changed([](Model& m) { m.tensors["k"].raw()[0] = std::byte{1}; }), digest_before)
      << "constants are not trained";
  EXPECT_NE(changed([](Model& m) { m.tensors["w"].raw()[0] = std::byte{1}; }), digest_before);
  EXPECT_NE(changed([](Model& m) { m.tensors["scale"].raw()[0] = std::byte{1}; }), digest_before);
  EXPECT_EQ(digest_hex(small()).size(), 16u);
}

TEST(Model, Specialize) {
  const Model model = small();
  const Model fixed = specialize(model, {{"x", {7, 3}}});
  EXPECT_EQ(to_string(fixed.graph.outputs()[0].type()), "f32[7, 2]");
  EXPECT_EQ(to_string(model.graph.outputs()[0].type()), "f32[?, 2]");
  EXPECT_EQ(specialize(fixed, {}).graph, fixed.graph);
  const auto error = [&](const std::map<std::string, Dims>& dims) {
    return diagnostic_of([&] { specialize(model, dims); });
  };
  EXPECT_EQ(error({{"x", {7, 4}}}), errors::argument_dims("small", "x", "[7, 4]", "[?, 3]"));
  EXPECT_EQ(error({{"x", {7}}}), errors::argument_dims("small", "x", "[7]", "[?, 3]"));
  EXPECT_EQ(error({{"x", {kUnknown, 3}}}), errors::argument_dims("small", "x", "[?, 3]", "[?, 3]"));
  EXPECT_EQ(error({}), errors::argument_dims("small", "x", "[?, 3]", "them all known"));
  EXPECT_EQ(error({{"xx", {7, 3}}}), errors::not_an_argument("small", "xx", ", did you mean 'x'?"));
}

TEST(ModelFile, RoundTripToTheByte) {
  const Model model = small();
  const std::vector<std::byte> bytes = serialize(model);
  const Model again = deserialize(bytes, "dir/m.safetensors");
  EXPECT_TRUE(same_model(again, model));
  EXPECT_EQ(serialize(again), bytes);
  EXPECT_EQ(to_string(again.graph.op("a").location()), "net.py:3");
  EXPECT_EQ(to_string(again.graph.op("s").location()), "");
}

TEST(ModelFile, RandomGraphs) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Model model;
    model.graph = random_graph(seed);
    bool utf8 = true;
    for (const Value tensor : model.graph.tensors()) {
      utf8 = utf8 && tensor.name().find('\xff') == std::string::npos;
      model.tensors[tensor.name()] = Tensor(tensor.dtype(), tensor.dims());
    }
    if (!utf8) {
      EXPECT_EQ(name_of([&] { serialize(model); }), "text_not_utf8");
      continue;
    }
    EXPECT_TRUE(same_model(deserialize(serialize(model), "m"), model));
  }
}

TEST(ModelFile, PacksCodesTwoToAByte) {
  const io::TensorFile file = io::parse_safetensors(serialize(small()), "m");
  const Tensor& packed = file.tensors.at("codes");
  EXPECT_EQ(to_string(packed.type()), "u8[3]");
  EXPECT_EQ(packed.data<uint8_t>()[0], 0x78);
  EXPECT_EQ(packed.data<uint8_t>()[1], 0xF0);
  EXPECT_EQ(packed.data<uint8_t>()[2], 0x03);
}

TEST(ModelFile, EveryTruncationIsFound) {
  const std::vector<std::byte> bytes = serialize(small());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Diagnostic error = load_error({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_TRUE(error.where.starts_with("m.safetensors")) << size << ": " << error.message();
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back({});
  EXPECT_NE(load_error(longer), Diagnostic{});
}

TEST(ModelFile, EveryFlippedBitIsFound) {
  const std::vector<std::byte> bytes = serialize(small());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::vector<std::byte> damaged = bytes;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    const Diagnostic error = load_error(damaged);
    EXPECT_TRUE(error.where.starts_with("m.safetensors")) << "bit " << bit << ": " << error.message();
  }
}

TEST(ModelFile, Refuses) {
  EXPECT_EQ(load_error(with_metadata({{"halfstep.version", "7"}})), errors::model_version_newer("m.safetensors", 7, 3));
  EXPECT_EQ(load_error(with_metadata({{"halfstep.version", "new"}})),
            errors::model_version_malformed("m.safetensors", "\"new\""));
  EXPECT_EQ(load_error(with_metadata({{"halfstep.graph", ""}})),
            errors::not_a_model_file("m.safetensors", "halfstep.graph"));
  EXPECT_EQ(load_error(with_metadata({{"halfstep.more", "text"}})), errors::model_checksum("m.safetensors"));
  EXPECT_EQ(load_error(with_metadata({{"halfstep.checksum", "short"}})), errors::model_checksum("m.safetensors"));
  EXPECT_EQ(load_error(with_metadata({{"halfstep.checksum", ""}})),
            errors::not_a_model_file("m.safetensors", "halfstep.checksum"));
}

TEST(ModelFile, RefusesWhatItCouldNotRead) {
  Model model = small();
  model.graph.add_tensor("__metadata__", {DType::f32, {1}}, Role::constant);
  model.tensors["__metadata__"] = Tensor::scalar(1.0f);
  EXPECT_EQ(diagnostic_of([&] { serialize(model); }), errors::reserved_tensor_name("small", "__metadata__"));
  model = small();
  model.metadata.notes["bad"] = "\xff";
  EXPECT_EQ(diagnostic_of([&] { serialize(model); }), errors::text_not_utf8("small"));
  EXPECT_EQ(diagnostic_of([&] { metadata_json(model); }), errors::text_not_utf8("small"));
}

/// A Model with a source model. They share "w", have different "codes", and the source has one more tensor, whose name
/// in a file is taken.
Model with_source() {
  Model network;
  network.graph = parse(R"(graph before(x: f32[?, 3]) {
  param @w: f32[2, 3]
  param @codes: i4[5]
  param @more: f32[1]
  a = linear(x, w=@w) at "net.py":3
  return a
})",
                        "before.ir", {.locations = false});
  network.tensors["w"] = small().tensors.at("w");
  network.tensors["codes"] = Tensor::of<int8_t>(DType::i4, {5}, std::vector<int8_t>{1, 2, 3, 4, 5});
  network.tensors["more"] = Tensor::scalar(4.0f);
  network.metadata.notes["producer"] = "net";
  Model model = small();
  model.graph.add_tensor("halfstep.source/more", {DType::f32, {1}}, Role::constant);
  model.tensors["halfstep.source/more"] = Tensor::scalar(5.0f);
  const Tensor samples = Tensor::of<float>(DType::f32, {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  model.source = std::make_shared<const Source>(Source{std::move(network), {{"x", samples}}});
  return model;
}

TEST(ModelFile, KeepsTheSource) {
  const Model model = with_source();
  const std::vector<std::byte> bytes = serialize(model);
  const Model again = deserialize(bytes, "m");
  EXPECT_TRUE(same_model(again, model));
  ASSERT_TRUE(again.source);
  EXPECT_TRUE(same_model(again.source->network, model.source->network));
  EXPECT_EQ(to_string(again.source->network.graph.op("a").location()), "net.py:3");
  ASSERT_EQ(again.source->sample_count(), 2);
  EXPECT_TRUE(again.source->samples.at("x").same_bits(model.source->samples.at("x")));
  EXPECT_EQ(serialize(again), bytes);
  EXPECT_EQ(again.tensors.at("w").raw(), again.source->network.tensors.at("w").raw()) << "stored once";
  const auto names = io::parse_safetensors(bytes, "m").tensors;
  EXPECT_EQ(names.size(), 5U + 2U + 1U);
  EXPECT_TRUE(names.contains("halfstep.source/more.2")) << "a name that the user has is left to him";
  EXPECT_EQ(clone(model).source, model.source);
}

/// The error of a file with this metadata and a correct checksum.
Diagnostic source_error(const std::map<std::string, std::string>& metadata) {
  io::TensorFile file = io::parse_safetensors(serialize(with_source()), "m");
  for (const auto& [key, text] : metadata) file.metadata[key] = text;
  return diagnostic_of([&] { detail::take_source(file, kModelFileVersion, "m"); });
}

TEST(ModelFile, HasASourceWhereTheModelHas) {
  EXPECT_FALSE(deserialize(serialize(small()), "m").source);
  EXPECT_EQ(source_error({{"halfstep.source.metadata", "{}"}}),
            errors::metadata_value("m: halfstep.source.metadata.stage", "null", "one of 3 names, such as 'float'"));
}

TEST(ModelFile, RefusesADamagedSource) {
  EXPECT_EQ(source_error({{"halfstep.source.graph", "graph g("}}),
            errors::text_unexpected("m: source:1", "the end of the text", "an argument"));
  EXPECT_EQ(source_error({{"halfstep.source.tensors", "[1]"}}),
            errors::source_list_malformed("m", "halfstep.source.tensors", "\"[1]\""));
  EXPECT_EQ(source_error({{"halfstep.source.tensors", R"({"w": 7})"}}),
            errors::source_list_malformed("m", "halfstep.source.tensors", "\"{\\\"w\\\": 7}\""));
  EXPECT_EQ(source_error({{"halfstep.source.tensors", R"({"more": "nowhere"})"}}),
            errors::source_tensor_missing("m", "nowhere"));
  EXPECT_EQ(source_error({{"halfstep.source.samples", R"({"x": "nowhere"})"}}),
            errors::source_tensor_missing("m", "nowhere"));
  EXPECT_EQ(source_error({{"halfstep.source.tensors", R"({"codes": "w", "more": "w"})"}}),
            errors::packed_codes_size("m: tensor 'codes'", "f32[2, 3]", 3, 4, "[5]"));
}

TEST(Model, CheckLooksAtTheSource) {
  const auto error = [](const std::function<void(Source&)>& damage) {
    Model model = with_source();
    check(model);
    Source source = *model.source;
    damage(source);
    model.source = std::make_shared<const Source>(source);
    return diagnostic_of([&] { check(model); });
  };
  EXPECT_EQ(error([](Source& s) { s.network.tensors.erase("w"); }),
            errors::tensor_contents("source: graph 'before': tensor 'w'", "no contents", "f32[2, 3]"));
  EXPECT_EQ(error([](Source& s) { s.network.source = std::make_shared<const Source>(); }),
            prefixed("source", Error(errors::source_of_source("before"))).diagnostics().front());
  EXPECT_EQ(error([](Source& s) {
              s.samples["x"] = Tensor(DType::f32, {2, 4});
            }),
            errors::source_samples("source: graph 'before': argument 'x'", "samples f32[2, 4]", "f32[?, 3]"));
  EXPECT_EQ(error([](Source& s) { s.samples["x"] = Tensor(DType::f32, {}); }),
            errors::source_samples("source: graph 'before': argument 'x'", "samples f32[]", "f32[?, 3]"));
  EXPECT_EQ(error([](Source& s) {
              s.samples["y"] = Tensor(DType::f32, {2, 3});
            }),
            errors::source_samples("source: graph 'before'", "samples for 2 arguments", 1));
  EXPECT_EQ(error([](Source& s) {
              s.samples = {{"y", Tensor(DType::f32, {2, 3})}};
            }),
            errors::source_samples("source: graph 'before': argument 'x'", "no samples", "f32[?, 3]"));
}

struct ModelFolder : testing::Test {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("halfstep_model_test." + std::to_string(getpid()));
  void SetUp() override { std::filesystem::create_directory(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
};

TEST_F(ModelFolder, SaveAndLoad) {
  const std::filesystem::path path = folder / "m.safetensors";
  save_model(small(), path);
  EXPECT_TRUE(same_model(load_model(path), small()));
  EXPECT_EQ(io::read_file(path), serialize(small()));
  EXPECT_TRUE(is_model_file(path));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "no temporary is left";
}

TEST_F(ModelFolder, OtherFilesAreNoModels) {
  const auto write = [&](const char* name, std::span<const std::byte> bytes) {
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return folder / name;
  };
  EXPECT_FALSE(is_model_file(folder));
  EXPECT_FALSE(is_model_file(folder / "missing"));
  EXPECT_FALSE(is_model_file(write("empty", {})));
  EXPECT_FALSE(is_model_file(write("text", std::as_bytes(std::span("graph g(x: f32[1]) { return x }")))));
  EXPECT_FALSE(
      is_model_file(write("plain.safetensors", io::serialize_safetensors({{{"w", Tensor::scalar(1.0f)}}, {}}))));
  EXPECT_EQ(name_of([&] { load_model(folder / "missing"); }), "cannot_be_read");
}

}  // namespace
}  // namespace halfstep
