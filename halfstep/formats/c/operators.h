// The C form of every operator of an integer program. Internal to this room.
#pragma once

#include <functional>

#include "halfstep/formats/c/body.h"
#include "halfstep/formats/c/nests.h"

namespace halfstep::formats::c {

/// Adds the calls for `op`. Throws unsupported, naming the operator, if it has no form in C.
void add_operator(Body& body, Op op);

// One function for each kind, in a file of that name.
void add_layer(Body& body, Op op);
void add_sum(Body& body, Op op);
void add_product(Body& body, Op op);
void add_rescale(Body& body, Op op);
void add_lookup(Body& body, Op op);
void add_max_pool(Body& body, Op op);
void add_average(Body& body, Op op);
void add_softmax(Body& body, Op op);
void add_norm(Body& body, Op op);
void add_matmul(Body& body, Op op);
void add_mean(Body& body, Op op);
void add_move(Body& body, Op op);
void add_quantize(Body& body, Op op);
void add_dequantize(Body& body, Op op);

// Integers and conditions.
/// Whether `op` computes on integers or conditions, or by a computed condition.
bool is_of_wholes(Op op);
void add_wholes(Body& body, Op op);
/// For computed indices.
void add_gather(Body& body, Op op);
void add_gather_elements(Body& body, Op op);
void add_gather_blocks(Body& body, Op op);
void add_scatter_elements(Body& body, Op op);
void add_scatter_blocks(Body& body, Op op);
void add_unpool(Body& body, Op op);

// Places of codes.
void add_max_places(Body& body, Op op);
void add_place_of(Body& body, Op op);
void add_sorted(Body& body, Op op);
void add_running(Body& body, Op op);

// Float fallback operators.
/// Rejects operands and results other than float32.
void require_float32(Op op);
void add_pointwise(Body& body, Op op);
void add_float_layer(Body& body, Op op);
void add_float_mean(Body& body, Op op);
void add_reduction(Body& body, Op op);
void add_resize(Body& body, Op op);
void add_float_product(Body& body, Op op);
void add_float_softmax(Body& body, Op op);

/// Adds the calls for the operations of a region.
using AddRegion = std::function<void(const Block& region)>;
/// Adds regions as blocks of C. `program` is the program's name in capitals.
void add_flow(Body& body, Op op, const std::string& program, const AddRegion& add_region);
/// Rejects all values whose extents only a run determines.
void require_known_extents(const Graph& graph);

/// Returns the memory of an operand: a value, or a tensor of the Model, which becomes the constant LAYER_`what`.
std::string memory_of(Body& body, Op op, Value value, const std::string& what);
/// Adds a constant with these contents, in image order if it is an image.
std::string contents_object(Body& body, const std::string& hint, const Tensor& contents, bool is_image);
/// Adds statements that move elements by these steps. `what` names the constants for it.
void say_steps(Body& body, const std::string& what, DType type, const std::vector<Step>& steps, int64_t count,
               const std::string& from, const std::string& to);

/// Adds the strides of two operands that broadcast to a result. Returns the address of the constant.
std::string broadcast_object(Body& body, Op op, Value a, Value b);

/// Return statements on the pointers `from` and `to` that quantize an argument of the network, or dequantize an output.
/// They convert between the network's order and memory.
std::string quantize_call(Body& body, Op quantize, const std::string& from, const std::string& to, bool reorders);
std::string dequantize_call(Body& body, Op dequantize, const std::string& from, const std::string& to, bool reorders);

/// Adds the constant with these loops, which are `count` in number.
std::string nests_object(Body& body, const std::string& hint, std::span<const Nest> nests);

/// A window over x, and the name of the constant.
struct WindowText {
  Dims kernel, stride, dilation, pad;
  int64_t groups = 1;
};
std::string window_object(Body& body, Op op, Value x, Value y, const WindowText& window);

}  // namespace halfstep::formats::c
