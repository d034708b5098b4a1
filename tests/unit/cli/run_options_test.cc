#include "cli/run_options.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/config.h"
#include "cli/account_line.h"
#include "cli/settings.h"
#include "launch/setup.h"
#include "net/address.h"
#include "placement/fuzzy_rules.h"

namespace xylem {
namespace {

Result<RunOptions> options_of(const std::vector<SettingValue>& flags,
                              const std::vector<std::string>& environment = {}) {
  auto values = layer_settings(run_settings(), flags, "", environment);
  if (!values) return unexpected(std::move(values.error()));
  return check_settings(*values);
}

TEST(RunOptions, HaveDefaultsThatAreValid) {
  const auto options = options_of({});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->session.window, 250 * kMillisecond);
  EXPECT_EQ(options->session.gathering.settle, 2 * kSecond);
  EXPECT_EQ(tree::to_text(options->session.shape), "kary:16");
  EXPECT_FALSE(options->session.chunks);
}

TEST(RunOptions, HaveTheDefaultsOfTheStructs) {
  const auto plain = read_run_options({}, {});
  ASSERT_TRUE(plain) << plain.error().message;
  for (const Setting& it : run_settings()) {
    SCOPED_TRACE(it.name + " = " + it.default_value);
    const auto read = read_run_options({{it.name, it.default_value, "default"}}, {});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(read->session == plain->session);
    EXPECT_TRUE(read->start == plain->start);
    EXPECT_EQ(read->store, plain->store);
    EXPECT_EQ(read->overwrite, plain->overwrite);
    EXPECT_EQ(read->quiet, plain->quiet);
    EXPECT_EQ(read->log_level, plain->log_level);
  }
}

TEST(RunOptions, AFlagGoesBeforeTheEnvironment) {
  const auto options =
      options_of({{"window", "1s", "--window"}}, {"XYLEM_WINDOW=2s", "XYLEM_SETTLE=3s"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->session.window, kSecond);
  EXPECT_EQ(options->session.gathering.settle, 3 * kSecond);
}

TEST(RunOptions, ShareAFileWithOtherVerbs) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("xylem-shared-" + std::to_string(::getpid()) + ".toml");
  const auto layered = [&](const char* text) {
    std::ofstream(path) << text;
    auto values = layer_settings(run_settings(), {}, path.string(), {});
    std::filesystem::remove(path);
    return values;
  };
  const auto values = layered("window = \"1s\"\nmax-per-host = 4\n[fuzzy.weights]\nidle = 1\n");
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(value_of(*values, "window").value, "1s");
  const auto wrong = layered("[fuzzy.weights]\nidle = 0.5\n");
  ASSERT_FALSE(wrong) << "what is wrong for another verb is told all the same";
  EXPECT_EQ(wrong.error().message.rfind(path.string() + ":2: the weights sum to 0.5", 0), 0u)
      << wrong.error().message;
}

TEST(RunOptions, ErrorsNameWhereTheValueStands) {
  const struct {
    const char* name;
    const char* value;
  } bad[] = {{"window", "soon"}, {"window", "1ms"},    {"detail", "all"}, {"port", "65536"},
             {"ring", "1000"},   {"placement", "odd"}, {"settle", "-1s"}, {"topology", "kary:x"},
             {"test-size", "x"}, {"log-level", "loud"}};
  for (const auto& it : bad) {
    const std::string flag = std::string("--") + it.name;
    const auto options = options_of({{it.name, it.value, flag}});
    ASSERT_FALSE(options) << it.name << " " << it.value;
    EXPECT_EQ(options.error().code, Code::kInvalidArgument);
    EXPECT_EQ(options.error().message.rfind(flag + ": ", 0), 0u) << options.error().message;
  }
}

TEST(RunOptions, RefuseHostsThatDoNotGoTogether) {
  const struct {
    std::vector<SettingValue> flags;
    const char* sentence;
  } bad[] = {
      {{{"extra-hosts", "gate[1-2]", "--extra-hosts"}}, "--extra-hosts: no agent on these hosts"},
      {{{"comm-on", "extra", "--comm-on"}}, "--comm-on: there are no extra hosts"},
      {{{"extra-hosts", "gate", "--extra-hosts"},
        {"launcher", "ssh", "--launcher"},
        {"comm-on", "compute", "--comm-on"}},
       "--comm-on: compute does not use the hosts of --extra-hosts"},
      {{{"extra-hosts", "gate", "--extra-hosts"},
        {"launcher", "ssh", "--launcher"},
        {"reserve-cores", "1", "--reserve-cores"}},
       "--reserve-cores: the cores of --extra-hosts are not known"},
      {{{"extra-hosts", "gate,gate", "--extra-hosts"}, {"launcher", "ssh", "--launcher"}},
       "--extra-hosts: host gate is named twice"},
      {{{"placement", "fuzzy", "--placement"}, {"facts-every", "0", "--facts-every"}},
       "--facts-every: fuzzy placement needs measurements"},
      {{{"facts-every", "10ms", "--facts-every"}}, "--facts-every: '10ms' is not 0"},
      {{{"max-per-host", "-1", "--max-per-host"}}, "--max-per-host: '-1' is not a number"},
      {{{"reserve-cores", "all", "--reserve-cores"}}, "--reserve-cores: 'all' is neither"},
      {{{"comm-on", "none", "--comm-on"}}, "--comm-on: 'none' is not one of"},
  };
  for (const auto& it : bad) {
    const auto options = options_of(it.flags);
    ASSERT_FALSE(options) << it.sentence;
    EXPECT_EQ(options.error().message.rfind(it.sentence, 0), 0u) << options.error().message;
  }
  EXPECT_TRUE(options_of({{"extra-hosts", "gate", "--extra-hosts"},
                          {"launcher", "ssh", "--launcher"},
                          {"comm-on", "extra", "--comm-on"},
                          {"placement", "fuzzy", "--placement"}}));
}

TEST(RunOptions, ArePrintedWithTheRulesOfFuzzyPlacementSoThatAFileGivesThemAgain) {
  const char* text =
      "placement = \"fuzzy\"\n[fuzzy]\ncomposition = \"max-min\"\n[fuzzy.comparisons]\n"
      "memory = [1, \"1/3\"]\nidle = [3, 1]\n";
  const auto entries = parse_config(text, "x.toml");
  ASSERT_TRUE(entries) << entries.error().message;
  const auto values = layer_settings(run_settings(), {}, "", {});
  const auto options = check_settings(*values, *entries);
  ASSERT_TRUE(options) << options.error().message;
  const auto again = parse_config(print_settings(*values, options->sections), "again.toml");
  ASSERT_TRUE(again) << again.error().message;
  const auto is_rule = [](const ConfigEntry& it) { return placement::is_fuzzy_key(it.key); };
  std::vector<ConfigEntry> rules;
  std::copy_if(again->begin(), again->end(), std::back_inserter(rules), is_rule);
  EXPECT_EQ(*placement::read_fuzzy_rules(rules, "again.toml"),
            *placement::read_fuzzy_rules(options->sections, "x.toml"));
}

TEST(RunOptions, RefuseAListWhereOneValueBelongs) {
  const auto path = std::filesystem::temp_directory_path() / ("x-" + std::to_string(::getpid()));
  const std::pair<const char*, const char*> cases[] = {
      {"[stream.e]\n\naggregation = [\"sum\", \"min\"]\n",
       ":3: 'stream.e.aggregation' takes one value"},
      {"topology = [\"flat\", \"kary:2\"]\n", ":1: 'topology' takes one value"},
      {"[fuzzy.comparisons]\nmemory = [1, \"1/3\"]\nidle = [3, 1]\n", ""},
  };
  for (const auto& [text, why] : cases) {
    std::ofstream(path) << text;
    const auto values = layer_settings(run_settings(), {}, path, {});
    ASSERT_EQ(values.has_value(), *why == 0) << text;
    if (values) continue;
    EXPECT_EQ(values.error().message.rfind(path.string() + why, 0), 0u) << values.error().message;
  }
  std::filesystem::remove(path);
}

TEST(RunOptions, ASwitchIsTrueOrFalseAndNothingElse) {
  for (const char* name : {"overwrite", "quiet"}) {
    const std::string flag = std::string("--") + name;
    const auto options = options_of({{name, "banana", flag}});
    ASSERT_FALSE(options) << name;
    EXPECT_EQ(options.error().message, flag + ": 'banana' is neither true nor false");
  }
  const auto options = options_of({{"overwrite", "false", "--overwrite"}});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_FALSE(options->overwrite);
}

TEST(RunOptions, ATimeHasAUnitAndIsShownWhenItIsOutOfRange) {
  const auto bare = options_of({{"window", "5", "--window"}});
  ASSERT_FALSE(bare);
  EXPECT_NE(bare.error().message.find("'5' has no unit"), std::string::npos)
      << bare.error().message;
  const auto large = options_of({{"window", "1h", "--window"}});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().message, "--window: '1h' is not from 10ms to 60s");
  EXPECT_TRUE(options_of({{"settle", "0", "--settle"}})) << "nothing needs no unit";
}

TEST(RunOptions, SamplingIsCheckedAsTheRanksReadIt) {
  for (const char* good : {"", "none", "MPI_Test=100", "MPI_Test*=50,MPI_Send=65535"}) {
    EXPECT_TRUE(options_of({{"sample", good, "--sample"}})) << good;
  }
  const struct {
    const char* value;
    const char* item;
  } bad[] = {{"MPI_Send=0", "MPI_Send=0"},
             {"MPI_Test=5,MPI_Send=4294967296", "MPI_Send=4294967296"},
             {"MPI_Sendd=5,MPI_Recv=1", "MPI_Sendd=5"},
             {"MPI_Test", "MPI_Test"},
             {"=5", "=5"}};
  for (const auto& it : bad) {
    const auto options = options_of({{"sample", it.value, "--sample"}});
    ASSERT_FALSE(options) << it.value;
    EXPECT_EQ(options.error().message.rfind("--sample: '" + std::string(it.item) + "' is", 0), 0u)
        << options.error().message;
  }
}

TEST(RunOptions, TheFileMayBeNamedByTheEnvironment) {
  const auto folder = std::filesystem::temp_directory_path();
  const auto path = [&](const char* name) {
    return (folder / ("xylem-" + std::to_string(::getpid()) + name)).string();
  };
  std::ofstream(path("a.toml")) << "window = '1s'\n";
  std::ofstream(path("b.toml")) << "window = '2s'\n";
  const std::vector<std::string> environment = {"XYLEM_CONFIG=" + path("a.toml")};
  const auto named = layer_settings(run_settings(), {}, "", environment);
  const auto overruled = layer_settings(run_settings(), {}, path("b.toml"), environment);
  std::filesystem::remove(path("a.toml"));
  std::filesystem::remove(path("b.toml"));
  ASSERT_TRUE(named) << named.error().message;
  ASSERT_TRUE(overruled) << overruled.error().message;
  EXPECT_EQ(check_settings(*named)->session.window, kSecond);
  EXPECT_EQ(check_settings(*overruled)->session.window, 2 * kSecond) << "a flag goes before";
}

TEST(RunOptions, PrintAsAFileThatGivesTheSameAgain) {
  const auto values = layer_settings(
      run_settings(), {{"sample", "MPI_Test=3", "--sample"}, {"overwrite", "true", "--overwrite"}},
      "", {});
  ASSERT_TRUE(values);
  const std::string text = print_settings(*values);
  const auto entries = parse_config(text, "printed");
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_EQ(entries->size(), run_settings().size());
  for (const ConfigEntry& entry : *entries) {
    for (const SettingValue& value : *values) {
      if (value.name != entry.key) continue;
      EXPECT_EQ(entry.value, value.value) << entry.key;
    }
  }
}

TEST(RunOptions, AreReadByTheFrontEndAsTheyWereChecked) {
  const auto entries = parse_config(
      "[fuzzy.weights]\nidle = 1\n[service.host]\ninterval = \"3s\"\n[alerts]\nloss = 7\n"
      "[stream.e]\naggregation = \"sum\"\n",
      "x.toml");
  ASSERT_TRUE(entries) << entries.error().message;
  const auto values = layer_settings(run_settings(),
                                     {{"settle", "7s", "--settle"},
                                      {"detail", "trace", "--detail"},
                                      {"exclude", "node[1-2]", "--exclude"},
                                      {"max-per-host", "3", "--max-per-host"},
                                      {"tls", "off", "--tls"},
                                      {"quiet", "true", "--quiet"}},
                                     "", {});
  ASSERT_TRUE(values) << values.error().message;
  const auto checked = check_settings(*values, *entries);
  ASSERT_TRUE(checked) << checked.error().message;
  launch::Setup setup;
  setup.settings = checked->values;
  setup.sections = checked->sections;
  const auto received = launch::parse_setup(launch::to_json(setup));
  ASSERT_TRUE(received) << received.error().message;
  const auto read = read_run_options(received->settings, received->sections);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(print_plan(*read), print_plan(*checked));
  EXPECT_EQ(read->session.gathering.settle, 7 * kSecond);
  EXPECT_TRUE(read->session.chunks);
  EXPECT_EQ(read->session.choice.room.excluded, (std::vector<std::string>{"node1", "node2"}));
  EXPECT_EQ(read->session.choice.room.max_per_host, 3u);
  EXPECT_EQ(read->session.choice.rules, checked->session.choice.rules);
  ASSERT_EQ(read->session.services.size(), 2u);  // The service process is on by default.
  EXPECT_EQ(read->session.services[0].interval_ns, 3 * kSecond);
  EXPECT_FALSE(read->start.tls);
  EXPECT_TRUE(read->quiet);
}

TEST(RunOptions, ATopologyFileHasAnAbsolutePathAndIsOnlyOpenedByTheCheck) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("xylem-options-" + std::to_string(::getpid()) + ".topo");
  std::ofstream(path) << "head:0 ;\n";
  const auto relative = std::filesystem::relative(path);
  const auto checked = options_of({{"topology", "file:" + relative.string(), "--topology"}});
  std::filesystem::remove(path);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_TRUE(std::filesystem::path(checked->session.shape.path).is_absolute());

  const std::vector<SettingValue> sent = {
      {"topology", tree::to_text(checked->session.shape), "--topology"}};
  const auto read = read_run_options(sent, {});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->session.shape.path, checked->session.shape.path);
}

TEST(RunOptions, AnUnknownKeyOfTheFileIsNamedWithItsLine) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("xylem-options-" + std::to_string(::getpid()) + ".toml");
  std::ofstream(path) << "window = '1s'\n\nwimdow = '2s'\n";
  const auto values = layer_settings(run_settings(), {}, path.string(), {});
  std::filesystem::remove(path);
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().message.rfind(path.string() + ":3: 'wimdow'", 0), 0u)
      << values.error().message;
}

TEST(ParseAddresses, ReadsListsAndBrackets) {
  const auto addresses = net::parse_addresses("10.0.0.1:4711,[fe80::1]:80");
  ASSERT_TRUE(addresses) << addresses.error().message;
  ASSERT_EQ(addresses->size(), 2u);
  EXPECT_EQ(addresses->at(0).host, "10.0.0.1");
  EXPECT_EQ(addresses->at(0).port, 4711);
  EXPECT_EQ(addresses->at(1).host, "fe80::1");
  EXPECT_EQ(net::address_text("10.0.0.1", 4711) + "," + net::address_text("fe80::1", 80),
            "10.0.0.1:4711,[fe80::1]:80");
  for (const char* bad : {"", "x", ":1", "x:", "x:99999", "x:1y", "a:1,,b:2"}) {
    EXPECT_FALSE(net::parse_addresses(bad)) << bad;
  }
}

TEST(AccountSentence, AddsUpAndSaysWhatIsMissing) {
  frontend::SessionOutcome outcome;
  EXPECT_NE(account_sentence(outcome, "x.db").find("no MPI process has registered"),
            std::string::npos);
  EXPECT_EQ(account_sentence(outcome, "x.db", false, {"mpirun refuses", true}),
            "no MPI process has registered: mpirun refuses; x.db");
  EXPECT_EQ(account_sentence(outcome, "x.db", false, {"mpirun exited with code 3", false}),
            "no MPI process has registered (mpirun exited with code 3; otherwise perhaps there is "
            "none, its MPI is linked statically, it makes no call that xylem sees, or its launcher "
            "passes no environment: see `xylem exec`); x.db");
  outcome.hosts = 1;
  outcome.account = {{WorldId{0}, Rank{0}, 1000000, 999999, 1, true},
                     {WorldId{0}, Rank{1}, 234567, 234567, 0, true}};
  EXPECT_EQ(
      account_sentence(outcome, "x.db"),
      "2 ranks on 1 host: 1,234,567 calls captured = 1,234,566 stored + 1 lost, complete; x.db");
  outcome.account[0].complete = false;
  outcome.trouble = "host b did not report its end";
  EXPECT_NE(account_sentence(outcome, "x.db").find("NOT complete (host b did not report its end)"),
            std::string::npos);
}

}  // namespace
}  // namespace xylem
