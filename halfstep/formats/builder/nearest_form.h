// What of a foreign operator is supported, for who met what is not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace halfstep::formats {

/// A foreign operator that a function of the importer translates, and what it does.
struct FormText {
  std::string_view domain, op, doc;
};

/// What a format's importer supports, out of the records and `forms`.
class SupportedForms {
 public:
  SupportedForms(std::string_view format, const std::vector<FormText>& forms);

  /// "Conv (conv2d): X float, W float, optional B float; group, strides": the supported forms of the operator, or else
  /// of the one whose name is nearest; "" where none is near.
  std::string nearest(const std::string& domain, const std::string& op) const;

 private:
  /// An operator, with one of its forms in words.
  struct Supported {
    std::string domain, op, text;
  };

  /// The operator's forms; of all domains without one.
  std::string described(const std::string* domain, const std::string& op) const;
  std::string nearest_name(const std::string& op) const;

  std::vector<Supported> all_;
};

}  // namespace halfstep::formats
