#pragma once

// The values of a RunView as JSON; docs/http-api.md says what each field is.

#include <cstdint>
#include <string>

#include "storage/read/run_view.h"

namespace xylem::viz {

std::string to_json(const storage::Overview& overview);
/// Cells with so many significant digits, the others as an exponent: 123456 of 4 digits is 1235e2.
/// 12345 stays whole: 1235e1 would be longer.
/// 0: all of them. Rows' totals are whole.
std::string to_json(const storage::RankGrid& grid, storage::RankValue value,
                    std::uint64_t digits = 0);
std::string to_json(const storage::FunctionTable& table);
std::string to_json(const storage::Matrix& matrix, storage::MatrixValue value);
/// `digits` as of a grid.
std::string to_json(const storage::Timeline& timeline, std::uint64_t digits = 0);
std::string to_json(const storage::HostTable& table);
/// `digits` as of a grid; 0: as many as it takes to read the same number back.
std::string to_json(const storage::HostSeries& series, std::uint64_t digits = 0);
std::string to_json(const storage::Tree& tree);
std::string to_json(const storage::Notices& notices);
std::string to_json(const storage::Alerts& alerts);

}  // namespace xylem::viz
