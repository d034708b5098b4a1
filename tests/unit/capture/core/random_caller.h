#pragma once

// A thread that makes random MPI calls over the stub MPI and counts them itself: what the capture
// library must have counted too.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <ostream>
#include <random>
#include <vector>

#include "tests/unit/capture/core/linked_capture.h"

namespace xylem::capture {

constexpr int kInts = 3;  // Elements of each message.
constexpr std::uint64_t kBytes = kInts * sizeof(int);

struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Traffic&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Traffic& traffic) {
  return out << traffic.messages << " messages, " << traffic.bytes << " bytes";
}

using Matrix = std::map<int, Traffic>;  // By world rank.

/// What some calls came to, as their callers count it or as the library recorded it.
struct Account {
  Calls calls;
  Matrix sent, received;

  void call(std::uint16_t function) { ++calls[function]; }
  void send(int world_rank, std::uint64_t bytes = kBytes) { add(sent, world_rank, {1, bytes}); }
  void receive(int world_rank, std::uint64_t bytes = kBytes) {
    add(received, world_rank, {1, bytes});
  }
  void add(const Account& other) {
    for (const auto& [function, count] : other.calls) calls[function] += count;
    for (const auto& [rank, traffic] : other.sent) add(sent, rank, traffic);
    for (const auto& [rank, traffic] : other.received) add(received, rank, traffic);
  }

 private:
  static void add(Matrix& matrix, int world_rank, const Traffic& traffic) {
    matrix[world_rank].messages += traffic.messages;
    matrix[world_rank].bytes += traffic.bytes;
  }
};

/// Requests that one thread has made and another one waits for.
class HandedOver {
 public:
  void put(MPI_Request request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }
  bool take(MPI_Request* request) {
    const std::lock_guard lock(mutex_);
    if (requests_.empty()) return false;
    *request = requests_.back();
    requests_.pop_back();
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<MPI_Request> requests_;
};

/// A thread's program: random calls, each counted by itself.
class Caller {
 public:
  Caller(unsigned seed, HandedOver& handed_over) : random_(seed), handed_over_(handed_over) {}

  void make(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      switch (random_() % 7) {
        case 0:
          blocking();
          break;
        case 1:
          one_request();
          break;
        case 2:
          several_requests();
          break;
        case 3:
          over_threads();
          break;
        case 4:
          collectives();
          break;
        case 5:
          duplicate();
          break;
        default:
          split();
          break;
      }
    }
  }
  void take_what_is_left() {
    MPI_Request request = MPI_REQUEST_NULL;
    while (handed_over_.take(&request)) wait_for_any_source(request);
  }
  const Account& own() const { return own_; }

 private:
  int any_rank() { return static_cast<int>(random_() % kStubWorldSize); }

  void blocking() {
    const int to = any_rank(), from = any_rank();
    MPI_Send(buffer_, kInts, MPI_INT, to, 1, MPI_COMM_WORLD);
    own_.call(kMPI_Send);
    own_.send(to);
    MPI_Recv(buffer_, kInts, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    own_.call(kMPI_Recv);
    own_.receive(from);
    MPI_Status status;
    MPI_Sendrecv(buffer_, 1, MPI_DOUBLE, from, 1, buffer_, kInts, MPI_INT, MPI_ANY_SOURCE,
                 MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    own_.call(kMPI_Sendrecv);
    own_.send(from, sizeof(double));
    own_.receive(kStubWorldSize - 1);
    EXPECT_EQ(status.MPI_SOURCE, kStubWorldSize - 1);
    EXPECT_EQ(status.MPI_TAG, kStubTag);
    int flag = 1;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    own_.call(kMPI_Iprobe);
    EXPECT_EQ(flag, 0);
  }

  MPI_Request receive_from(int source, MPI_Comm comm = MPI_COMM_WORLD) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(buffer_, kInts, MPI_INT, source, 1, comm, &request);
    own_.call(kMPI_Irecv);
    return request;
  }

  void wait_for_any_source(MPI_Request request) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    own_.call(kMPI_Wait);
    own_.receive(kStubWorldSize - 1);
  }

  void one_request() {
    const int from = any_rank();
    MPI_Request request = receive_from(from);
    for (int flag = 0; flag == 0;) {
      MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      own_.call(kMPI_Test);
    }
    own_.receive(from);
    const int to = any_rank();
    MPI_Isend(buffer_, kInts, MPI_INT, to, 1, MPI_COMM_WORLD, &request);
    own_.call(kMPI_Isend);
    own_.send(to);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    own_.call(kMPI_Wait);
  }

  void several_requests() {
    constexpr int kRequests = 5;
    MPI_Request requests[kRequests];
    for (MPI_Request& request : requests) {
      const int from = any_rank();
      request = receive_from(from);
      own_.receive(from);
    }
    int index = -1, completed = 0, indices[kRequests];
    MPI_Status status;
    MPI_Waitany(kRequests, requests, &index, &status);
    own_.call(kMPI_Waitany);
    MPI_Waitsome(kRequests, requests, &completed, indices, MPI_STATUSES_IGNORE);
    own_.call(kMPI_Waitsome);
    EXPECT_EQ(completed, 2);
    MPI_Waitall(kRequests, requests, MPI_STATUSES_IGNORE);
    own_.call(kMPI_Waitall);
  }

  void over_threads() {
    MPI_Request request = MPI_REQUEST_NULL;
    if (handed_over_.take(&request)) wait_for_any_source(request);
    handed_over_.put(receive_from(MPI_ANY_SOURCE));
  }

  void collectives() {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    own_.call(kMPI_Allreduce);
    MPI_Bcast(buffer_, kInts, MPI_INT, 0, MPI_COMM_WORLD);
    own_.call(kMPI_Bcast);
    MPI_Barrier(MPI_COMM_WORLD);
    own_.call(kMPI_Barrier);
    MPI_Wtime();
    own_.call(kMPI_Wtime);
  }

  void duplicate() {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    own_.call(kMPI_Comm_dup);
    use(comm, any_rank());
  }

  // The second member is world rank 1 + color, see stub_mpi.h.
  void split() {
    const int color = static_cast<int>(random_() % (kStubWorldSize - 1));
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, color, 0, &comm);
    own_.call(kMPI_Comm_split);
    use(comm, 1, 1 + color);
  }

  void use(MPI_Comm comm, int rank) { use(comm, rank, rank); }
  void use(MPI_Comm comm, int rank, int world_rank) {
    MPI_Send(buffer_, kInts, MPI_INT, rank, 1, comm);
    own_.call(kMPI_Send);
    own_.send(world_rank);
    MPI_Request request = receive_from(rank, comm);
    MPI_Comm_free(&comm);  // Which a program may do before the request completes.
    own_.call(kMPI_Comm_free);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    own_.call(kMPI_Wait);
    own_.receive(world_rank);
  }

  std::mt19937 random_;
  HandedOver& handed_over_;
  Account own_;
  int buffer_[kInts] = {};
};

}  // namespace xylem::capture
