#pragma once

// This header has the name of one of xylem's headers on purpose.
constexpr bool ours_was_not_meant = true;
