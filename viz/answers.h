#pragma once

// The values of a RunView as JSON; docs/http-api.md says what each field is.

#include <string>

#include "storage/run_view.h"

namespace xylem::viz {

std::string to_json(const storage::Overview& overview);
std::string to_json(const storage::RankGrid& grid, storage::RankValue value);
std::string to_json(const storage::FunctionTable& table);
std::string to_json(const storage::Matrix& matrix, storage::MatrixValue value);
std::string to_json(const storage::Timeline& timeline);
std::string to_json(const storage::HostTable& table);
std::string to_json(const storage::HostSeries& series);
std::string to_json(const storage::Tree& tree);
std::string to_json(const storage::Notices& notices);
std::string to_json(const storage::Alerts& alerts);

}  // namespace xylem::viz
