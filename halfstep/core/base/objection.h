// What stands in the way of a request, all of it at once: places, and what to do about each.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/base/status.h"

namespace halfstep {

/// One thing at one place. Empty parts are left out where it is read.
struct Objection {
  std::string layer = {};     ///< the operation; "" where it is about the whole network
  std::string where = {};     ///< "net.onnx: node 'conv4'"
  std::string what = {};      ///< what is objected to, and by whom
  std::string found = {};     ///< what there is
  std::string expected = {};  ///< what would do
  std::string remedy = {};    ///< what to do about it: of a network never ""
  ErrorKind kind = ErrorKind::unsupported;
  bool operator==(const Objection&) const = default;

  /// Whether one sentence does for both places.
  bool says_the_same_as(const Objection& other) const;
  /// "what: found FOUND, expected EXPECTED; REMEDY".
  std::string reason() const;
};

/// Thrown with all objections: each reason once, with its places.
class Refusal : public Error {
 public:
  explicit Refusal(std::vector<Objection> objections);
  const std::vector<Objection>& objections() const { return objections_; }

 private:
  std::vector<Objection> objections_;
};

/// Throws a Refusal where there are any.
void refuse_all(std::vector<Objection> objections);

/// What `message` says behind "WHERE: ".
std::string without_place(const std::string& message, const std::string& where);

/// What `error` says at this place; what stands behind its first semicolon is the remedy.
Objection objection_of(const Error& error, const std::string& layer, const std::string& where);

/// Gives this remedy to those that have none.
void add_remedy(std::vector<Objection>& objections, const std::string& remedy);

/// Does `work`. What it refuses as unsupported is added to `objections`: a Refusal's own, or else one at this place.
/// Returns whether it was done.
template <class Work>
bool collect(std::vector<Objection>& objections, const std::string& layer, const std::string& where, Work work) {
  try {
    work();
    return true;
  } catch (const Refusal& refusal) {
    objections.insert(objections.end(), refusal.objections().begin(), refusal.objections().end());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    objections.push_back(objection_of(error, layer, where));
  }
  return false;
}

}  // namespace halfstep
