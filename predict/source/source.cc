#include "predict/source/source.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "base/text_file.h"
#include "predict/trace/goal_text.h"
#include "storage/read/query.h"

namespace xylem::predict {
namespace {

// Programs of many ranks are long.
constexpr std::size_t kMaxProgramBytes = std::size_t{16} << 30;
constexpr std::string_view kRunBegin = "SQLite format 3";

bool is_run(const std::string& path) {
  std::array<char, kRunBegin.size()> begin{};
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), begin.size()) &&
         std::string_view(begin.data(), begin.size()) == kRunBegin;
}

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

Result<SourceProgram> read_program(const std::string& path, const SourceOptions& options) {
  if (is_run(path)) {
    auto run = storage::RunFile::open(path);
    if (!run) return unexpected(run.error());
    return read_run(**run, {options.world, options.ti.collectives, options.processor_ratio});
  }
  if (options.world) {
    return unexpected(Code::kInvalidArgument,
                      path + ": only the file of a run has worlds; leave out --world");
  }
  const auto text = read(path, "program");
  if (!text) return unexpected(text.error());
  const bool is_goal = path.ends_with(".goal");
  auto program = is_goal ? parse_goal(*text, path) : read_trace(*text, path, options.ti);
  if (!program) return unexpected(std::move(program.error()));
  if (is_goal) program = scale_computing(*std::move(program), options.processor_ratio);
  return SourceProgram{*std::move(program), {}};
}

}  // namespace xylem::predict
