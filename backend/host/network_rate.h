#pragma once

// How fast the interface is through which a host reaches another.

#include <optional>
#include <string>

namespace xylem::backend {

/// Gbit/s of the interface that leads to `host` (a numeric address): what its driver says, or less
/// where a queueing discipline that sends at a rate (tbf, htb) stands in front of it. Nothing is
/// sent, and nothing is waited for: the kernel answers at once. nullopt: not known, as of the
/// loopback interface, of most virtual ones, where the cable is out, and where no route leads.
std::optional<double> network_rate(const std::string& host);

/// The same of an interface, by its name.
std::optional<double> interface_rate(const std::string& interface);

}  // namespace xylem::backend
