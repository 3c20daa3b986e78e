// The error catalogue as read from its files. Each file has the entries of one room.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace halfstep::errorgen {

/// Violation of a rule of the catalogue. The message names file, line and rule.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Entry {
  std::string name;  ///< "image_smaller_than_crop"
  std::string id;    ///< "HS2107"
  std::string kind = "bad_input";
  std::string title;
  std::vector<std::string> takes;
  std::map<std::string, std::string> fields;  ///< the parts present among where, problem, found, expected and remedy
  std::string explanation;
};

struct Room {
  std::string folder;  ///< "halfstep/data/datasets"
  std::vector<Entry> entries;
};

class Catalogue {
 public:
  /// Reads FOLDER/errors.yaml. Throws Wrong for an unknown key, for an id or a name used by another entry, and for a
  /// difference between the values in `takes` and the values in the texts.
  void add(const std::string& file);
  const std::vector<Room>& rooms() const { return rooms_; }
  /// Returns all entries, sorted by id.
  std::vector<const Entry*> by_id() const;

 private:
  std::vector<Room> rooms_;
  std::map<std::string, std::string> owner_;  ///< location of the definition, by id and by name
};

/// The parts of a message, in order.
extern const std::vector<std::string> kFields;

}  // namespace halfstep::errorgen
