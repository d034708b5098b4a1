#pragma once

// Argument lists in the form that execve and posix_spawn need.

#include <string>
#include <vector>

namespace xylem {

/// Returns a pointer to each of `words`, then a null pointer. The pointers are valid until `words`
/// is changed or destroyed. Call it before fork(), because nothing may be allocated between fork
/// and exec.
inline std::vector<char*> argv_of(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace xylem
