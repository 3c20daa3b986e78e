// What is held against a network.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halfstep/fuzz/network_trial.h"

namespace halfstep::fuzz {

struct Check {
  std::string_view name;
  std::string_view doc;
  /// Returns where all is well; throws Found, Skipped, or the Error by which a stage refuses the network.
  void (*run)(Trial& trial);
  uint64_t every = 1;  ///< a heavy one looks at one of so many seeds
};

const std::vector<Check>& all_checks();

/// Throws Found with the first layer whose codes differ.
void require_same_codes(Trial& trial, const verify::Roads& roads);

void check_engine(Trial& trial);
void check_source(Trial& trial);
void check_reference(Trial& trial);
void check_bypassed(Trial& trial);
void check_roads(Trial& trial);
void check_meaning(Trial& trial);
void check_quality(Trial& trial);
void check_answers(Trial& trial);
void check_parts(Trial& trial);
void check_integers(Trial& trial);
void check_splits(Trial& trial);
void check_extents(Trial& trial);
void check_lengths(Trial& trial);
/// Which method is the seed's: of those that are due, each in turn.
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
  std::string what;  ///< the finding, or why it was refused or skipped
};

/// All checks that are due for the seed, or the one of that name. A stage that refuses the network is said once, by
/// the first check that needs it.
/// `begins` is told what comes next.
std::vector<Outcome> look(Trial& trial, std::string_view only, const std::function<void(std::string_view)>& begins);

/// Whether there is a known reason for such a refusal: any other is a finding.
bool is_explained(const Error& refusal);

/// Whether every part of it says what to do.
bool has_remedy(const Error& refusal);

/// A message without what differs from network to network: names, numbers, extents.
std::string message_form(const std::string& message);

}  // namespace halfstep::fuzz
