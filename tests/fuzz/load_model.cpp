// A file that loads is a model that saves and reloads unchanged. An input with a checksum first gets the right one, so
// that the code behind that check is reached.
#include <cstring>
#include <string_view>
#include <vector>

#include "halfstep/core/ir/hash.h"
#include "halfstep/core/ir/model.h"
#include "tests/fuzz/target.h"

namespace {

using namespace halfstep;

void correct_checksum(std::vector<std::byte>& file) {
  constexpr std::string_view kField = "\"halfstep.checksum\":\"";
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const size_t at = text.find(kField);
  if (at == std::string_view::npos || file.size() - at - kField.size() < detail::Hash::kHexDigits) return;
  std::byte* digits = file.data() + at + kField.size();
  std::memset(digits, '0', detail::Hash::kHexDigits);
  detail::Hash hash;
  hash.update(file);
  std::memcpy(digits, hash.hex128().data(), detail::Hash::kHexDigits);
}

bool returns_to_itself(const Model& model) {
  try {
    return deserialize(serialize(model), "again").graph == model.graph;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

HS_FUZZ_TARGET(bytes) {
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  correct_checksum(file);
  const Model model = deserialize(file, "input");
  HS_CHECK(returns_to_itself(model));
}
