// Gradients of operators that write or read elements at indices. Updates are undone from the last to the first, in
// double, and each gradient is rounded once.
#include <algorithm>
#include <utility>

#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/tensor/places.h"

namespace halfstep::kernels {
namespace tensor {
namespace {

/// One update: `old` is the element before it, `grad` the gradient of the element after it, which becomes that of the
/// element before it. Returns the gradient of the update.
using Undo = double (*)(double old, double update, double& grad);

double take_all(double& grad) { return std::exchange(grad, 0.0); }

Undo undo_of(const std::string& reduction) {
  if (reduction == "add") return [](double, double, double& grad) { return grad; };
  if (reduction == "mul")
    return [](double old, double update, double& grad) {
      const double of_update = grad * old;
      grad *= update;
      return of_update;
    };
  if (reduction == "max")
    return [](double old, double update, double& grad) { return update > old ? take_all(grad) : 0.0; };
  if (reduction == "min")
    return [](double old, double update, double& grad) { return update < old ? take_all(grad) : 0.0; };
  return [](double, double, double& grad) { return take_all(grad); };
}

double redone(const std::string& reduction, double old, double update) {
  if (reduction == "add") return old + update;
  if (reduction == "mul") return old * update;
  if (reduction == "max") return update > old ? update : old;
  if (reduction == "min") return update < old ? update : old;
  return update;
}

/// Numbers of a call, in its scratch.
struct Undone {
  double* elements;  ///< the elements of x, then their gradients
  double* old;       ///< by update: the element before it
  int64_t* places;   ///< by update: its element

  template <class Typed>
  static size_t bytes(const Problem& problem) {
    const int64_t updates = count_elements(problem.in[Typed::in::updates]->dims);
    return static_cast<size_t>(count_elements(problem.in[Typed::in::x]->dims) + 2 * updates) * sizeof(double);
  }
  Undone(const Call& call, int64_t size, int64_t updates)
      : elements(reinterpret_cast<double*>(call.scratch)),
        old(elements + size),
        places(reinterpret_cast<int64_t*>(old + updates)) {}
};

/// visit_places(visit) calls visit(update, element of x) for all updates in order.
template <class Typed, class VisitPlaces>
void undo_updates(const Call& call, const std::string& reduction, const VisitPlaces& visit_places) {
  using In = typename Typed::in;
  using Out = typename Typed::out;
  const int64_t size = call.in[In::x].size(), count = call.in[In::updates].size();
  const Undone undone(call, size, count);
  const Undo undo = undo_of(reduction);
  with_plain(call.in[In::x].dtype, [&]<class X>() {
    const X *x = call.in[In::x].template as<const X>(), *updates = call.in[In::updates].template as<const X>();
    for (int64_t i = 0; i < size; ++i) undone.elements[i] = to_double(x[i]);
    visit_places([&](int64_t update, int64_t place) {
      undone.places[update] = place;
      undone.old[update] = undone.elements[place];
      undone.elements[place] = redone(reduction, undone.old[update], to_double(updates[update]));
    });
    with_any_float(call.out[0].dtype, [&]<class T>() {
      const T* out_grad = call.in[In::out_grad].template as<const T>();
      T *x_grad = call.out[Out::x_grad].template as<T>(), *updates_grad = call.out[Out::updates_grad].template as<T>();
      for (int64_t i = 0; i < size; ++i) undone.elements[i] = to_double(out_grad[i]);
      for (int64_t i = count; i-- > 0;) {
        double& grad = undone.elements[undone.places[i]];
        const double of_update = undo(undone.old[i], to_double(updates[i]), grad);
        if (updates_grad != nullptr) updates_grad[i] = from_double<T>(of_update);
      }
      for (int64_t i = 0; x_grad != nullptr && i < size; ++i) x_grad[i] = from_double<T>(undone.elements[i]);
    });
  });
}

Plan prepare_scatter_elements_grad(const Problem& problem) {
  return {.state = elements_state<ScatterElementsGrad>(problem),
          .scratch = Undone::bytes<ScatterElementsGrad>(problem)};
}

Status run_scatter_elements_grad(const Call& call, int, int64_t) {
  using In = ScatterElementsGrad::in;
  const auto& state = state_of<ElementsState>(call);
  const ConstView& view = call.in[In::indices];
  return with_index(view.dtype, [&]<class Index>() {
    const Index* indices = view.as<const Index>();
    if (Status status = check_indices(indices, view.size(), state.axis.extent); !status.ok()) return status;
    undo_updates<ScatterElementsGrad>(call, state.reduction, [&](const auto& visit) {
      for_each_element(state, [&](int64_t i, int64_t base) {
        visit(i, base + counted(static_cast<int64_t>(indices[i]), state.axis.extent) * state.axis.inner);
      });
    });
    return Status();
  });
}

Plan prepare_scatter_nd_grad(const Problem& problem) {
  using In = ScatterNdGrad::in;
  auto state = std::make_shared<Positions>(problem.in[In::x]->dims, problem.in[In::indices]->dims, 0);
  state->reduction = ScatterNdGrad(problem.attributes).reduction;
  return {.state = std::move(state), .scratch = Undone::bytes<ScatterNdGrad>(problem)};
}

Status run_scatter_nd_grad(const Call& call, int, int64_t) {
  const auto& positions = state_of<Positions>(call);
  const int64_t* indices = call.in[ScatterNdGrad::in::indices].as<const int64_t>();
  if (Status status = positions.check(indices); !status.ok()) return status;
  undo_updates<ScatterNdGrad>(call, positions.reduction, [&](const auto& visit) {
    for (int64_t i = 0; i < positions.count; ++i) {
      const int64_t first = positions.offset(indices, i);
      for (int64_t e = 0; e < positions.inner; ++e) visit(i * positions.inner + e, first + e);
    }
  });
  return {};
}

Plan prepare_gather_nd_grad(const Problem& problem) {
  using In = GatherNdGrad::in;
  const Dims &x = problem.in[In::x]->dims, &indices = problem.in[In::indices]->dims;
  return {.state = std::make_shared<Positions>(x, indices, GatherNdGrad(problem.attributes).batch_dims),
          .scratch = static_cast<size_t>(count_elements(x)) * sizeof(double)};
}

Status run_gather_nd_grad(const Call& call, int, int64_t) {
  using In = GatherNdGrad::in;
  const auto& positions = state_of<Positions>(call);
  const int64_t* indices = call.in[In::indices].as<const int64_t>();
  if (Status status = positions.check(indices); !status.ok()) return status;
  auto* sums = reinterpret_cast<double*>(call.scratch);
  const int64_t size = call.out[0].size();
  std::fill_n(sums, size, 0.0);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* out_grad = call.in[In::out_grad].as<const T>();
    for (int64_t i = 0; i < positions.count; ++i) {
      double* row = sums + positions.offset(indices, i);
      for (int64_t e = 0; e < positions.inner; ++e) row[e] += to_double(*out_grad++);
    }
    for (int64_t i = 0; i < size; ++i) call.out[0].as<T>()[i] = from_double<T>(sums[i]);
  });
  return {};
}

}  // namespace
}  // namespace tensor

using namespace tensor;  // NOLINT: only for the table below

extern const Kernel reference_scatter_elements_grad{"reference", accept_elements, prepare_scatter_elements_grad,
                                                    run_scatter_elements_grad};
extern const Kernel reference_scatter_nd_grad{"reference", accept_all, prepare_scatter_nd_grad, run_scatter_nd_grad};
extern const Kernel reference_gather_nd_grad{"reference", accept_all, prepare_gather_nd_grad, run_gather_nd_grad};

}  // namespace halfstep::kernels
