#include "cli/completion.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "base/quoted.h"

namespace xylem {
namespace {

enum class ValueKind { kNone, kWord, kFile, kOther };

/// The value of an option, or of a positional argument.
struct ValueModel {
  ValueKind kind = ValueKind::kNone;  ///< kNone: no value follows.
  std::string name;
  std::vector<std::string> words;  ///< Only for kWord.
};

struct OptionModel {
  std::string flag, help;
  ValueModel value;
};

struct VerbModel {
  std::string name, help;
  bool has_command = false;  ///< The command of another program follows.
  std::vector<OptionModel> options;
  std::optional<ValueModel> positional;  ///< The first positional.
};

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

ValueModel value_of(const std::string& name) {
  ValueModel value{ValueKind::kOther, name, {}};
  if (name == "FILE" || name == "PAGE" || name == "SHAPE" || name == "FOLDER") {
    value.kind = ValueKind::kFile;
  }
  const bool is_closed_set =
      name.find('|') != std::string::npos &&
      std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; });
  if (!is_closed_set) return value;
  value.kind = ValueKind::kWord;
  value.words = CLI::detail::split(name, '|');
  return value;
}

std::vector<OptionModel> options_of(const CLI::App& app) {
  std::vector<OptionModel> options;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      OptionModel model{"--" + name, option->get_description(), {}};
      if (option->get_expected_max() > 0) model.value = value_of(option->get_type_name());
      options.push_back(std::move(model));
    }
  }
  return options;
}

VerbModel model_of(const CLI::App& verb) {
  VerbModel model{verb.get_name(), verb.get_description(), verb.get_prefix_command(),
                  options_of(verb), std::nullopt};
  for (const CLI::Option* option : verb.get_options()) {
    if (!option->get_positional() || model.positional) continue;
    const std::string words = option->get_type_name();
    model.positional = value_of(words.empty() ? option->get_name(true) : words);
  }
  return model;
}

std::vector<VerbModel> verbs_of(const CLI::App& app) {
  std::vector<VerbModel> verbs;
  for (const CLI::App* verb : app.get_subcommands(nullptr)) verbs.push_back(model_of(*verb));
  return verbs;
}

std::vector<std::string> flags_of(const std::vector<OptionModel>& options) {
  std::vector<std::string> flags;
  flags.reserve(options.size());
  for (const OptionModel& option : options) flags.push_back(option.flag);
  return flags;
}

// ---- bash ----

constexpr const char* kBashHead = R"(# Completion of xylem in bash, made by `xylem completion bash`.

_xylem_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }
_xylem_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$word")
}

# A command of another program, which begins at the word $1.
_xylem_command() {
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif ((COMP_CWORD == $1)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$word")
  else
    _xylem_files
  fi
}

_xylem() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} i
  COMPREPLY=()
  if [[ $word == = ]]; then  # bash takes --option=value apart.
    word=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
)";

std::string bash_value(const ValueModel& value) {
  switch (value.kind) {
    case ValueKind::kWord:
      return "_xylem_words " + shell_quoted(joined(value.words));
    case ValueKind::kFile:
      return "_xylem_files";
    default:
      return ":";
  }
}

std::string bash_script(const CLI::App& app, const std::vector<VerbModel>& verbs) {
  std::vector<std::string> first = flags_of(options_of(app));
  std::string commands, values, flags, positionals;
  for (const VerbModel& verb : verbs) {
    first.push_back(verb.name);
    if (verb.has_command) commands += (commands.empty() ? "" : "|") + verb.name;
    for (const OptionModel& option : verb.options) {
      if (option.value.kind == ValueKind::kNone) continue;
      values += fmt::format("    {},{}) {}; return ;;\n", verb.name, option.flag,
                            bash_value(option.value));
    }
    flags += fmt::format("      {}) _xylem_words {} ;;\n", verb.name,
                         shell_quoted(joined(flags_of(verb.options))));
    if (verb.has_command) {
      positionals += fmt::format("    {}) _xylem_command \"$COMP_CWORD\" ;;\n", verb.name);
    } else if (verb.positional) {
      positionals += fmt::format("    {}) {} ;;\n", verb.name, bash_value(*verb.positional));
    }
  }
  return std::string(kBashHead) +
         fmt::format(
             "  if ((COMP_CWORD == 1)); then _xylem_words {}; return; fi\n"
             "  case $verb in\n    {})\n"
             "      for ((i = 2; i < COMP_CWORD; ++i)); do\n"
             "        if [[ ${{COMP_WORDS[i]}} == -- ]]; then _xylem_command $((i + 1)); "
             "return; fi\n"
             "      done ;;\n  esac\n"
             "  case $verb,$before in\n{}  esac\n"
             "  if [[ $word == -* ]]; then\n    case $verb in\n{}    esac\n    return\n  fi\n"
             "  case $verb in\n{}  esac\n}}\n\ncomplete -F _xylem xylem\n",
             shell_quoted(joined(first)), commands, values, flags, positionals);
}

// ---- zsh ----

/// Escapes text for use in [...] or between colons.
std::string zsh_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string zsh_value(const ValueModel& value) {
  const std::string name = zsh_text(value.name);
  switch (value.kind) {
    case ValueKind::kWord:
      return ":word:(" + joined(value.words) + ")";
    case ValueKind::kFile:
      return ":" + name + ":_files";
    case ValueKind::kOther:
      return ":" + name + ": ";
    case ValueKind::kNone:
      break;
  }
  return "";
}

std::string zsh_script(const CLI::App& app, const std::vector<VerbModel>& verbs) {
  const auto arguments = [](const std::vector<OptionModel>& options) {
    std::string text;
    for (const OptionModel& option : options) {
      const bool has_value = option.value.kind != ValueKind::kNone;
      text += ' ' + shell_quoted(option.flag + (has_value ? "=" : "") + "[" +
                                 zsh_text(option.help) + "]" + zsh_value(option.value));
    }
    return text;
  };
  std::string descriptions, cases;
  for (const VerbModel& verb : verbs) {
    descriptions += "        " + shell_quoted(verb.name + ":" + verb.help) + '\n';
    cases += fmt::format("        {}) _arguments{}", verb.name, arguments(verb.options));
    if (verb.has_command) {
      cases += " '*::command:_normal'";
    } else if (verb.positional) {
      cases += ' ' + shell_quoted("*" + zsh_value(*verb.positional));
    }
    cases += " ;;\n";
  }
  return fmt::format(
      "#compdef xylem\n# Completion of xylem in zsh, made by `xylem completion zsh`.\n\n"
      "_xylem() {{\n  local state line\n  local -a verbs\n"
      "  _arguments -C{} '1:verb:->verb' '*::argument:->argument'\n"
      "  case $state in\n    verb)\n      verbs=(\n{}      )\n      _describe verb verbs ;;\n"
      "    argument)\n      case $line[1] in\n{}      esac ;;\n  esac\n}}\n\n"
      "if [[ $funcstack[1] == _xylem ]]; then _xylem \"$@\"; else compdef _xylem xylem; fi\n",
      arguments(options_of(app)), descriptions, cases);
}

// ---- fish ----

constexpr const char* kFishHead = R"(# Completion of xylem in fish, made by `xylem completion fish`.

# The command of another program, behind --.
function __xylem_command
    set -l words (commandline -opc) (commandline -ct)
    set -l at (contains -i -- -- $words)
    set -l command $words[(math $at + 1)..]
    complete -C "$command"
end

)";

std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string fish_value(const ValueModel& value) {
  switch (value.kind) {
    case ValueKind::kWord:
      return " -x -a " + fish_quoted(joined(value.words));
    case ValueKind::kFile:
      return " -r -F";
    case ValueKind::kOther:
      return " -x";
    case ValueKind::kNone:
      break;
  }
  return "";
}

std::string fish_script(const CLI::App& app, const std::vector<VerbModel>& verbs) {
  std::string text = kFishHead;
  const auto add = [&text](const std::string& condition, const OptionModel& option) {
    text += fmt::format("complete -c xylem -n '{}' -l {}{} -d {}\n", condition,
                        option.flag.substr(2), fish_value(option.value), fish_quoted(option.help));
  };
  for (const OptionModel& option : options_of(app)) add("__fish_use_subcommand", option);
  for (const VerbModel& verb : verbs) {
    text += fmt::format("complete -c xylem -n __fish_use_subcommand -f -a {} -d {}\n", verb.name,
                        fish_quoted(verb.help));
    const std::string condition = "__fish_seen_subcommand_from " + verb.name;
    for (const OptionModel& option : verb.options) add(condition, option);
    if (verb.has_command) {
      text += fmt::format(
          "complete -c xylem -n '{}; and contains -- -- (commandline -opc)' -x -a "
          "'(__xylem_command)'\n",
          condition);
    } else if (verb.positional && verb.positional->kind == ValueKind::kWord) {
      text += fmt::format("complete -c xylem -n '{}' -f -a {}\n", condition,
                          fish_quoted(joined(verb.positional->words)));
    } else if (!verb.positional) {
      text += fmt::format("complete -c xylem -n '{}' -f\n", condition);
    }
  }
  return text;
}

constexpr std::array kShells = {Shell::kBash, Shell::kZsh, Shell::kFish};

}  // namespace

const std::vector<std::string>& shell_names() {
  static const std::vector<std::string> kNames = {"bash", "zsh", "fish"};
  return kNames;
}

std::optional<Shell> shell_of(std::string_view name) {
  const auto found = std::ranges::find(shell_names(), name);
  if (found == shell_names().end()) return std::nullopt;
  return kShells[static_cast<std::size_t>(found - shell_names().begin())];
}

std::string completion_script(const CLI::App& app, Shell shell) {
  const std::vector<VerbModel> verbs = verbs_of(app);
  switch (shell) {
    case Shell::kZsh:
      return zsh_script(app, verbs);
    case Shell::kFish:
      return fish_script(app, verbs);
    case Shell::kBash:
      break;
  }
  return bash_script(app, verbs);
}

}  // namespace xylem
