#pragma once

// The answers of a RunView as JSON. docs/http-api.md describes the fields.

#include <cstdint>
#include <string>

#include "storage/read/run_view.h"

namespace xylem::viz {

std::string to_json(const storage::Overview& overview);
std::string to_json(const storage::RunFindings& findings);
/// `digits` is the number of significant digits of a cell; 0: all digits. A longer number is
/// rounded and written with an exponent: with 4 digits, 123456 becomes 1235e2. If this is not
/// shorter, the number is written in full: 12345, not 1235e1. Totals of rows are never rounded.
std::string to_json(const storage::RankGrid& grid, storage::RankValue value,
                    std::uint64_t digits = 0);
std::string to_json(const storage::FunctionTable& table);
std::string to_json(const storage::Matrix& matrix, storage::MatrixValue value);
/// `digits` has the same meaning as for a RankGrid.
std::string to_json(const storage::Timeline& timeline, std::uint64_t digits = 0);
std::string to_json(const storage::Waits& waits);
std::string to_json(const storage::CallSites& sites);
std::string to_json(const storage::CallSearch& search);
std::string to_json(const storage::UnderWay& under_way);
std::string to_json(const storage::HostTable& table);
/// `digits` is the number of significant digits; 0: enough digits to read the same number again.
std::string to_json(const storage::SeriesTable& series, std::uint64_t digits = 0);
std::string to_json(const storage::TreeSnapshot& tree);
std::string to_json(const storage::Notices& notices);
std::string to_json(const storage::Alerts& alerts);

}  // namespace xylem::viz
