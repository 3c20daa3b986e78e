#include "halfstep/core/ir/region.h"

namespace halfstep {
namespace {

/// Puts a region in the place of the body for the lifetime of this object.
class AsBody {
 public:
  AsBody(Graph& graph, Op holder, size_t region) : graph_(graph), holder_(holder), region_(region) {
    graph_.exchange_body(holder_, region_);
  }
  ~AsBody() { graph_.exchange_body(holder_, region_); }
  AsBody(const AsBody&) = delete;
  AsBody& operator=(const AsBody&) = delete;

 private:
  Graph& graph_;
  Op holder_;
  size_t region_;
};

}  // namespace

void in_each_block(Graph& graph, const std::function<void()>& run) {
  run();
  for (const Op op : graph.ops()) {
    for (size_t region = 0; region < op.regions().size(); ++region) {
      const AsBody as_body(graph, op, region);
      in_each_block(graph, run);
    }
  }
}

Model region_model(const Model& model, const Block& region, std::string name) {
  Model made{region_graph(region, std::move(name)), {}, model.metadata, {}};
  for (const Value tensor : made.graph.tensors()) made.tensors.emplace(tensor.name(), model.tensors.at(tensor.name()));
  return made;
}

}  // namespace halfstep
