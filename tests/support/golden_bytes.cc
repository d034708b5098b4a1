#include "tests/support/golden_bytes.h"

#include <cctype>
#include <fstream>
#include <string>

namespace xylem::testing {

namespace {

constexpr char kDigits[] = "0123456789abcdef";
constexpr std::size_t kGroup = 8;
constexpr std::size_t kLine = 16;

}  // namespace

std::vector<std::byte> read_hex(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::byte> bytes;
  std::string digits;
  for (char c = 0; in.get(c);) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0) continue;
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return {};
    digits += c;
    if (digits.size() < 2) continue;
    bytes.push_back(static_cast<std::byte>(std::stoi(digits, nullptr, 16)));
    digits.clear();
  }
  if (!digits.empty()) bytes.clear();
  return bytes;
}

bool write_hex(const std::filesystem::path& file, const std::vector<std::byte>& bytes) {
  std::ofstream out(file);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto value = std::to_integer<unsigned>(bytes[i]);
    out << kDigits[value >> 4] << kDigits[value & 15];
    if ((i + 1) % kLine == 0 || i + 1 == bytes.size()) {
      out << '\n';
    } else if ((i + 1) % kGroup == 0) {
      out << ' ';
    }
  }
  return out.flush().good();
}

}  // namespace xylem::testing
