#include "overlay/notice_board.h"

#include <algorithm>
#include <utility>

#include "overlay/node.h"

namespace xylem::overlay {

NoticeBoard::NoticeBoard(Author author) : author_(std::move(author)) {}

double NoticeBoard::tokens_at(Nanos now) const {
  if (counted_at_ == 0) return kBurst;
  const double more = static_cast<double>(now - counted_at_) / static_cast<double>(kRefill);
  return std::min<double>(kBurst, tokens_ + more);
}

wire::Notice NoticeBoard::sign(bool error, std::string text, Nanos now) {
  // Numbers start at the current time, so that a successor with the same pid does not use the same
  // numbers.
  number_ = std::max(number_ + 1, static_cast<std::uint64_t>(std::max<Nanos>(0, now)));
  wire::Notice notice;
  notice.role = author_.role;
  notice.host = author_.host;
  notice.pid = author_.pid;
  notice.error = error;
  notice.text = std::move(text);
  notice.number = number_;
  return notice;
}

void NoticeBoard::keep(wire::Notice notice, Nanos now) {
  if (kept_.size() >= kKept) {
    dropped_ += 1 + kept_.front().notice.dropped;
    kept_.pop_front();
  }
  kept_.push_back({std::move(notice), now});
}

void NoticeBoard::post(Level level, std::string_view line, Nanos now) {
  if (level < Level::kWarn || sending_) return;
  tokens_ = tokens_at(now);
  counted_at_ = now;
  if (tokens_ < 1) {
    ++dropped_;
    return;
  }
  tokens_ -= 1;
  wire::Notice notice =
      sign(level == Level::kError, std::string(line.substr(0, wire::kMaxNoticeBytes)), now);
  notice.dropped = std::exchange(dropped_, 0);
  keep(std::move(notice), now);
  if (wake_) wake_();
}

void NoticeBoard::pass_on(wire::Notice notice, Nanos now) { keep(std::move(notice), now); }

bool NoticeBoard::due(Nanos now) const {
  return !kept_.empty() || (dropped_ > 0 && tokens_at(now) >= 1);
}

std::vector<wire::Notice> NoticeBoard::take(Nanos now) {
  if (dropped_ > 0 && tokens_at(now) >= 1) {
    tokens_ = tokens_at(now) - 1;
    counted_at_ = now;
    wire::Notice notice = sign(false, "more was said than is passed on", now);
    notice.dropped = std::exchange(dropped_, 0);
    kept_.push_back({std::move(notice), now});
  }
  std::vector<wire::Notice> taken;
  for (Kept& kept : kept_) {
    taken.push_back(kept.notice);
    taken.back().age_ns += std::max<Nanos>(0, now - kept.since);
    held_.push_back({std::move(kept), now});
  }
  kept_.clear();
  while (held_.size() > kHeld) held_.pop_front();
  return taken;
}

void NoticeBoard::confirm(Nanos answered) {
  while (!held_.empty() && held_.front().taken + kSilenceLimit <= answered) held_.pop_front();
}

void NoticeBoard::send_again() {
  while (!held_.empty()) {
    kept_.push_front(std::move(held_.back().kept));
    held_.pop_back();
  }
}

}  // namespace xylem::overlay
