#pragma once

// The result of `xylem calibrate` for people and for programs.

#include <string>

#include "predict/calibration/estimate.h"
#include "predict/calibration/samples.h"

namespace xylem {

/// A table of the figures with their intervals, the check, and the disk. docs/predict.md has an
/// example.
std::string calibration_text(const predict::Calibration& of, const predict::Samples& samples);

/// The same as one JSON object, see docs/json.md.
std::string calibration_json(const predict::Calibration& of, const predict::Samples& samples);

}  // namespace xylem
