#include "predict/trace/source.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "base/text_file.h"
#include "predict/trace/goal_text.h"

namespace xylem::predict {
namespace {

// Programs of many ranks are long.
constexpr std::size_t kMaxProgramBytes = std::size_t{16} << 30;
constexpr std::string_view kStoreBegin = "SQLite format 3";

Result<std::string> read(const std::string& path, std::string_view what) {
  auto text = read_text_file(path, what, kMaxProgramBytes);
  if (text && text->size() > kMaxProgramBytes) {
    return unexpected(Code::kInvalidArgument, path + ": is larger than 16 GiB; cut the program");
  }
  return text;
}

Result<std::string> read_listed(const std::filesystem::path& folder, const std::string& file,
                                std::string& name) {
  name = (folder / file).string();
  auto text = read(name, "trace file");
  if (text || text.error().code != Code::kNotFound || name == file) return text;
  auto here = read(file, "trace file");
  if (!here) return text;  // The first place is the usual one.
  name = file;
  return here;
}

Result<Program> read_trace(std::string_view list, const std::string& path,
                           const TiOptions& options) {
  const auto names = parse_ti_list(list, path);
  if (!names) return unexpected(names.error());
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::vector<std::string> texts;
  std::vector<TiFile> files;
  for (const std::string& it : *names) {
    std::string name;
    auto text = read_listed(folder, it, name);
    if (!text) return unexpected(std::move(text.error()));
    texts.push_back(*std::move(text));
    files.push_back({name, {}});
  }
  for (std::size_t i = 0; i < files.size(); ++i) files[i].text = texts[i];
  return parse_ti(files, options);
}

}  // namespace

Result<Program> read_program(const std::string& path, const TiOptions& options,
                             std::uint64_t processor_ratio) {
  const auto text = read(path, "program");
  if (!text) return unexpected(text.error());
  if (path.ends_with(".goal")) {
    auto program = parse_goal(*text, path);
    return program ? scale_computing(*std::move(program), processor_ratio) : std::move(program);
  }
  if (text->starts_with(kStoreBegin)) {
    return unexpected(Code::kInvalidArgument,
                      path +
                          ": is the file of a run, which cannot be replayed yet; give a GOAL file "
                          "(*.goal) or the list file of a time-independent trace");
  }
  return read_trace(*text, path, options);
}

}  // namespace xylem::predict
