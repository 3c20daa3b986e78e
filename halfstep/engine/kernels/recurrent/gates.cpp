#include "halfstep/engine/kernels/recurrent/gates.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace halfstep::kernels {
namespace {

struct GateKind {
  std::string_view name;
  int constants;  ///< number of constants that it takes from the lists
  Gate gate;      ///< functions with default constants
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double sigmoid_slope(double x) { return sigmoid(x) * sigmoid(-x); }
double tanh_slope(double x) { return 1 - std::tanh(x) * std::tanh(x); }
bool is_between(double x, double low, double high) { return x > low && x < high; }

constexpr std::array<GateKind, 11> kGates = {{
    {"sigmoid",
     0,
     {[](double x, double, double) { return sigmoid(x); }, [](double x, double, double) { return sigmoid_slope(x); }}},
    {"tanh",
     0,
     {[](double x, double, double) { return std::tanh(x); }, [](double x, double, double) { return tanh_slope(x); }}},
    {"relu",
     0,
     {[](double x, double, double) { return x < 0 ? 0 : x; },
      [](double x, double, double) { return x > 0 ? 1.0 : 0.0; }}},
    {"softsign",
     0,
     {[](double x, double, double) { return x / (1 + std::fabs(x)); },
      [](double x, double, double) { return 1 / ((1 + std::fabs(x)) * (1 + std::fabs(x))); }}},
    {"softplus",
     0,
     {[](double x, double, double) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); },
      [](double x, double, double) { return sigmoid(x); }}},
    {"affine",
     2,
     {[](double x, double alpha, double beta) { return alpha * x + beta; },
      [](double, double alpha, double) { return alpha; }, 1, 0}},
    {"leakyrelu",
     1,
     {[](double x, double alpha, double) { return x < 0 ? alpha * x : x; },
      [](double x, double alpha, double) { return x < 0 ? alpha : 1; }, 0.01, 0}},
    {"thresholdedrelu",
     1,
     {[](double x, double alpha, double) { return x > alpha ? x : 0; },
      [](double x, double alpha, double) { return x > alpha ? 1.0 : 0.0; }, 1, 0}},
    {"scaledtanh",
     2,
     {[](double x, double alpha, double beta) { return alpha * std::tanh(beta * x); },
      [](double x, double alpha, double beta) { return alpha * beta * tanh_slope(beta * x); }, 1, 1}},
    {"hardsigmoid",
     2,
     {[](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); },
      [](double x, double a, double b) { return is_between(a * x + b, 0, 1) ? a : 0; }, 0.2, 0.5}},
    {"elu",
     1,
     {[](double x, double alpha, double) { return x < 0 ? alpha * std::expm1(x) : x; },
      [](double x, double alpha, double) { return x < 0 ? alpha * std::exp(x) : 1; }, 1, 0}},
}};

const GateKind* find_gate(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found =
      std::find_if(kGates.begin(), kGates.end(), [&](const GateKind& kind) { return kind.name == name; });
  return found == kGates.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Gate> gates_of(const std::vector<std::string>& names, std::span<const double> alphas,
                           std::span<const double> betas) {
  std::vector<Gate> gates;
  size_t alpha = 0, beta = 0;
  for (const std::string& name : names) {
    const GateKind& kind = *find_gate(name);
    Gate gate = kind.gate;
    if (kind.constants >= 1 && alpha < alphas.size()) gate.alpha = alphas[alpha++];
    if (kind.constants >= 2 && beta < betas.size()) gate.beta = betas[beta++];
    gates.push_back(gate);
  }
  return gates;
}

Verdict accept_gate_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (find_gate(name) == nullptr) return refuse(errors::pointwise_function_unknown(name));
  }
  return accept();
}

}  // namespace halfstep::kernels
