#include "halfstep/core/ir/model.h"

#include <unistd.h>

#include <fstream>

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
  model.notes["platform"] = "caf\xc3\xa9 \"int8\"";
  return model;
}

bool same_model(const Model& a, const Model& b) {
  return a.graph == b.graph && a.notes == b.notes &&
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && x.second.same_bits(y.second); });
}

/// The bytes of a file with `metadata` in place of the given keys; an empty text takes the key away. The checksum is
/// left as it was.
std::vector<std::byte> with_metadata(const std::map<std::string, std::string>& metadata) {
  io::TensorFile file = io::parse_safetensors(serialize(small()), "m");
  for (const auto& [key, text] : metadata) {
    file.metadata[key] = text;
    if (text.empty()) file.metadata.erase(key);
  }
  return io::serialize_safetensors(file);
}

std::string load_error(const std::vector<std::byte>& bytes) {
  return error_of([&] { deserialize(bytes, "m.safetensors"); });
}

TEST(Model, CheckComparesTensorsWithDeclarations) {
  const auto error = [](const std::function<void(Model&)>& damage) {
    Model model = small();
    check(model);
    damage(model);
    return error_of([&] { check(model); });
  };
  EXPECT_EQ(error([](Model& m) { m.tensors.erase("w"); }),
            "graph 'small': tensor 'w': found no contents, expected f32[2, 3]");
  EXPECT_EQ(error([](Model& m) { m.tensors["w"] = Tensor::scalar(1.0f); }),
            "graph 'small': tensor 'w': found contents of f32[1], expected f32[2, 3]");
  EXPECT_EQ(error([](Model& m) { m.tensors["v"] = Tensor::scalar(1.0f); }),
            "graph 'small': found contents of a tensor 'v', which is not declared");
  EXPECT_EQ(error([](Model& m) { m.tensors["codes"].data<int8_t>()[1] = 8; }),
            "graph 'small': tensor 'codes': found code 8 in an i4 tensor, expected -8 to 7");
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
  EXPECT_EQ(changed([](Model& m) { m.notes.clear(); }), digest_before);
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
    return error_of([&] { specialize(model, dims); });
  };
  EXPECT_EQ(error({{"x", {7, 4}}}), "graph 'small': argument 'x': found dims [7, 4], expected [?, 3]");
  EXPECT_EQ(error({{"x", {7}}}), "graph 'small': argument 'x': found dims [7], expected [?, 3]");
  EXPECT_EQ(error({{"x", {kUnknown, 3}}}), "graph 'small': argument 'x': found dims [?, 3], expected [?, 3]");
  EXPECT_EQ(error({}), "graph 'small': argument 'x': found dims [?, 3], expected them all known");
  EXPECT_EQ(error({{"xx", {7, 3}}}), "graph 'small': found dims for 'xx', which is not an argument, did you mean 'x'?");
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
      EXPECT_NE(error_of([&] { serialize(model); }).find("that is not UTF-8"), std::string::npos);
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
    const std::string error = load_error({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_TRUE(error.starts_with("m.safetensors: ")) << size << ": " << error;
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back({});
  EXPECT_NE(load_error(longer), "");
}

TEST(ModelFile, EveryFlippedBitIsFound) {
  const std::vector<std::byte> bytes = serialize(small());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::vector<std::byte> damaged = bytes;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    const std::string error = load_error(damaged);
    EXPECT_TRUE(error.starts_with("m.safetensors: ")) << "bit " << bit << ": " << error;
  }
}

TEST(ModelFile, Refuses) {
  EXPECT_EQ(load_error(with_metadata({{"halfstep.version", "7"}})),
            "m.safetensors: format version 7, this build reads up to 2");
  EXPECT_EQ(load_error(with_metadata({{"halfstep.version", "new"}})),
            "m.safetensors: found format version \"new\", expected a whole number from 1");
  EXPECT_EQ(load_error(with_metadata({{"halfstep.graph", ""}})),
            "m.safetensors: found no halfstep.graph in the metadata, expected a model file");
  EXPECT_EQ(load_error(with_metadata({{"halfstep.note.more", "text"}})),
            "m.safetensors: checksum differs, the file is damaged");
  EXPECT_EQ(load_error(with_metadata({{"halfstep.checksum", "short"}})),
            "m.safetensors: checksum differs, the file is damaged");
  EXPECT_EQ(load_error(with_metadata({{"halfstep.checksum", ""}})),
            "m.safetensors: found no halfstep.checksum in the metadata, expected a model file");
}

TEST(ModelFile, RefusesWhatItCouldNotRead) {
  Model model = small();
  model.graph.add_tensor("__metadata__", {DType::f32, {1}}, Role::constant);
  model.tensors["__metadata__"] = Tensor::scalar(1.0f);
  EXPECT_EQ(error_of([&] { serialize(model); }), "graph 'small': a file cannot hold a tensor called '__metadata__'");
  model = small();
  model.notes["bad"] = "\xff";
  EXPECT_EQ(error_of([&] { serialize(model); }), "graph 'small': found a tensor's name or a note that is not UTF-8");
}

/// Made from a network that shares "w", has other "codes" and one more tensor, whose name in a file is taken.
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
  network.notes["producer"] = "net";
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

TEST(ModelFile, OneWithoutASourceIsAsBefore) {
  const auto version = [](const Model& model) {
    return io::parse_safetensors(serialize(model), "m").metadata.at("halfstep.version");
  };
  EXPECT_EQ(version(small()), "1");
  EXPECT_EQ(version(with_source()), "2");
  EXPECT_FALSE(deserialize(serialize(small()), "m").source);
}

/// The message for a file with this metadata, under a checksum that is right.
std::string source_error(const std::map<std::string, std::string>& metadata) {
  io::TensorFile file = io::parse_safetensors(serialize(with_source()), "m");
  for (const auto& [key, text] : metadata) file.metadata[key] = text;
  return error_of([&] { detail::take_source(file, "m"); });
}

TEST(ModelFile, RefusesADamagedSource) {
  EXPECT_EQ(source_error({{"halfstep.source.graph", "graph g("}}),
            "m: source:1: found the end of the text, expected an argument");
  EXPECT_EQ(source_error({{"halfstep.source.tensors", "[1]"}}),
            "m: halfstep.source.tensors: found \"[1]\", expected names of tensors by name");
  EXPECT_EQ(source_error({{"halfstep.source.tensors", R"({"w": 7})"}}),
            "m: halfstep.source.tensors: found \"{\\\"w\\\": 7}\", expected names of tensors by name");
  EXPECT_EQ(source_error({{"halfstep.source.tensors", R"({"more": "nowhere"})"}}),
            "m: source: found no tensor 'nowhere'");
  EXPECT_EQ(source_error({{"halfstep.source.samples", R"({"x": "nowhere"})"}}), "m: source: found no tensor 'nowhere'");
  EXPECT_EQ(source_error({{"halfstep.source.tensors", R"({"codes": "w", "more": "w"})"}}),
            "m: tensor 'codes': found f32[2, 3], expected u8[3] with the 4-bit codes of [5]");
}

TEST(Model, CheckLooksAtTheSource) {
  const auto error = [](const std::function<void(Source&)>& damage) {
    Model model = with_source();
    check(model);
    Source source = *model.source;
    damage(source);
    model.source = std::make_shared<const Source>(source);
    return error_of([&] { check(model); });
  };
  EXPECT_EQ(error([](Source& s) { s.network.tensors.erase("w"); }),
            "source: graph 'before': tensor 'w': found no contents, expected f32[2, 3]");
  EXPECT_EQ(error([](Source& s) { s.network.source = std::make_shared<const Source>(); }),
            "source: graph 'before': found a source of a source, expected none");
  EXPECT_EQ(error([](Source& s) {
              s.samples["x"] = Tensor(DType::f32, {2, 4});
            }),
            "source: graph 'before': argument 'x': found samples f32[2, 4], expected f32[?, 3]");
  EXPECT_EQ(error([](Source& s) { s.samples["x"] = Tensor(DType::f32, {}); }),
            "source: graph 'before': argument 'x': found samples f32[], expected f32[?, 3]");
  EXPECT_EQ(error([](Source& s) {
              s.samples["y"] = Tensor(DType::f32, {2, 3});
            }),
            "source: graph 'before': found samples for 2 arguments, expected 1");
  EXPECT_EQ(error([](Source& s) {
              s.samples = {{"y", Tensor(DType::f32, {2, 3})}};
            }),
            "source: graph 'before': found no samples for argument 'x'");
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
  EXPECT_NE(error_of([&] { load_model(folder / "missing"); }), "");
}

}  // namespace
}  // namespace halfstep
