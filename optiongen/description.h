// Descriptions of options as they are read: ranges, structs of options, and verbs.
#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace halfstep::optiongen {

/// A file that breaks a rule; the message names file, line and rule.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Range {
  std::string name;
  double least = 0, most = 0;
  bool whole = true, above = false, below = false;  ///< above, below: `least`, `most` are not in the range
  bool contains(double number) const;
  std::string text() const;
};

/// Which faces have an option.
enum class Face { all, command_line, python, none };

struct Option {
  std::string where;      ///< file and line, for messages
  std::string name;       ///< on all faces
  std::string field;      ///< the member of the struct; as the name where the description has none
  std::string type;       ///< flag, int, int64, number, float, text, path, or a type of C++
  std::string structure;  ///< of a member that is itself a struct of options: its type in C++
  std::string flag, group, doc, unit, range, enumeration, python, default_text, separator, needs, excludes;
  std::vector<std::string> choices, earlier;
  std::vector<std::string> only, without;  ///< of a struct: options that the member has, or lacks
  std::map<std::string, std::map<std::string, std::string>> change;  ///< of a struct: other values for keys of options
  bool list = false, optional = false, advanced = false, positional = false, required = false, has_default = false;
  int count = 0;  ///< of a list with a fixed number of elements
  Face face = Face::all;

  /// The option as C++ declares it.
  std::string cpp_type() const;
  /// Its default in C++; "" for none.
  std::string cpp_default() const;
};

struct Struct {
  std::string name;    ///< generated: "RecipeOptions"
  std::string type;    ///< with its namespace, as members have it: "train::Recipe"
  std::string header;  ///< declares `type`
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
  std::string function, inputs, returns, summary, doc, returns_doc, raises, example;
  std::map<std::string, std::string> earlier;             ///< names of inputs that were called otherwise
  std::vector<std::pair<std::string, std::string>> args;  ///< inputs in their order
};

struct Verb {
  std::string name, summary;
  std::vector<std::string> examples;
  std::optional<PythonFace> python;
  Struct command;  ///< QuantizeCommand
};

/// An option of a verb, and where it lies in the verb's struct: "options.recipe.mixup".
struct Leaf {
  Option option;
  std::string path;
};

class Descriptions {
 public:
  /// FOLDER/options.yaml. Throws Wrong.
  void add_room(const std::string& file);
  /// A verb. Rooms come before verbs. Throws Wrong.
  void add_verb(const std::string& file);
  /// Rules that need everything: ranges that exist, defaults in their ranges, names that differ within a verb.
  void check() const;

  const std::vector<Room>& rooms() const { return rooms_; }
  const std::vector<Verb>& verbs() const { return verbs_; }
  std::vector<Leaf> leaves(const Verb& verb) const;
  const Struct& structure(const Option& member) const;
  const Room& owner(const Struct& structure) const;
  const Range& range(const Option& option) const;
  /// The option "how.samples" of a struct, and its path in C++. Throws Wrong.
  std::pair<std::string, Option> option_at(const Struct& from, const std::string& name, const std::string& where) const;

 private:
  void flatten(const Struct& from, const std::string& path, const Option* member, std::vector<Leaf>& leaves) const;
  void check_option(const Option& option) const;
  void check_names(const Option& member) const;

  std::vector<Room> rooms_;
  std::vector<Verb> verbs_;
};

}  // namespace halfstep::optiongen
