// Activations of recurrent layers, by their names in ONNX.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

/// An activation with its constants, and its derivative.
struct Gate {
  using Function = double (*)(double x, double alpha, double beta);
  Function function = nullptr, derivative = nullptr;
  double alpha = 0, beta = 0;
  double operator()(double x) const { return function(x, alpha, beta); }
  double slope(double x) const { return derivative(x, alpha, beta); }
};

/// The activations in order. Each takes its constants from the lists, or has its defaults.
std::vector<Gate> gates_of(const std::vector<std::string>& names, std::span<const double> alphas,
                           std::span<const double> betas);

Verdict accept_gate_names(const std::vector<std::string>& names);

}  // namespace halfstep::kernels
