#pragma once

// A process that cannot start threads.

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace xylem::testing {

/// While this object lives, the system refuses each new thread with default attributes: its stack
/// would be larger than the address space.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_t huge;
    EXPECT_EQ(::pthread_getattr_default_np(&before_), 0);
    EXPECT_EQ(::pthread_getattr_default_np(&huge), 0);
    EXPECT_EQ(::pthread_attr_setstacksize(&huge, kMoreThanAddresses), 0);
    EXPECT_EQ(::pthread_setattr_default_np(&huge), 0);
    ::pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  static constexpr std::size_t kMoreThanAddresses = std::size_t{1} << 60;
  pthread_attr_t before_{};
};

}  // namespace xylem::testing
