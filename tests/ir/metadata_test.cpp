// Notes of a model that were edited, or belong to another network.
#include "halfstep/core/ir/metadata/code_formats.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/metadata/learned_quantizer.h"
#include "halfstep/core/ir/metadata/normalization.h"
#include "tests/ir/ir_test.h"

namespace halfstep {
namespace {

Model with_note(const std::string& note, const std::string& text) {
  Model model;
  model.graph.set_name("g");
  model.notes[note] = text;
  return model;
}

TEST(Metadata, MalformedNotesAreNamed) {
  EXPECT_EQ(diagnostic_of([] { normalizations(with_note("normalizations", "{}")); }),
            errors::note_malformed("g", "normalizations", "a list of normalizations"));
  EXPECT_EQ(diagnostic_of([] { float_operators(with_note("float_operators", "[]")); }),
            errors::note_malformed("g", "float_operators", "a list of names with reasons"));
}

TEST(Metadata, NotesNameTensorsOfTheirModel) {
  Model model = with_note("n", "");
  set_normalizations(model, {{.layer = "conv", .weight = "w"}});
  EXPECT_EQ(diagnostic_of([&] { normalizations(model); }),
            errors::note_without_tensor("g", "normalizations", "layer 'conv'", "w"));
  set_normalizations(model, {});
  LearnedQuantizer quantizer;
  quantizer.scale = "s";
  set_learned_quantizers(model, {quantizer});
  EXPECT_EQ(name_of([&] { learned_quantizers(model); }), "note_without_tensor");
}

TEST(Metadata, KindsAndEdges) {
  EXPECT_EQ(name_of([] { parse_quantizer_kind("lsqq"); }), "unknown_name");
  EXPECT_EQ(diagnostic_of([] { edge_scales(with_note("n", "")); }), errors::edge_scales_missing("g"));
}

}  // namespace
}  // namespace halfstep
