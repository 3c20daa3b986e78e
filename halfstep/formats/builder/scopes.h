// Names of a graph and of nested graphs.
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
  /// Reads contents on demand.
  using Load = std::function<Tensor()>;

  /// Nesting depth of graphs.
  size_t depth() const { return scopes_.size(); }
  enum class Border {
    open,
    closed,  ///< names of the enclosing graph are hidden, as in a function
    sealed   ///< assignments to names of the enclosing graph stay inside
  };

  /// Enters a nested graph.
  void enter(Border border = Border::open) { scopes_.push_back({{}, border}); }
  void leave() { scopes_.pop_back(); }
  /// Returns the values of the innermost graph.
  std::vector<std::pair<std::string, Operand>> values() const;

  bool has(const std::string& name) const { return scopes_.back().names.contains(name); }
  /// Defines a name in the innermost graph. Returns false if it already exists.
  bool define(const std::string& name, Operand operand);
  bool define(const std::string& name, Load load);
  /// Defines or replaces a name in the innermost graph.
  void set(const std::string& name, Operand operand);
  /// Assigns in the innermost graph that has the name. Returns false if none has.
  bool assign(const std::string& name, Operand operand);
  /// Returns nullptr if not found.
  const Operand* find(const std::string& name);

 private:
  struct Entry {
    Operand operand;
    Load load = nullptr;  ///< contents that are not yet read
  };
  struct Scope {
    std::map<std::string, Entry, std::less<>> names;
    Border border;
  };

  Entry* entry(const std::string& name);

  std::vector<Scope> scopes_;
};

/// Enters a nested graph during its lifetime.
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
