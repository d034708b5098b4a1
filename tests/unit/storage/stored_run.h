#pragma once

// A fixture: a store writes a run to a temporary file, and the test queries that file.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/read/query.h"
#include "storage/write/store.h"
#include "tests/unit/storage/packets.h"

namespace xylem::storage {

/// Returns one line for each row, with bars between the cells.
inline std::string lines_of(const std::vector<std::vector<Value>>& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += (i == 0 ? "" : "|") + (row[i].index() == 0 ? "NULL" : to_text(row[i]));
    }
    text += '\n';
  }
  return text;
}

class StoredRun : public ::testing::Test {
 protected:
  explicit StoredRun(const RunFacts& facts = {}, const std::string& name = "run.db",
                     std::shared_ptr<const StreamFold> fold = {})
      : path_(folder_.file(name)), run_id_(facts.run_id), fold_(std::move(fold)) {
    SqliteOptions options;
    options.path = path_;
    options.fold = fold_;
    auto made = make_sqlite_store(options);
    EXPECT_TRUE(made) << made.error().message;
    store_ = std::move(*made);
    EXPECT_TRUE(store_->begin_run(facts));
  }

  PutOutcome put(const wire::Packet& packet) {
    const auto outcome = store_->put(packet);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : PutOutcome{};
  }

  /// The front end dies without a commit, and a successor continues. Returns what the successor
  /// finds.
  Past resume() {
    store_.reset();
    auto resumed = resume_sqlite_store({path_, path_, run_id_, {}, fold_});
    EXPECT_TRUE(resumed) << resumed.error().message;
    if (!resumed) return {};
    store_ = std::move(resumed->store);
    return std::move(resumed->past);
  }

  /// Commits, then queries the file. Returns the rows as lines, or the error's message.
  std::string ask(const std::string& sql) {
    EXPECT_TRUE(store_->commit());
    auto run = RunFile::open(path_);
    if (!run) return run.error().message;
    const auto rows = (*run)->rows(sql);
    return rows ? lines_of(*rows) : rows.error().message;
  }

  Folder folder_;
  const std::string path_;
  std::unique_ptr<Store> store_;

 private:
  const std::string run_id_;
  const std::shared_ptr<const StreamFold> fold_;
};

}  // namespace xylem::storage
