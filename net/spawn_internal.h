#pragma once

// Starts a coroutine. If an exception leaves the coroutine, spawn() ends the program with a
// message. asio::detached would ignore the exception.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace xylem::net {

template <typename Executor>
void spawn(const Executor& executor, boost::asio::awaitable<void> task) {
  boost::asio::co_spawn(executor, std::move(task), [](const std::exception_ptr& failure) {
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      std::fprintf(stderr,
                   "xylem: an exception escaped a coroutine: %s (a bug, please report it)\n",
                   e.what());
    }
    std::abort();
  });
}

}  // namespace xylem::net
