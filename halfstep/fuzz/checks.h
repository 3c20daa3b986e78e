// The checks that the fuzzer runs on each network.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halfstep/fuzz/network_trial.h"

namespace halfstep::fuzz {

struct Check {
  std::string_view name;
  std::string_view doc;
  /// Returns if the check passes. Throws Found, Skipped, or the Error with which a stage refuses the network.
  void (*run)(Trial& trial);
  uint64_t every = 1;  ///< run only for seeds divisible by this (for slow checks)
};

const std::vector<Check>& all_checks();

/// Throws Found with the first layer whose codes differ.
void require_same_codes(Trial& trial, const verify::ExecutionPaths& paths);

void check_engine(Trial& trial);
void check_source(Trial& trial);
void check_reference(Trial& trial);
void check_bypassed(Trial& trial);
void check_equivalence(Trial& trial);
void check_semantics(Trial& trial);
void check_quality(Trial& trial);
void check_answers(Trial& trial);
void check_parts(Trial& trial);
void check_integers(Trial& trial);
void check_splits(Trial& trial);
void check_extents(Trial& trial);
void check_lengths(Trial& trial);
/// The check of corrections runs for seeds divisible by this, with each method in turn.
inline constexpr uint64_t kRepairsEvery = 7;
void check_repairs(Trial& trial);
void check_levels(Trial& trial);
void check_threads(Trial& trial);
void check_batches(Trial& trial);
void check_files(Trial& trial);
void check_exports(Trial& trial);
void check_training(Trial& trial);
void check_c(Trial& trial);
void check_memory(Trial& trial);
void check_remedies(Trial& trial);

enum class Verdict { fine, skipped, refused, found };

struct Outcome {
  std::string check;
  Verdict verdict = Verdict::fine;
  std::string what;  ///< the finding, or the reason of a refusal or skip
};

/// Runs all checks due for the seed, or only the check named `only`. If a stage refuses the network, only the first
/// check that needs it reports this. `begins` is called with the name of each check before it runs.
std::vector<Outcome> look(Trial& trial, std::string_view only, const std::function<void(std::string_view)>& begins);

/// Whether the refusal has a known reason. Any other refusal is a finding.
bool is_explained(const Error& refusal);

/// Whether every diagnostic of the refusal has a remedy.
bool has_remedy(const Error& refusal);

/// The message without parts that depend on the network: names, numbers, extents.
std::string message_form(const std::string& message);

}  // namespace halfstep::fuzz
