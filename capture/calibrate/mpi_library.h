#pragma once

// Calls an MPI library that is found at run time. So one program works with MPICH and with Open
// MPI, and needs neither when it is built.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace xylem::calibrate {

/// The MPI library of this process. Not copyable; there is one in a process, and it is used by one
/// thread. If a call fails, MPI ends the job with its own message, as in any program that does not
/// change MPI's error handler.
///
/// All messages are bytes on MPI_COMM_WORLD.
class MpiLibrary {
 public:
  /// Loads `name`, a file name or a path. If it is "", tries the usual names of the library that
  /// belongs to the launcher; the launcher is known by the variables that it sets.
  ///
  /// Fails with kNotFound if no library can be loaded; the message has the loader's reason. Fails
  /// with kInvalidArgument if the library is not an MPI library that this program knows: one with
  /// the ABI of MPICH (also Intel MPI) or of Open MPI.
  static Result<MpiLibrary> load(const std::string& name);

  MpiLibrary(MpiLibrary&& other) noexcept;
  MpiLibrary& operator=(MpiLibrary&&) = delete;
  ~MpiLibrary();

  /// Path of the library's file.
  const std::string& path() const;

  void init();
  void finalize();
  int rank() const;
  int size() const;

  void send(const void* from, std::size_t bytes, int to, int tag) const;
  void receive(void* into, std::size_t bytes, int from, int tag) const;
  /// Lets MPI work on messages, and receives none: looks for a message with a tag that is not used.
  void progress(int unused_tag) const;
  /// Starts an operation, number `index` of at most kMaxRequests.
  void start_send(const void* from, std::size_t bytes, int to, int tag, int index);
  void start_receive(void* into, std::size_t bytes, int from, int tag, int index);
  /// Waits for the operations 0 to count - 1, which have all been started.
  void wait_all(int count);

  static constexpr int kMaxRequests = 64;

 private:
  struct Functions;
  explicit MpiLibrary(std::unique_ptr<Functions> functions);
  std::unique_ptr<Functions> functions_;
};

/// The names under which load("") looks for the library, the most likely first, if the process has
/// the variables `environment` (NAME=VALUE).
std::vector<std::string> library_names(std::span<const char* const> environment);

}  // namespace xylem::calibrate
