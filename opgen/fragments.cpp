#include "opgen/fragments.h"

#include <charconv>
#include <set>

#include "halfstep/core/base/diagnostics/nearest.h"

namespace halfstep::opgen {
namespace {

constexpr std::string_view kPlace = "...";

/// Value of one key, from the fragments in order of use and last from the record itself, whose fragment is "".
struct Part {
  std::string fragment;
  Yaml yaml;
};
using Parts = std::vector<Part>;

/// The keys that describe a fragment itself are not copied into records.
bool is_taken_in(const Part& part, const std::string& key) {
  return part.fragment.empty() || (key != "fragment" && key != "doc");
}

Parts at_key(const Parts& parts, const std::string& key) {
  Parts below;
  for (const Part& part : parts) {
    if (part.yaml.has(key) && is_taken_in(part, key)) below.push_back({part.fragment, part.yaml.at(key)});
  }
  return below;
}

/// Reports the error at the record's own entry, or at the second of two fragments.
[[noreturn]] void fail_twice(const Part& part, const Source& where, const Part& first, const Source& before) {
  if (first.fragment.empty()) fail_twice(first, before, part, where);
  fail_at(where, "the fragment {} has it too, at {}:{}", first.fragment, before.file, before.line);
}

/// Number of rules before those of a fragment, by fragment.
using RulesBefore = std::map<std::string, size_t>;

/// Renumbers the label of a fragment's rule after `before` earlier rules: c2 becomes c5.
std::string counted_on(const std::string& label, size_t before) {
  size_t number = 0;
  const char* last = label.data() + label.size();
  if (!label.starts_with('c') || std::from_chars(label.data() + 1, last, number).ptr != last) return label;
  return fmt::format("c{}", number + before);
}

/// Joins the entries of several maps and renumbers labels of rules.
class Joined {
 public:
  Joined(const Parts& parts, RulesBefore& before) : parts_(parts), before_(before) {}

  Yaml join(const std::string& key) {
    key_ = key;
    const Yaml& last = parts_.back().yaml;
    for (const Part& part : parts_) {
      if (parts_.size() > 1 && !part.yaml.is_map())
        fail_twice(parts_.back(), last.source(), parts_[0], parts_[0].yaml.source());
    }
    if (!last.is_map()) return last;
    for (const Part& part : parts_) {
      if (!has_place(part)) add(part);
    }
    return {std::move(entries_), last.source()};
  }

 private:
  bool has_place(const Part& part) const {
    return !part.fragment.empty() && parts_.back().yaml.has(std::string(kPlace) + part.fragment);
  }

  void add(const Part& part) {
    if (key_ == "rules") before_[part.fragment] = part.fragment.empty() ? 0 : entries_.size();
    for (const auto& [written, value] : part.yaml.items()) {
      if (part.fragment.empty() && written.starts_with(kPlace) && written != kPlace) {
        add(placed(written.substr(kPlace.size()), value));
        continue;
      }
      const bool is_label = key_ == "rules" || key_ == "reject";
      const std::string name = is_label ? counted_on(written, before_[part.fragment]) : written;
      const auto [first, is_new] = from_.emplace(name, std::pair(&part, value.source()));
      if (!is_new) fail_twice(part, value.source(), *first->second.first, first->second.second);
      entries_.emplace_back(name, name == written ? value : value.under(part.yaml.source().path + "." + name));
    }
  }

  const Part& placed(const std::string& fragment, const Yaml& place) const {
    if (place.is_map() || place.is_list() || place.is_scalar())
      fail_at(place.source(), "found {}, expected nothing after the fragment", place.shape());
    std::vector<std::string> known;
    for (const Part& part : parts_) {
      if (part.fragment == fragment) return part;
      if (!part.fragment.empty()) known.push_back(part.fragment);
    }
    fail_at(place.source(), "no used fragment '{}' has an entry here{}", fragment, did_you_mean(fragment, known));
  }

  const Parts& parts_;
  RulesBefore& before_;
  std::string key_;
  Yaml::Entries entries_;
  std::map<std::string, std::pair<const Part*, Source>> from_;
};

/// Joins maps key by key. `test` is itself a map of keys.
Yaml join_keys(const Parts& parts, const Source& source, RulesBefore& before) {
  Yaml::Entries entries;
  std::set<std::string> seen;
  const auto add = [&](const std::string& key) {
    const Parts below = at_key(parts, key);
    if (below.empty() || !seen.insert(key).second) return;
    entries.emplace_back(
        key, key == "test" ? join_keys(below, below.back().yaml.source(), before) : Joined(below, before).join(key));
  };
  add("rules");
  for (const Part& part : parts) {
    for (const auto& [key, value] : part.yaml.items()) add(key);
  }
  return {std::move(entries), source};
}

}  // namespace

Fragments::Fragments(const std::vector<Yaml>& entries, const Schema& schema) {
  for (const Yaml& entry : entries) {
    if (!is_fragment(entry)) continue;
    const std::string& name = entry.at("fragment").text();
    schema.check_fragment(entry.under(name));
    const auto [first, is_new] = fragments_.emplace(name, Fragment{entry.under(name)});
    const Source& before = first->second.yaml.source();
    if (!is_new)
      fail_at(entry.under(name).source(), "the fragment {} is also at {}:{}", name, before.file, before.line);
  }
}

const Yaml& Fragments::take(const Yaml& name) {
  const auto found = fragments_.find(name.text());
  if (found == fragments_.end()) {
    std::vector<std::string> known;
    for (const auto& [fragment, yaml] : fragments_) known.push_back(fragment);
    fail_at(name.source(), "unknown fragment '{}'{}", name.text(), did_you_mean(name.text(), known));
  }
  found->second.used = true;
  return found->second.yaml;
}

Yaml Fragments::expand(const Yaml& record) {
  Parts parts;
  if (record.has("use") && record.at("use").is_list()) {
    for (const Yaml& name : record.at("use").elements()) {
      parts.push_back({name.text(), take(name).under(record.source().path)});
    }
  }
  parts.push_back({"", record});
  RulesBefore before;
  return record.is_map() ? join_keys(parts, record.source(), before) : record;
}

void Fragments::check_used() const {
  for (const auto& [name, fragment] : fragments_) {
    if (!fragment.used) fail_at(fragment.yaml.source(), "no record uses the fragment");
  }
}

}  // namespace halfstep::opgen
