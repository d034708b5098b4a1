#pragma once

// The rate of the network interface through which this host reaches another.

#include <optional>
#include <string>

namespace xylem::backend {

/// Gbit/s of the interface that leads to `host` (a numeric address): the rate from its driver, or a
/// lower limit of its queueing discipline (tbf, htb). Nothing is sent, and the kernel answers at
/// once. nullopt: unknown, for example for the loopback interface, most virtual ones, without a
/// cable, or without a route.
std::optional<double> network_rate(const std::string& host);

/// The same for an interface by name.
std::optional<double> interface_rate(const std::string& interface);

}  // namespace xylem::backend
