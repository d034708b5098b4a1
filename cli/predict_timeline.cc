#include "cli/predict_timeline.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <ostream>
#include <string_view>
#include <utility>

#include "base/quantity_text.h"

namespace xylem {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;
constexpr std::array<std::string_view, 3> kStates = {"run", "io", "ready"};
constexpr std::array<std::string_view, 4> kActivities = {"compute", "send", "receive", "file"};
constexpr Nanos kFirstProgress = kSecond / 2;
constexpr Nanos kBetweenProgress = kSecond / 5;
constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

Result<TimelineFile> TimelineFile::create(const std::string& path) {
  auto file = NewFile::create(path, true);
  if (!file) return unexpected(std::move(file.error()));
  return TimelineFile(*std::move(file));
}

TimelineFile::TimelineFile(NewFile file)
    : file_(std::move(file)), text_("rank,begin_ns,end_ns,state,what,peer,bytes\n") {}

void TimelineFile::add(const predict::TimelineRow& row) {
  add_number(row.rank);
  text_ += ',';
  add_time(row.begin);
  text_ += ',';
  add_time(row.end);
  text_ += ',';
  text_ += kStates[static_cast<std::size_t>(row.state)];
  text_ += ',';
  text_ += kActivities[static_cast<std::size_t>(row.doing.what)];
  text_ += ',';
  const predict::Activity what = row.doing.what;
  const bool is_message = what == predict::Activity::kSend || what == predict::Activity::kReceive;
  if (is_message) add_number(row.doing.peer);
  text_ += ',';
  if (what != predict::Activity::kCompute) add_number(row.doing.bytes);
  text_ += '\n';
  if (text_.size() >= kBufferBytes) flush();
}

Result<void> TimelineFile::finish() {
  flush();
  return written_ ? file_.finish() : written_;
}

void TimelineFile::add_number(std::uint64_t number) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text_.append(digits.data(), end);
}

/// Nanoseconds, with as many digits after the point as the time has.
void TimelineFile::add_time(predict::Ticks time) {
  add_number(time / ticks_per_ns_);
  std::uint64_t rest = time % ticks_per_ns_;
  if (rest == 0) return;
  text_ += '.';
  for (std::uint64_t digit = ticks_per_ns_ / 10; rest > 0; digit /= 10) {
    text_ += static_cast<char>('0' + rest / digit);
    rest %= digit;
  }
}

void TimelineFile::flush() {
  if (written_) written_ = file_.write(text_);
  text_.clear();
}

HeldSignals::HeldSignals() {
  ::sigemptyset(&held_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&held_, signal);
  ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
}

HeldSignals::~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

std::optional<int> HeldSignals::take() {
  const timespec now{};
  const int signal = ::sigtimedwait(&held_, nullptr, &now);
  return signal > 0 ? std::optional(signal) : std::nullopt;
}

Progress::Progress(std::ostream& err, std::uint64_t events)
    : err_(err), total_(events), next_(monotonic_now() + kFirstProgress) {}

Progress::~Progress() {
  if (is_shown_) err_ << kEraseLine << std::flush;
}

void Progress::show(std::uint64_t events) {
  if (events < events_) ++replay_;
  events_ = events;
  const Nanos now = monotonic_now();
  if (now < next_) return;
  next_ = now + kBetweenProgress;
  is_shown_ = true;
  const std::uint64_t percent = total_ == 0
                                    ? 0
                                    : static_cast<std::uint64_t>(100 * static_cast<double>(events) /
                                                                 static_cast<double>(total_));
  err_ << kEraseLine
       << "xylem predict: " << (replay_ > 1 ? "replay " + std::to_string(replay_) + ", " : "")
       << count_text(events) << " of " << count_text(total_) << " events (" << percent << " %)"
       << std::flush;
}

std::uint64_t count_events(const predict::Program& program) {
  std::uint64_t events = predict::count_operations(program);
  for (const predict::RankProgram& rank : program.ranks) {
    events += static_cast<std::uint64_t>(
        std::ranges::count(rank.operations(), predict::Kind::kSend, &predict::Operation::kind));
  }
  return events;
}

}  // namespace xylem
