#include "frontend/control_channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

namespace xylem::frontend {

std::vector<ControlChannel::Command> ControlChannel::read() {
  std::array<char, 256> piece;
  const ssize_t size = ::read(fd_, piece.data(), piece.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (size <= 0) {
    is_closed_ = true;
    return {Command{}};
  }
  text_.append(piece.data(), static_cast<std::size_t>(size));
  std::vector<Command> commands;
  for (std::size_t end; (end = text_.find('\n')) != std::string::npos;) {
    const std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    constexpr std::string_view kFinish = "finish ";
    Command command;
    command.abandons = line == "abandon";
    if (line.starts_with(kFinish)) {
      std::from_chars(line.data() + kFinish.size(), line.data() + line.size(), command.exit_code);
    } else if (!command.abandons) {
      continue;
    }
    commands.push_back(command);
  }
  return commands;
}

void ControlChannel::send_alive() {
  constexpr std::string_view kAlive = "alive\n";
  [[maybe_unused]] const ssize_t sent =
      ::send(fd_, kAlive.data(), kAlive.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace xylem::frontend
