// The catalogue of errors as it is read: files, each with the entries of one room.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace halfstep::errorgen {

/// A file that breaks a rule of the catalogue; the message names file, line and rule.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Entry {
  std::string name;  ///< "image_smaller_than_crop"
  std::string id;    ///< "HS2107"
  std::string kind = "bad_input";
  std::string title;
  std::vector<std::string> takes;
  std::map<std::string, std::string> fields;  ///< where, problem, found, expected, remedy: those that it has
  std::string explanation;
};

struct Room {
  std::string folder;  ///< "halfstep/data/datasets"
  std::vector<Entry> entries;
};

class Catalogue {
 public:
  /// Reads FOLDER/errors.yaml. Throws Wrong for an unknown key, a value that is taken and not used or used and not
  /// taken, and an id or a name that another entry has.
  void add(const std::string& file);
  const std::vector<Room>& rooms() const { return rooms_; }
  /// All entries by id.
  std::vector<const Entry*> by_id() const;

 private:
  std::vector<Room> rooms_;
  std::map<std::string, std::string> owner_;  ///< of each id and name: the place where it is defined
};

/// Parts of a message in their order.
extern const std::vector<std::string> kFields;

}  // namespace halfstep::errorgen
