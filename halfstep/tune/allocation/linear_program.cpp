#include "halfstep/tune/allocation/linear_program.h"

#include <CbcHeuristicDiveCoefficient.hpp>
#include <CbcModel.hpp>
#include <CglKnapsackCover.hpp>
#include <CglProbing.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>
#include <algorithm>
#include <cmath>

namespace halfstep::allocation {
namespace {

constexpr double kGap = 1e-4;                         ///< relative to the objective
constexpr int kWork = 2'000'000, kLeastNodes = 1000;  ///< limits of the search: nodes times variables, and a minimum of
                                                      ///< nodes

}  // namespace

int Program::add(double cost, bool is_whole, double most) {
  costs_.push_back(cost);
  most_.push_back(most);
  whole_.push_back(is_whole);
  return static_cast<int>(costs_.size()) - 1;
}

void Program::require(Terms terms, double low, double high) { rows_.push_back({std::move(terms), low, high}); }

Solution Program::solve() const {
  // The solver's tolerances are absolute. Costs and rows are scaled, so that the tolerances are small relative to them.
  double largest = 0;
  for (const double cost : costs_) largest = std::max(largest, std::abs(cost));
  const double factor = largest > 0 ? 1000 / largest : 1;
  const int columns = static_cast<int>(costs_.size());
  std::vector<double> low(costs_.size(), 0.0), objective;
  for (const double cost : costs_) objective.push_back(cost * factor);

  OsiClpSolverInterface solver;
  solver.messageHandler()->setLogLevel(0);
  CoinPackedMatrix matrix(false, 0, 0);
  matrix.setDimensions(0, columns);
  std::vector<double> row_low, row_high;
  for (const Row& row : rows_) {
    double scale = 0;
    for (const auto& [variable, weight] : row.terms) scale = std::max(scale, std::abs(weight));
    scale = scale > 0 ? 1 / scale : 1;
    std::vector<int> indices;
    std::vector<double> weights;
    for (const auto& [variable, weight] : row.terms) {
      indices.push_back(variable);
      weights.push_back(weight * scale);
    }
    matrix.appendRow(static_cast<int>(indices.size()), indices.data(), weights.data());
    row_low.push_back(row.low * scale);
    row_high.push_back(row.high * scale);
  }
  solver.loadProblem(matrix, low.data(), most_.data(), objective.data(), row_low.data(), row_high.data());
  for (int i = 0; i < columns; ++i) {
    if (whole_[static_cast<size_t>(i)]) solver.setInteger(i);
  }
  CbcModel model(solver);
  model.setLogLevel(0);
  model.solver()->messageHandler()->setLogLevel(0);
  CglKnapsackCover covers;
  CglProbing probing;
  model.addCutGenerator(&probing, -1, "probing");
  model.addCutGenerator(&covers, -1, "covers");
  CbcHeuristicDiveCoefficient dive(model);
  model.addHeuristic(&dive);
  model.setAllowableGap(1e-9);
  model.setAllowableFractionGap(kGap);
  model.setMaximumNodes(std::max(kLeastNodes, kWork / std::max(columns, 1)));
  model.initialSolve();
  Solution solution;
  if (!model.solver()->isProvenOptimal()) return solution;
  model.branchAndBound();
  solution.nodes = model.getNodeCount();
  if (model.bestSolution() == nullptr) return solution;
  solution.is_feasible = true;
  solution.values.assign(model.bestSolution(), model.bestSolution() + columns);
  solution.objective = model.getObjValue() / factor;
  solution.bound = std::min(solution.objective, model.getBestPossibleObjValue() / factor);
  return solution;
}

}  // namespace halfstep::allocation
