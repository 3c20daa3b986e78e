#include "halfstep/tune/repair/methods.h"

namespace halfstep::repair {
namespace {

/// Distances below which `auto` skips a method. They are mean squares: 3 % and 10 % of the outputs' spread. Such a
/// network nearly always decides like the float network.
constexpr double kNear = 1e-3, kFar = 1e-2;

constexpr Method kMethods[] = {
    {{"equalize", "brings the channels of neighbouring layers to one magnitude, by powers of two", false}, &equalize},
    {{"smooth", "moves outlying channels of activations into the weights that read them", false}, &smooth},
    {{"ranges", "searches ranges: percentiles, KL, MSE, and of weights what outputs make of them", false},
     &search_ranges},
    {{"batchnorm", "gives each channel of a layer the mean and variance that it has in float", false},
     &match_statistics},
    {{"bias", "takes the shift that rounding makes of a channel's mean out of its bias", false}, &correct_biases},
    {{"blocks", "learns step sizes of weights and activations, block by block", true, kNear}, &learn_steps},
    {{"adaround", "learns layer by layer whether each weight is rounded up or down (AdaRound)", true, kNear},
     &learn_adaround},
    {{"brecq", "the same block by block with rounded activations, whose step sizes learn too (BRECQ)", true, kNear},
     &learn_brecq},
    {{"qdrop", "as brecq, with half of the activations' elements unrounded by chance (QDrop)", true, kNear},
     &learn_qdrop},
    {{"wide", "gives 16 bits to the activations that gain most by them, where the platform has such", false, kFar},
     &widen_activations},
};

}  // namespace

std::span<const Method> methods() { return kMethods; }

std::vector<MethodInfo> method_list() {
  std::vector<MethodInfo> list;
  for (const Method& method : kMethods) list.push_back(method.info);
  return list;
}

}  // namespace halfstep::repair
