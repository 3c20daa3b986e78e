#include "halfstep/core/files/temporary_folder.h"

#include <cerrno>
#include <cstdlib>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/file.h"

namespace halfstep::io {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "halfstep-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) fail_to_make_folder(name, errno);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace halfstep::io
