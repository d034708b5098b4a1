#include "backend/host/network_rate.h"

#include <linux/ethtool.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/unique_fd.h"
#include "net/runtime.h"

namespace xylem::backend {
namespace {

constexpr double kBitsPerGbit = 1e9;

/// Returns the driver's rate in bits per second. It is read through a socket, so it belongs to this
/// network namespace even if /sys belongs to another one.
std::optional<double> driver_rate(const std::string& interface) {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return std::nullopt;
  // The request is sent twice: first to get the number of words after the settings, then with space
  // for them.
  constexpr std::size_t kMasks = 3, kMaxWords = 127;
  alignas(ethtool_link_settings)
      std::array<char, sizeof(ethtool_link_settings) + kMasks * kMaxWords * 4>
          answer{};
  const auto settings = reinterpret_cast<ethtool_link_settings*>(answer.data());
  const auto ask = [&](int words) {
    settings->cmd = ETHTOOL_GLINKSETTINGS;
    settings->link_mode_masks_nwords = static_cast<std::int8_t>(words);
    ifreq request{};
    interface.copy(request.ifr_name, sizeof request.ifr_name - 1);
    request.ifr_data = answer.data();
    return ::ioctl(socket.get(), SIOCETHTOOL, &request) == 0;
  };
  if (!ask(0) || !ask(-settings->link_mode_masks_nwords)) return std::nullopt;
  const auto mbit = static_cast<std::int32_t>(settings->speed);
  if (mbit <= 0) return std::nullopt;  // SPEED_UNKNOWN is -1.
  return mbit * 1e6;
}

template <typename T>
std::optional<T> copy_of(std::span<const char> bytes) {
  T value{};
  if (bytes.size() < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// The value of an attribute in a row of them.
std::span<const char> attribute(std::span<const char> row, unsigned short type) {
  while (const auto header = copy_of<rtattr>(row)) {
    if (header->rta_len < sizeof(rtattr) || header->rta_len > row.size()) break;
    if ((header->rta_type & NLA_TYPE_MASK) == type) {
      return row.subspan(RTA_LENGTH(0), header->rta_len - RTA_LENGTH(0));
    }
    row = row.subspan(std::min<std::size_t>(RTA_ALIGN(header->rta_len), row.size()));
  }
  return {};
}

/// Returns the rate of a discipline or class in bits per second; nullopt if it has no rate.
std::optional<double> rate_of(std::span<const char> attributes) {
  const auto kind_bytes = attribute(attributes, TCA_KIND);
  const std::string_view kind(kind_bytes.data(), ::strnlen(kind_bytes.data(), kind_bytes.size()));
  const auto options = attribute(attributes, TCA_OPTIONS);
  std::optional<std::uint64_t> bytes;
  if (kind == "tbf") {
    if (const auto parameters = copy_of<tc_tbf_qopt>(attribute(options, TCA_TBF_PARMS))) {
      bytes = parameters->rate.rate;
    }
    if (auto wide = copy_of<std::uint64_t>(attribute(options, TCA_TBF_RATE64))) bytes = wide;
  } else if (kind == "htb") {
    if (const auto parameters = copy_of<tc_htb_opt>(attribute(options, TCA_HTB_PARMS))) {
      bytes = parameters->ceil.rate;
    }
    if (auto wide = copy_of<std::uint64_t>(attribute(options, TCA_HTB_CEIL64))) bytes = wide;
  }
  if (!bytes || *bytes == 0) return std::nullopt;
  return static_cast<double>(*bytes) * 8;
}

/// Returns the rate in a dump: the lowest rate of all disciplines, or the highest rate of an htb's
/// classes. A packet passes every discipline, but only one class.
std::optional<double> dumped_rate(unsigned interface, bool classes) {
  const UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket) return std::nullopt;
  struct {
    nlmsghdr header;
    tcmsg about;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = classes ? RTM_GETTCLASS : RTM_GETQDISC;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.about.tcm_ifindex = static_cast<int>(interface);
  if (::send(socket.get(), &request, sizeof request, 0) < 0) return std::nullopt;
  std::optional<double> rate;
  alignas(nlmsghdr) std::array<char, 16384> answer;
  constexpr int kMaxPieces = 256;
  for (int piece = 0; piece < kMaxPieces; ++piece) {
    // The kernel makes the next piece when it gets the request or when the last piece was read, so
    // this does not wait.
    const ssize_t size = ::recv(socket.get(), answer.data(), answer.size(), MSG_DONTWAIT);
    if (size <= 0) return std::nullopt;
    std::span<const char> rest(answer.data(), static_cast<std::size_t>(size));
    while (const auto header = copy_of<nlmsghdr>(rest)) {
      if (header->nlmsg_type == NLMSG_DONE) return rate;
      if (header->nlmsg_type == NLMSG_ERROR) return std::nullopt;
      if (header->nlmsg_len < NLMSG_HDRLEN || header->nlmsg_len > rest.size()) return std::nullopt;
      const auto body = rest.subspan(NLMSG_HDRLEN, header->nlmsg_len - NLMSG_HDRLEN);
      const auto about = copy_of<tcmsg>(body);
      if (about && about->tcm_ifindex == static_cast<int>(interface)) {
        const auto one = rate_of(body.subspan(std::min(NLMSG_ALIGN(sizeof(tcmsg)), body.size())));
        if (one && (!rate || (classes ? *one > *rate : *one < *rate))) rate = one;
      }
      rest = rest.subspan(std::min<std::size_t>(NLMSG_ALIGN(header->nlmsg_len), rest.size()));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> interface_rate(const std::string& interface) {
  const unsigned index = ::if_nametoindex(interface.c_str());
  if (index == 0) return std::nullopt;
  std::optional<double> least = driver_rate(interface);
  for (const bool classes : {false, true}) {
    const auto rate = dumped_rate(index, classes);
    if (rate && (!least || *rate < *least)) least = rate;
  }
  if (!least) return std::nullopt;
  return *least / kBitsPerGbit;
}

std::optional<double> network_rate(const std::string& host) {
  const auto from = net::address_towards(host);
  if (!from) return std::nullopt;
  for (const net::InterfaceAddress& it : net::interface_addresses()) {
    if (it.address == *from) return it.loopback ? std::nullopt : interface_rate(it.interface);
  }
  return std::nullopt;
}

}  // namespace xylem::backend
