#pragma once

// Named like one of xylem's on purpose.
constexpr bool ours_was_not_meant = true;
