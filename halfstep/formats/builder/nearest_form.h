// Descriptions of supported forms of foreign operators, for errors about unsupported ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace halfstep::formats {

/// A foreign operator that a function of the importer translates, with its description.
struct FormText {
  std::string_view domain, op, doc;
};

/// Supported forms of a format's importer, from the records and `forms`.
class SupportedForms {
 public:
  SupportedForms(std::string_view format, const std::vector<FormText>& forms);

  /// Returns the supported forms of the operator, otherwise of the operator with the nearest name. Returns "" if none
  /// is near. Example: "Conv (conv2d): X float, W float, optional B float; group, strides".
  std::string nearest(const std::string& domain, const std::string& op) const;

 private:
  /// An operator with the description of one form.
  struct Supported {
    std::string domain, op, text;
  };

  /// Returns the operator's forms, in all domains if `domain` is null.
  std::string described(const std::string* domain, const std::string& op) const;
  std::string nearest_name(const std::string& op) const;

  std::vector<Supported> all_;
};

}  // namespace halfstep::formats
