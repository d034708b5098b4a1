#include <gtest/gtest.h>

#include "backend/agent.h"
