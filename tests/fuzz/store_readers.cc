#include "tests/fuzz/store_readers.h"

#include <sqlite3.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/check.h"
#include "base/printable_text.h"
#include "cli/export_command.h"
#include "cli/ls_command.h"
#include "cli/place_command.h"
#include "cli/place_options.h"
#include "cli/predict_command.h"
#include "cli/query_command.h"
#include "cli/report_command.h"
#include "cli/settings.h"
#include "cli/top_command.h"
#include "cli/tree_command.h"
#include "predict/target/target.h"
#include "storage/read/query.h"
#include "viz/api.h"

namespace xylem::testing {
namespace {

// SQL that never ends, as a view of a hostile store may be, is stopped by these.
constexpr Nanos kDeadline = 1 * kSecond;

/// The judge needs ten times as much memory.
constexpr std::size_t kMaxJudged = 16u << 20;

/// Whether a terminal shows `text` as it is, line by line: no other control character than the end
/// of a line (of C1 neither), and nothing but UTF-8. A plain model of base/printable_text.h.
bool is_for_terminals(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto at = [&](std::size_t j) {
      return j < text.size() ? static_cast<unsigned char>(text[j]) : 0u;
    };
    const unsigned lead = at(i);
    if (lead == '\n') continue;
    if (lead < 0x20 || lead == 0x7f || (lead >= 0x80 && lead < 0xc2) || lead > 0xf4) return false;
    if (lead == 0xc2 && at(i + 1) < 0xa0) return false;
    const std::size_t more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    for (std::size_t j = 1; j <= more; ++j) {
      if ((at(i + j) & 0xc0) != 0x80) return false;
    }
    i += more;
  }
  return true;
}

class JsonJudge {
 public:
  JsonJudge() {
    CHECK(sqlite3_open(":memory:", &database_) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(database_, "SELECT json_valid(?1)", -1, &statement_, nullptr) ==
          SQLITE_OK);
  }
  JsonJudge(const JsonJudge&) = delete;
  JsonJudge& operator=(const JsonJudge&) = delete;
  ~JsonJudge() {
    sqlite3_finalize(statement_);
    sqlite3_close(database_);
  }
  bool is_json(const std::string& text) {
    sqlite3_bind_text(statement_, 1, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    const bool good =
        sqlite3_step(statement_) == SQLITE_ROW && sqlite3_column_int(statement_, 0) == 1;
    sqlite3_reset(statement_);
    return good;
  }

 private:
  sqlite3* database_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
};

enum class Form { kTerminal, kJson, kData };

class Readers {
 public:
  Readers(const std::string& path, const std::string& folder, std::uint64_t number,
          const std::function<void(const std::string&)>& begins)
      : path_(path), folder_(folder), number_(number), begins_(begins) {}

  std::string read_all(const std::vector<std::string>& tables_and_views) {
    read_reports();
    if (is_being_made_) return fault_;
    read_tables(tables_and_views);
    read_exports();
    read_programs();
    read_trees();
    read_screens();
    read_placements();
    read_answers();
    return fault_;
  }

 private:
  // `read` is a command: it writes to two streams and returns an exit code.
  template <typename Read>
  void run(const std::string& name, Form form, Read read) {
    if (!fault_.empty() || is_being_made_) return;
    begins_(name);
    std::ostringstream out, err;
    const int code = read(out, err);
    const std::string text = std::move(out).str(), sentence = std::move(err).str();
    // All readers open it in the same way, and each would wait a second for its maker.
    is_being_made_ = is_being_made_ || sentence.find("it is being created") != std::string::npos;
    if (text.size() > kMaxText) fault_ = name + ": too much text";
    if (code != 0 && sentence.empty() && text.empty()) fault_ = name + ": it failed silently";
    if (!is_for_terminals(sentence)) fault_ = name + ": controls in its sentence: " + sentence;
    if (form == Form::kTerminal && !is_for_terminals(text)) {
      fault_ = name + ": controls in its text";
    }
    if (form == Form::kJson && code == 0 && text.size() < kMaxJudged && !json_.is_json(text)) {
      fault_ = name + ": its JSON is none: " + text.substr(0, 2000);
    }
  }

  void read_reports() {
    const auto report = [this](bool json, bool verify) {
      return [=, this](auto& out, auto& err) {
        return run_report({path_, json, verify}, out, err);
      };
    };
    run("report", Form::kTerminal, report(false, false));
    run("report --json", Form::kJson, report(true, false));
    run("report --verify", Form::kTerminal, report(false, true));
    run("report --html", Form::kTerminal, [this](auto& out, auto& err) {
      ReportOptions options{path_};
      options.html = folder_ + "/report.html";
      options.overwrite = true;
      return run_report(options, out, err);
    });
    const std::string folder = std::filesystem::path(path_).parent_path().string();
    run("ls", Form::kTerminal, [&](auto& out, auto& err) { return run_ls({folder}, out, err); });
    run("ls --json", Form::kJson, [&](auto& out, auto& err) {
      return run_ls({folder, true}, out, err);
    });
  }

  // As `xylem query` does it, but the file is opened once for all of them.
  void read_tables(const std::vector<std::string>& tables_and_views) {
    for (const ResultFormat format : {ResultFormat::kTable, ResultFormat::kJson}) {
      const bool is_json = format == ResultFormat::kJson;
      auto file = storage::RunFile::open(
          path_, is_json ? storage::Texts::kExact : storage::Texts::kPrintable);
      if (!file) continue;
      std::uint64_t at = number_ + (is_json ? 1 : 0);
      for (const std::string& name : tables_and_views) {
        if (at++ % 2 == 0) continue;
        run("query " + name, is_json ? Form::kJson : Form::kTerminal, [&](auto& out, auto& err) {
          const auto sink = make_result_sink(format, out);
          const auto asked = (*file)->query("SELECT * FROM \"" + name + "\" LIMIT 2000", *sink);
          if (asked) sink->finish();
          if (!asked) err << printable(asked.error().message);
          return asked ? 0 : 1;
        });
      }
    }
    const auto query = [this](const std::string& sql, ResultFormat format) {
      return [=, this](auto& out, auto& err) {
        std::istringstream in;
        return run_query({path_, sql, format}, in, out, err);
      };
    };
    run("query --json", Form::kJson, query("SELECT * FROM host", ResultFormat::kJson));
    run("query --csv", Form::kData, query("SELECT * FROM rank", ResultFormat::kCsv));
    run("query event", Form::kTerminal,
        query("SELECT count(*) FROM event WHERE world = 0 AND rank > 1 AND begin_ns < 30000",
              ResultFormat::kTable));
    run("query --schema", Form::kTerminal, [this](auto& out, auto& err) {
      std::istringstream in;
      return run_query({path_, "", ResultFormat::kTable, true}, in, out, err);
    });
  }

  void read_exports() {
    const auto write = [this](ExportFormat format) {
      return [=, this](auto& out, auto& err) {
        const bool is_archive = format == ExportFormat::kOtf2;
        return run_export({path_, format, is_archive ? folder_ + "/otf2" : "-", true}, out, err);
      };
    };
    run("export --chrome", Form::kJson, write(ExportFormat::kChrome));
    run("export --text", Form::kTerminal, write(ExportFormat::kText));
    run("export --csv", Form::kData, write(ExportFormat::kCsv));
    run("export --otf2", Form::kData, write(ExportFormat::kOtf2));
  }

  void read_programs() {
    const std::string target = folder_ + "/target.toml";
    std::ofstream(target) << predict::example_target();
    run("predict", Form::kTerminal, [=, this](auto& out, auto& err) {
      PredictOptions options;
      options.source = path_;
      options.target = target;
      return run_predict(options, out, err);
    });
  }

  void read_trees() {
    const auto tree = [this](TreeFormat format, std::optional<Nanos> at_ns = {}) {
      return [=, this](auto& out, auto& err) {
        TreeCommandOptions options{path_, format};
        options.at_ns = at_ns;
        return run_tree(options, out, err);
      };
    };
    run("tree", Form::kTerminal, tree(TreeFormat::kText));
    run("tree --at", Form::kTerminal, tree(TreeFormat::kText, kSecond));
    run("tree --topology", Form::kTerminal, tree(TreeFormat::kTopology));
    run("tree --dot", Form::kTerminal, tree(TreeFormat::kDot));
    run("tree --csv", Form::kData, tree(TreeFormat::kCsv));
    run("tree --json", Form::kJson, tree(TreeFormat::kJson));
  }

  void read_screens() {
    const auto top = [this](const std::string& name, double recent_s, bool json) {
      return [=, this](auto& out, auto& err) {
        TopOptions options;
        options.run.file = path_;
        options.once = true;
        options.pane = name;
        options.recent_s = recent_s;
        options.json = json;
        return run_top(options, out, err);
      };
    };
    constexpr std::array kPanes = {"functions", "ranks", "waits", "tree", "notices"};
    const std::string pane = kPanes[number_ % kPanes.size()];
    run("top --once", Form::kTerminal, top("overview", 0, false));
    run("top --once --pane " + pane, Form::kTerminal, top(pane, 0, false));
    run("top --once --recent", Form::kTerminal, top("overview", 2, false));
    run("top --json", Form::kJson, top("overview", 0, true));
  }

  void read_placements() {
    constexpr std::array kText = {PlaceFormat::kTopology, PlaceFormat::kExplain, PlaceFormat::kDot};
    for (const PlaceFormat format : {kText[number_ % kText.size()], PlaceFormat::kJson}) {
      run("place --recorded", format == PlaceFormat::kJson ? Form::kJson : Form::kTerminal,
          [&](auto& out, auto& err) {
            PlaceOptions options;
            for (const Setting& setting : place_settings()) {
              options.values.push_back({setting.name, setting.default_value, "default"});
              SettingValue& value = options.values.back();
              if (value.name == "recorded") value = {"recorded", path_, "a test"};
              if (value.name == "placement") value = {"placement", "fuzzy", "a test"};
            }
            options.format = format;
            return run_place(options, {}, out, err);
          });
    }
  }

  void read_answers() {
    viz::ApiOptions options;
    options.file = path_;
    options.view_deadline = options.query_deadline = kDeadline;
    viz::Api api(options, viz::AccessOptions());
    for (const char* target :
         {"/api/v1/overview",
          "/api/v1/ranks",
          "/api/v1/ranks?value=wait&columns=7&rows=2&digits=3",
          "/api/v1/ranks?begin_ns=-5&end_ns=9223372036854775807&value=calls",
          "/api/v1/functions",
          "/api/v1/functions?series=9&distribution=1",
          "/api/v1/matrix",
          "/api/v1/functions?first_rank=1&end_rank=3&series=5&begin_ns=100000000",
          "/api/v1/matrix?value=waits&blocks=3",
          "/api/v1/timeline",
          "/api/v1/timeline?begin_ns=0&end_ns=40000&most=5",
          "/api/v1/timeline?columns=2000&rows=3&most=1",
          "/api/v1/search?peer=1&most=3",
          "/api/v1/search?function=send&backwards=1",
          "/api/v1/hosts",
          "/api/v1/series?name=idle",
          "/api/v1/series?name=load&columns=5",
          "/api/v1/series?name=cpu.user&world=0",
          "/api/v1/tree",
          "/api/v1/tree?at_ns=2000000000",
          "/api/v1/notices",
          "/api/v1/under_way",
          "/api/v1/waits",
          "/api/v1/alerts",
          "/api/v1/query?sql=SELECT%20*%20FROM%20run",
          "/api/v1/query?sql=SELECT%20*%20FROM%20process",
          "/healthz",
          "/metrics"}) {
      const bool is_text = std::string_view(target).ends_with("healthz") ||
                           std::string_view(target).ends_with("metrics");
      run(target, is_text ? Form::kTerminal : Form::kJson, [&](auto& out, auto&) {
        net::HttpRequest request;
        request.method = "GET";
        request.target = target;
        const std::atomic<bool> given_up = false;
        out << api.answer(request, given_up).body;
        return 0;
      });
    }
    run("news", Form::kJson, [&](auto& out, auto&) {
      out << api.news();
      return 0;
    });
  }

  std::string path_, folder_;
  std::uint64_t number_;
  const std::function<void(const std::string&)>& begins_;
  JsonJudge json_;
  std::string fault_;
  bool is_being_made_ = false;
};

}  // namespace

std::string read_store(const std::string& path, const std::string& folder,
                       const std::vector<std::string>& tables_and_views, std::uint64_t number,
                       const std::function<void(const std::string&)>& begins) {
  return Readers(path, folder, number, begins).read_all(tables_and_views);
}

}  // namespace xylem::testing
