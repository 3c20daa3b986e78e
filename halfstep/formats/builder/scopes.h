// The names of a graph and of those inside it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halfstep/formats/builder/foreign_operand.h"

namespace halfstep::formats {

class Scopes {
 public:
  /// Reads contents, when they are asked for.
  using Load = std::function<Tensor()>;

  /// How many graphs are inside each other.
  size_t depth() const { return scopes_.size(); }
  enum class Border {
    open,
    closed,  ///< the names around are not seen: a function's
    sealed   ///< what is assigned to names around stays inside
  };

  /// A graph inside.
  void enter(Border border = Border::open) { scopes_.push_back({{}, border}); }
  void leave() { scopes_.pop_back(); }
  /// What the innermost graph has values for.
  std::vector<std::pair<std::string, Operand>> values() const;

  bool has(const std::string& name) const { return scopes_.back().names.contains(name); }
  /// In the innermost graph; false where the name is there already.
  bool define(const std::string& name, Operand operand);
  bool define(const std::string& name, Load load);
  /// The same, whatever is there.
  void set(const std::string& name, Operand operand);
  /// In the innermost graph that has the name; false where none has.
  bool assign(const std::string& name, Operand operand);
  /// nullptr for none.
  const Operand* find(const std::string& name);

 private:
  struct Entry {
    Operand operand;
    Load load = nullptr;  ///< of contents that nobody has read yet
  };
  struct Scope {
    std::map<std::string, Entry, std::less<>> names;
    Border border;
  };

  Entry* entry(const std::string& name);

  std::vector<Scope> scopes_;
};

/// One graph inside, as long as it lives.
class Inside {
 public:
  explicit Inside(Scopes& scopes, Scopes::Border border = Scopes::Border::open) : scopes_(scopes) {
    scopes_.enter(border);
  }
  ~Inside() { scopes_.leave(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Scopes& scopes_;
};

}  // namespace halfstep::formats
