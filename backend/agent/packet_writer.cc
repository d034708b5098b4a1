#include "backend/agent/packet_writer.h"

#include <utility>

#include "base/log.h"

namespace xylem::backend {

bool PacketWriter::write(const Draft& draft, Nanos now) {
  const std::uint64_t given_up = journal_.given_up_packets();
  auto appended = journal_.append(draft);
  if (journal_.given_up_packets() != given_up && !told_full_) {
    told_full_ = true;
    log(Level::kWarn, "journal full, oldest packets are given up; the front end is too slow",
        {{"calls", journal_.given_up_calls()}});
  }
  if (!appended && appended.error().code == Code::kAlreadyExists) return true;
  if (!appended) {
    retry_at_ = now + full_pause_;
    return false;
  }
  written_.push_back(key_of(draft.packet.id));
  return true;
}

std::vector<PacketKey> PacketWriter::take_written() { return std::exchange(written_, {}); }

}  // namespace xylem::backend
