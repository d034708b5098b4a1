#include <gtest/gtest.h>

#include "backend/guard.h"
