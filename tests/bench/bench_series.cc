// What auxiliary services cost: taking a sample of this host, its bytes on the way and in the
// file, and the front end's work.
//
//   bench_series [HOSTS] [SECONDS] [FOLDER]      defaults: 256 hosts, 60 s at 1 Hz, /tmp
//
// Samples of this host are taken beforehand, once a tenth of a second; each of the simulated hosts
// sends them in turn. Time is CPU time of this thread. Beside it, what the same numbers take as
// rows of (host, time, metric, value) in a table without rowid, which is what the series were not
// made.

#include <sqlite3.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "backend/host/host_series.h"
#include "base/check.h"
#include "base/log.h"
#include "storage/read/query.h"
#include "storage/write/store.h"
#include "tests/support/fake_network.h"
#include "wire/registration.h"

namespace {

using namespace xylem;

double cpu() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Taken {
  wire::SeriesLayout layout;
  std::vector<wire::SeriesSample> samples;
  double seconds = 0;  // CPU, each.
};

Taken take_samples(int count) {
  testing::FakeNetwork network;
  backend::HostSeries host;
  Taken taken;
  double spent = 0;
  for (int i = 0; i <= count; ++i) {
    const double begin = cpu();
    host.begin(network, monotonic_now());
    auto reading = host.take(network, 0);
    wire::SeriesSample sample;
    sample.at_ns = reading->at_ns;
    sample.span_ns = reading->span_ns;
    sample.layout = wire::key_of(host.layout());
    sample.entries = std::move(reading->entries);
    wire::encode(sample);
    if (i != 0) spent += cpu() - begin;
    if (i != 0) taken.samples.push_back(std::move(sample));
    usleep(100'000);
  }
  taken.layout = host.layout();
  taken.seconds = spent / count;
  return taken;
}

std::size_t file_bytes(const std::string& path) {
  std::error_code error;
  return std::filesystem::file_size(path, error);
}

struct Stored {
  double seconds = 0;
  std::size_t bytes = 0;
};

Stored store_series(const Taken& taken, int hosts, int seconds, const std::string& path) {
  auto store = *storage::make_sqlite_store({path, true});
  CHECK(store->begin_run({}));
  for (int host = 0; host < hosts; ++host) {
    wire::Registration registration;
    registration.host = "node" + std::to_string(host);
    registration.services = {{Lane{1}, "host"}};
    registration.layouts = {taken.layout};
    const auto leaf = static_cast<std::uint32_t>(host);
    CHECK(
        store->put(wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(leaf)},
                                encode(registration))));
  }
  CHECK(store->commit());
  Stored stored;
  for (int second = 0; second < seconds; ++second) {
    std::vector<wire::Packet> packets;
    const auto number = static_cast<std::uint64_t>(second);
    for (int host = 0; host < hosts; ++host) {
      wire::SeriesSample sample =
          taken.samples[static_cast<std::size_t>(host + second) % taken.samples.size()];
      sample.at_ns = second * kSecond;
      sample.captured = number + 1;
      packets.emplace_back(wire::PacketId{wire::kSeriesStream, Lane{1}, number, number + 1,
                                          IntervalSet::of(static_cast<std::uint32_t>(host))},
                           wire::encode(sample));
    }
    const double begin = cpu();
    for (const wire::Packet& packet : packets) CHECK(store->put(packet));
    CHECK(store->commit());
    stored.seconds += cpu() - begin;
  }
  CHECK(store->end_run(0, 0));
  store.reset();
  stored.bytes = file_bytes(path);
  return stored;
}

Stored store_rows(const Taken& taken, int hosts, int seconds, const std::string& path) {
  std::filesystem::remove(path);
  sqlite3* database = nullptr;
  CHECK(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  const auto execute = [database](const char* sql) {
    CHECK(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  };
  execute(
      "PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
      "CREATE TABLE value(leaf, at_ns, metric, value, PRIMARY KEY(leaf, at_ns, metric))"
      " WITHOUT ROWID");
  sqlite3_stmt* insert = nullptr;
  sqlite3_prepare_v2(database, "INSERT INTO value VALUES(?,?,?,?)", -1, &insert, nullptr);
  Stored stored;
  const double begin = cpu();
  for (int second = 0; second < seconds; ++second) {
    execute("BEGIN");
    for (int host = 0; host < hosts; ++host) {
      const auto& numbers =
          taken.samples[static_cast<std::size_t>(host + second) % taken.samples.size()]
              .entries[0]
              .numbers;
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (std::isnan(numbers[i])) continue;
        sqlite3_bind_int(insert, 1, host);
        sqlite3_bind_int64(insert, 2, second * kSecond);
        sqlite3_bind_int64(insert, 3, static_cast<sqlite3_int64>(i));
        sqlite3_bind_double(insert, 4, numbers[i]);
        sqlite3_step(insert);
        sqlite3_reset(insert);
      }
    }
    execute("COMMIT");
  }
  stored.seconds = cpu() - begin;
  sqlite3_finalize(insert);
  sqlite3_close(database);
  stored.bytes = file_bytes(path);
  return stored;
}

double query_seconds(const std::string& path, const char* sql) {
  auto run = *storage::RunFile::open(path);
  const double begin = cpu();
  CHECK(run->rows(sql));
  return cpu() - begin;
}

}  // namespace

int main(int argc, char** argv) {
  set_log_sink([](Level, std::string_view) {});
  const int hosts = argc > 1 ? std::atoi(argv[1]) : 256;
  const int seconds = argc > 2 ? std::atoi(argv[2]) : 60;
  const std::string folder = argc > 3 ? argv[3] : "/tmp";
  const std::string path = folder + "/bench_series-" + std::to_string(getpid()) + ".db";
  const Taken taken = take_samples(30);
  const double samples = static_cast<double>(hosts) * seconds;
  std::size_t bytes = 0;
  for (const auto& sample : taken.samples) bytes += wire::encode(sample).size();
  const std::size_t each = bytes / taken.samples.size();
  std::printf("a sample of this host       %zu values, %.0f us of CPU, %zu bytes on the way\n",
              taken.layout.rows.size(), 1e6 * taken.seconds, each);

  const Stored series = store_series(taken, hosts, seconds, path);
  std::printf(
      "stored as series            %.1f us of CPU and %.0f bytes a sample; %d hosts at 1 Hz: "
      "%.2f %% of a core\n",
      1e6 * series.seconds / samples, static_cast<double>(series.bytes) / samples, hosts,
      100 * series.seconds / seconds);
  std::printf("one name of all hosts       %.0f us a sample to read\n",
              1e6 / samples *
                  query_seconds(path, "SELECT avg(value) FROM host_metric WHERE name = 'load.1m'"));
  std::printf(
      "all names of one host       %.0f us a sample to read\n",
      1e6 / seconds * query_seconds(path, "SELECT sum(value) FROM host_metric WHERE leaf = 0"));
  std::filesystem::remove(path);
  const Stored rows = store_rows(taken, hosts, seconds, path);
  std::printf("the same as rows            %.1f us of CPU and %.0f bytes a sample\n",
              1e6 * rows.seconds / samples, static_cast<double>(rows.bytes) / samples);
  std::printf("100 hosts, a day, 1 Hz      %.1f GB as series, %.0f GB as rows\n",
              86400e2 * static_cast<double>(series.bytes) / samples / 1e9,
              86400e2 * static_cast<double>(rows.bytes) / samples / 1e9);
  std::filesystem::remove(path);
  return 0;
}
