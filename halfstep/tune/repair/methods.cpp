#include "halfstep/tune/repair/methods.h"

namespace halfstep::repair {
namespace {

/// Distances below which `auto` skips a method. They are mean squares: 3 % and 10 % of the outputs' spread. Such a
/// network nearly always decides like the float network.
constexpr double kNear = 1e-3, kFar = 1e-2;

constexpr Method kMethods[] = {
    {{"equalize", "scales the channels of neighbouring layers to similar magnitudes, by powers of two", false},
     &equalize},
    {{"smooth", "moves outlying channels of activations into the weights that read them", false}, &smooth},
    {{"ranges", "searches ranges: percentiles, KL, MSE, and for weights the errors of layer outputs", false},
     &search_ranges},
    {{"batchnorm", "matches mean and variance of each channel of a layer to the float network", false},
     &match_statistics},
    {{"bias", "corrects biases by the shift of each channel's mean that rounding causes", false}, &correct_biases},
    {{"blocks", "learns step sizes of weights and activations, block by block", true, kNear}, &learn_steps},
    {{"adaround", "learns layer by layer whether each weight is rounded up or down (AdaRound)", true, kNear},
     &learn_adaround},
    {{"brecq",
      "learns the rounding of weights block by block, with rounded activations whose step sizes are learned too "
      "(BRECQ)",
      true, kNear},
     &learn_brecq},
    {{"qdrop", "as brecq, with a random half of the activations' elements unrounded (QDrop)", true, kNear},
     &learn_qdrop},
    {{"wide", "uses 16 bits for the activations that gain most, if the platform has them", false, kFar},
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
