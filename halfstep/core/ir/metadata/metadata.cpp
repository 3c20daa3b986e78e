#include "halfstep/core/ir/metadata/metadata.h"

namespace halfstep {

Metadata::Metadata() = default;
Metadata::Metadata(const Metadata&) = default;
Metadata::Metadata(Metadata&&) noexcept = default;
Metadata& Metadata::operator=(const Metadata&) = default;
Metadata& Metadata::operator=(Metadata&&) noexcept = default;
Metadata::~Metadata() = default;
bool Metadata::operator==(const Metadata&) const = default;

}  // namespace halfstep
