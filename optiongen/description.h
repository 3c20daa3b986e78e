// Descriptions of options as read from files: ranges, structs of options, and verbs.
#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace halfstep::optiongen {

/// Violation of a rule. The message names file, line and rule.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Range {
  std::string name;
  double least = 0, most = 0;
  bool whole = true, above = false, below = false;  ///< above excludes `least`, below excludes `most`
  bool contains(double number) const;
  std::string text() const;
};

/// Interfaces that offer an option.
enum class Face { all, command_line, python, none };

struct Option {
  std::string where;      ///< file and line, for messages
  std::string name;       ///< name on all interfaces
  std::string field;      ///< member of the struct; default: the name
  std::string type;       ///< flag, int, int64, number, float, text, path, or a C++ type
  std::string structure;  ///< C++ type of a member that is itself a struct of options
  std::string flag, short_flag, group, doc, unit, range, enumeration, python, default_text, separator, needs, excludes;
  std::vector<std::string> choices, earlier;
  std::vector<std::string> only, without;  ///< for a struct member: options to include or to exclude
  std::map<std::string, std::map<std::string, std::string>> change;  ///< for a struct member: changed values of keys,
                                                                     ///< by option
  bool list = false, optional = false, advanced = false, positional = false, required = false, has_default = false;
  int count = 0;  ///< number of elements of a list with fixed length
  Face face = Face::all;

  /// Returns the type in C++.
  std::string cpp_type() const;
  /// Returns the default in C++, or "" if there is none.
  std::string cpp_default() const;
};

struct Struct {
  std::string name;    ///< generated: "RecipeOptions"
  std::string type;    ///< type with namespace, for members: "train::Recipe"
  std::string header;  ///< header that declares `type`
  std::string space;   ///< "train"
  std::string doc, group;
  std::vector<Option> options;
};

/// The options of one room.
struct Room {
  std::string folder;  ///< "halfstep/train/loop"
  std::string space;
  std::vector<std::string> includes;
  std::vector<Range> ranges;
  std::vector<Struct> structs;
};

struct PythonFace {
  std::string function, inputs, returns, summary, doc, returns_doc, example;
  std::map<std::string, std::string> earlier;             ///< earlier names of inputs
  std::vector<std::pair<std::string, std::string>> args;  ///< inputs in order
  std::vector<std::pair<std::string, std::string>> raises;  ///< exceptions, each with its reason
};

struct Verb {
  std::string name, summary;
  std::vector<std::string> examples;
  std::optional<PythonFace> python;
  Struct command;  ///< QuantizeCommand
};

/// An option of a verb and its path in the verb's struct: "options.recipe.mixup".
struct Leaf {
  Option option;
  std::string path;
};

class Descriptions {
 public:
  /// Reads FOLDER/options.yaml. Throws Wrong.
  void add_room(const std::string& file);
  /// Reads a verb. Add all rooms before verbs. Throws Wrong.
  void add_verb(const std::string& file);
  /// Checks rules across files: ranges exist, defaults are in their ranges, and names are unique within a verb.
  void check() const;

  const std::vector<Room>& rooms() const { return rooms_; }
  const std::vector<Verb>& verbs() const { return verbs_; }
  std::vector<Leaf> leaves(const Verb& verb) const;
  const Struct& structure(const Option& member) const;
  const Room& owner(const Struct& structure) const;
  const Range& range(const Option& option) const;
  /// Returns the option "how.samples" of a struct, and its path in C++. Throws Wrong.
  std::pair<std::string, Option> option_at(const Struct& from, const std::string& name, const std::string& where) const;

 private:
  void flatten(const Struct& from, const std::string& path, const Option* member, std::vector<Leaf>& leaves) const;
  void check_option(const Option& option) const;
  void check_names(const Option& member) const;

  std::vector<Room> rooms_;
  std::vector<Verb> verbs_;
};

}  // namespace halfstep::optiongen
