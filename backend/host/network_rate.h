#pragma once

// The rate of the network interface through which this host reaches another.

#include <optional>
#include <string>

namespace xylem::backend {

/// Rate, in Gbit/s, of the interface that leads to `host` (a numeric address). This is the rate
/// from the driver, or the limit of the interface's queueing discipline (tbf, htb), whichever is
/// lower. Sends nothing and does not wait. Returns nullopt if the rate is unknown, as for the
/// loopback interface and most virtual interfaces. Also returns nullopt if no cable is connected,
/// or if there is no route to `host`.
std::optional<double> network_rate(const std::string& host);

/// Rate, in Gbit/s, of the interface with this name; nullopt if the rate is unknown.
std::optional<double> interface_rate(const std::string& interface);

}  // namespace xylem::backend
