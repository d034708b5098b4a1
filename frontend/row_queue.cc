#include "frontend/row_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/log.h"
#include "wire/tombstone.h"

namespace xylem::frontend {
namespace {

constexpr Nanos kRetryCommit = 1 * kSecond;
// At the end all processes wait for the store, and a full disk is retried only for a short time.
constexpr Nanos kRetryAtEnd = 200 * kMillisecond;
constexpr const char* kNoRoom = "there was no room left on the disk of the store";

// True for reports about the state of the tree. They are dropped if the store cannot take packets.
bool is_sample(const storage::Row& row) {
  return std::holds_alternative<storage::LinkRow>(row) ||
         std::holds_alternative<storage::ClockRow>(row) ||
         std::holds_alternative<storage::HostFactsRow>(row) ||
         std::holds_alternative<storage::NoticeRow>(row);
}

}  // namespace

void RowQueue::start(Nanos epoch, Nanos now) {
  epoch_ = epoch;
  next_commit_ = now + options_.commit_interval;
}

void RowQueue::add(storage::Row row) {
  CHECK(!std::holds_alternative<wire::Packet>(row));
  push(std::move(row));
}

void RowQueue::push(storage::Row row) {
  if (is_sample(row) && (gives_up_ || waiting_bytes_ > options_.waiting_bytes)) return;
  const auto* packet = std::get_if<wire::Packet>(&row);
  waiting_bytes_ += sizeof row + (packet != nullptr ? packet->payload.size() : 0);
  waiting_.rows.push_back(std::move(row));
}

void RowQueue::add_packet(wire::Packet packet, Nanos now) {
  if (waiting_bytes_ > options_.waiting_bytes) {
    if (!std::exchange(told_slow_, true)) {
      log(Level::kWarn, "the store is too slow; the hosts keep the data that waits");
    }
    refused_.insert(packet.id.sources);
    return;
  }
  if (gives_up_) {
    wire::Acknowledgement answer;
    IntervalSet ended;
    give_up(std::move(packet), answer, ended);
    if (!ended.empty()) last_progress_ = now;
    return owner_.on_settled(answer, ended);
  }
  push(std::move(packet));
  record_if_large(now);
}

void RowQueue::on_timer(Nanos now) {
  if (now >= next_commit_) record(now);
}

void RowQueue::on_recorded(Nanos now) {
  take_recorded(now);
  record_if_large(now);
}

void RowQueue::record_if_large(Nanos now) {
  if (waiting_bytes_ >= options_.commit_bytes && failed_.rows.empty()) record(now);
}

void RowQueue::record(Nanos now) {
  if (recording_ || is_closed() || gives_up_) return;
  // At the end of the run all leaves wait for acknowledgements. So the next commit begins directly
  // after this one.
  next_commit_ = is_draining_ ? now : now + options_.commit_interval;
  storage::Batch batch = std::exchange(failed_, {});
  if (batch.rows.empty()) {
    batch = std::exchange(waiting_, {});
    recording_bytes_ = std::exchange(waiting_bytes_, 0);
  }
  if (batch.rows.empty()) return;
  recording_since_ = now;
  if (batch.at_ns == 0) batch.at_ns = now - epoch_;
  recording_ = true;
  recorder_.record(std::move(batch));
  take_recorded(now);
}

void RowQueue::take_recorded(Nanos now) {
  auto done = recorder_.take();
  if (!done) return;
  recording_ = false;
  longest_commit_ns_ = std::max(longest_commit_ns_, now - recording_since_);
  if (end_is_recorded_) return owner_.on_end_recorded(*std::move(done));
  acknowledge(*std::move(done), now);
  if (exit_code_ && !is_superseded_) record_end(now);
}

void RowQueue::acknowledge(storage::Recorded done, Nanos now) {
  if (done.failure) return note_failure(std::move(done), now);
  is_full_ = false;
  for (const std::string& sentence : done.refused) {
    log(Level::kError, "a packet was rejected", {{"why", sentence}});
  }
  if (!trouble_.empty()) log(Level::kWarn, "the store can be written again");
  trouble_.clear();
  stored_packets_ += done.stored.size();
  stored_bytes_ += recording_bytes_;
  if (!done.stored.empty()) last_progress_ = now;
  wire::Acknowledgement answer{std::move(done.stored), std::move(done.missing)};
  ask_for_refused(answer);
  owner_.on_settled(answer, done.ended);
}

void RowQueue::note_failure(storage::Recorded done, Nanos now) {
  if (done.failure->code == Code::kSuperseded) {
    is_superseded_ = true;
    return owner_.on_superseded(*done.failure);
  }
  if (trouble_ != done.failure->message) {
    trouble_ = done.failure->message;
    log(Level::kError, "the store cannot be written; the hosts keep the data", {{"why", trouble_}});
  }
  failed_ = std::move(done.batch);
  next_commit_ = now + (is_draining_ ? kRetryAtEnd : kRetryCommit);
  is_full_ = done.failure->code == Code::kExhausted;
  give_up_if_full(now);
}

// Hosts resend dropped packets by themselves, but after growing pauses. So the packets are
// requested.
void RowQueue::ask_for_refused(wire::Acknowledgement& answer) {
  if (refused_.empty() || waiting_bytes_ > options_.waiting_bytes / 2) return;
  wire::PacketId everything;
  everything.stream = wire::kEveryStream;
  everything.wave_end = 1;
  everything.sources = std::exchange(refused_, {});
  answer.resend.push_back(std::move(everything));
}

void RowQueue::begin_end(Nanos now) {
  ending_since_ = now;
  next_commit_ = std::min(next_commit_, now + kRetryAtEnd);
}

void RowQueue::drain(Nanos now) {
  is_draining_ = true;
  next_commit_ = std::min(next_commit_, now);
}

// Turns all waiting and later packets into tombstones. They are stored with the end in one
// transaction, since each transaction needs space.
void RowQueue::give_up_if_full(Nanos now) {
  if (gives_up_ || !is_full_ || recording_ || is_closed() || !is_draining_) return;
  if (now - ending_since_ < options_.full_limit) return;
  gives_up_ = true;
  log(Level::kError, "the store is full: data that is not stored is counted as lost");
  storage::Batch batch = take_unstored();
  waiting_bytes_ = 0;
  wire::Acknowledgement answer;
  IntervalSet ended;
  for (storage::Row& row : batch.rows) {
    if (auto* packet = std::get_if<wire::Packet>(&row)) {
      give_up(std::move(*packet), answer, ended);
    } else {
      push(std::move(row));
    }
  }
  last_progress_ = now;
  ask_for_refused(answer);
  owner_.on_settled(answer, ended);
}

// Returns the rows of a failed commit, then the waiting rows.
storage::Batch RowQueue::take_unstored() {
  storage::Batch batch = std::exchange(failed_, {});
  std::ranges::move(std::exchange(waiting_, {}).rows, std::back_inserter(batch.rows));
  return batch;
}

void RowQueue::give_up(wire::Packet packet, wire::Acknowledgement& answer, IntervalSet& ended) {
  answer.stored.push_back(packet.id);
  if (wire::is_end(packet)) ended.insert(packet.id.sources);
  if (wire::may_be_given_up(packet)) packet = wire::make_tombstone(packet, kNoRoom);
  push(std::move(packet));
}

void RowQueue::end(int exit_code, Nanos now) {
  exit_code_ = exit_code;
  record_end(now);
}

// If a batch is in progress, take_recorded() calls this function again after the batch.
void RowQueue::record_end(Nanos now) {
  if (recording_) return;
  storage::Batch batch = take_unstored();
  batch.gives_up = gives_up_;
  batch.at_ns = now - epoch_;
  batch.end = storage::RunEnd{*exit_code_, realtime_now()};
  recording_ = true;
  end_is_recorded_ = true;
  recorder_.record(std::move(batch));
  take_recorded(now);
}

Nanos RowQueue::next_write() const {
  const bool something_waits = !waiting_.rows.empty() || !failed_.rows.empty();
  return something_waits && !recording_ && !gives_up_ ? next_commit_ : kForever;
}

wire::LinkReport RowQueue::take_report(Nanos now) {
  wire::LinkReport report;
  report.queue_bytes = waiting_bytes_ + (recording_ ? recording_bytes_ : 0);
  report.sent_bytes = stored_bytes_;
  report.sent_packets = stored_packets_;
  report.round_trip_ns = std::max(std::exchange(longest_commit_ns_, 0), writing_for(now));
  return report;
}

}  // namespace xylem::frontend
