#include "buildgen/text.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace halfstep::buildgen {

void write(const std::string& path, const std::string& text) {
  std::ostringstream old;
  if (std::ifstream file(path); file) old << file.rdbuf();
  if (old.str() == text) return;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return result + "\"";
}

std::vector<std::string> wrapped(const std::string& text, size_t width) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (lines.empty() || lines.back().size() + 1 + word.size() > width)
      lines.push_back(word);
    else
      lines.back() += " " + word;
  }
  return lines;
}

std::string sentence(const std::string& text) {
  if (text.empty()) return text;
  std::string made = text;
  if (made.size() > 1 && std::islower(static_cast<unsigned char>(made[1])) != 0)
    made[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(made[0])));
  if (made.back() != '.') made += '.';
  return made;
}

}  // namespace halfstep::buildgen
