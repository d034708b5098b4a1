#pragma once

// Completion of xylem's command line in shells. The scripts are made from the command line itself,
// so they have exactly the verbs, options and words that `xylem` takes.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace xylem {

enum class Shell { kBash, kZsh, kFish };

/// "bash", "zsh", "fish".
const std::vector<std::string>& shell_names();
/// nullopt: there are no scripts for this shell.
std::optional<Shell> shell_of(std::string_view name);

/// Returns a script that completes the verbs of `app`, their options, and the words of closed sets.
/// Where a file is expected, the script offers files; behind `--` of `run`, `exec` and
/// `calibrate` it completes another command. The value name of an option says what to offer. Words
/// separated by `|` are a closed set. FILE, PAGE and SHAPE are files. Any other value is not
/// completed.
///
/// The bash script works with and without the package bash-completion. The zsh script may be
/// sourced or be the file `_xylem` in a folder of `fpath`.
std::string completion_script(const CLI::App& app, Shell shell);

}  // namespace xylem
