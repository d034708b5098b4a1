#pragma once

// The values of a RunView as JSON; docs/http-api.md says what each field is.

#include <cstdint>
#include <string>

#include "storage/read/run_view.h"

namespace xylem::viz {

std::string to_json(const storage::Overview& overview);
/// `digits`: number of significant digits of a cell; the rest is an exponent: 123456 becomes 1235e2
/// with 4 digits. 12345 stays whole, since 1235e1 is longer.
/// 0: all digits. Totals of rows are never rounded.
std::string to_json(const storage::RankGrid& grid, storage::RankValue value,
                    std::uint64_t digits = 0);
std::string to_json(const storage::FunctionTable& table);
std::string to_json(const storage::Matrix& matrix, storage::MatrixValue value);
/// `digits` as for a grid.
std::string to_json(const storage::Timeline& timeline, std::uint64_t digits = 0);
std::string to_json(const storage::HostTable& table);
/// `digits` as for a grid; 0: as many as needed to read the same number back.
std::string to_json(const storage::HostSeries& series, std::uint64_t digits = 0);
std::string to_json(const storage::Tree& tree);
std::string to_json(const storage::Notices& notices);
std::string to_json(const storage::Alerts& alerts);

}  // namespace xylem::viz
