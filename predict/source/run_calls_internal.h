#pragma once

// Turns the events of one process into operations.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "predict/collectives/choice.h"
#include "predict/source/run_collectives_internal.h"
#include "predict/trace/processor_ratio.h"
#include "predict/trace/program.h"
#include "predict/trace/sequence.h"
#include "wire/chunk.h"

namespace xylem::predict {

/// What a function does, by its name and class.
struct FunctionUse {
  enum class Kind : std::uint8_t {
    kOther,             ///< What its events say.
    kComputing,         ///< It does not communicate, or it is about files.
    kPoll,              ///< A test or a probe that does not block.
    kCompletesSeveral,  ///< It may complete several requests.
    kSendReceive,       ///< MPI_Sendrecv, and the same without blocking.
    kCollective,
    kInit,
    kFinalize,
    kRefused,  ///< A program cannot express it.
  };
  Kind kind = Kind::kOther;
  bool synchronous = false, buffered = false;  ///< The mode of a send.
  bool about_files = false;
  bool is_sampled = false;  ///< Some of its calls have no record.
  CollectiveFunction collective{};
};
FunctionUse use_of(std::string_view function, std::string_view function_class);

/// What capture adds to a call, in ns (view `record_cost`). 0 if it is not known.
struct RecordCosts {
  Nanos counted = 0, call = 0, message = 0, start = 0, completion = 0, collective = 0, part = 0;
};

/// The share of its computing in which a thread waited for a processor, as far as it is known.
class ProcessorWaits {
 public:
  /// Until `until`, since the time of the call before, the thread waited for `millionths` of the
  /// time in which it was not in MPI. Calls come in the order of time.
  void add(Nanos until, std::uint32_t millionths) { pieces_.push_back({until, millionths}); }
  bool empty() const { return pieces_.empty(); }
  /// The time in which it waited from `begin` to `end`. After the last measurement, its share
  /// continues. Calls come in the order of `begin`.
  Nanos within(Nanos begin, Nanos end);

 private:
  struct Piece {
    Nanos until = 0;
    std::uint32_t millionths = 0;
  };
  std::vector<Piece> pieces_;
  std::size_t at_ = 0;
};

/// Numbers for the tags of all communicators. Tags of MPI_COMM_WORLD below kFirstNumber keep their
/// value. All ranks share one object. Not thread-safe.
class TagNumbers {
 public:
  std::uint32_t number_of(CommId comm, std::int32_t tag);

 private:
  static constexpr std::uint32_t kFirstNumber = 1u << 20;
  std::map<std::pair<CommId, std::int32_t>, std::uint32_t> numbers_;
};

/// Makes the program of a rank. Not thread-safe. Borrows what all ranks share.
class RunCalls {
 public:
  struct Shared {
    std::uint32_t ranks = 0;  ///< How many there are.
    RunCollectives& collectives;
    TagNumbers& tags;
    const CollectiveModel& model;
    std::uint64_t processor_ratio = kSameProcessor;
    /// How many operations all ranks together may still have. A damaged file may ask for many.
    std::uint64_t& operations_left;
  };
  RunCalls(std::uint32_t rank, const Shared& shared, const RecordCosts& costs, ProcessorWaits waits)
      : rank_(rank),
        shared_(shared),
        costs_(costs),
        waits_(std::move(waits)),
        scale_(shared.processor_ratio) {}

  /// The next event of the process, in the order of the begins of calls. `name` is that of the
  /// function, and stays valid. Fails with kInvalidArgument and names rank and function if the
  /// program cannot be made.
  Result<void> add(const wire::Event& recorded, const FunctionUse& use, std::string_view name);

  /// The program. Receives that no call has completed are left out. Call it once.
  Result<RankProgram> finish();

  bool has_files() const { return has_files_; }

 private:
  /// An operation that was started.
  struct Open {
    std::optional<std::uint32_t> send, receive, collective;  ///< Indexes in the sequence.
  };
  /// A call whose parts are still being read.
  struct Pending {
    enum class Kind : std::uint8_t { kNothing, kCompletion, kSendReceive, kCollective };
    Kind kind = Kind::kNothing;
    std::vector<std::uint32_t> operations;      ///< To wait for.
    std::optional<std::uint32_t> receive;       ///< Of kSendReceive.
    wire::Event event;                          ///< Of kCollective.
    CollectiveFunction function;                ///< The same.
    std::string_view name;                      ///< The same.
    std::vector<RunCollectives::Block> blocks;  ///< The same.
  };
  struct Thread {
    bool has_begun = false;
    Strand strand;       ///< If it is not the current one.
    Nanos last_end = 0;  ///< The end of its last call that was not computing.
    Nanos added = 0;     ///< Time that capture has added since.
    Nanos in_files = 0;  ///< Time in calls about files since.
    /// The newest call, and the strand as it was when the call began.
    Nanos call_begin = 0, call_end = 0;
    FunctionId function{};
    Strand before_call;
    /// Of a loop of tests without success: how long the last one took, and how long a turn takes.
    bool polls = false;
    bool poll_is_sampled = false;
    FunctionId poll{};
    Nanos poll_ns = 0;
    std::optional<Nanos> turn_ns{};  ///< The time between two tests, if it is known.
    Pending pending;
  };

  Unexpected refuse(std::string_view name, std::string_view why) const;
  Unexpected too_many() const;
  Result<Thread*> enter(const wire::Event& event);
  void begin_thread(Thread& thread, const wire::Event& event);
  Result<void> end_calls_before(const wire::Event& event);
  Nanos computed(Thread& thread, const wire::Event& event, const FunctionUse& use);
  static Nanos after_polls(Thread& thread, const wire::Event& event, const FunctionUse& use,
                           Nanos gap);
  Nanos counted_cost(const wire::Event& event) const;
  Nanos cost_of(const wire::Event& event, const FunctionUse& use) const;
  Result<void> call(Thread& thread, const wire::Event& event, const FunctionUse& use,
                    std::string_view name);
  Result<void> part(Thread& thread, const wire::Event& event, const FunctionUse& use,
                    std::string_view name);
  Result<void> begin_call(Thread& thread, const wire::Event& event, const FunctionUse& use);
  void operate(Thread& thread, const wire::Event& event, const FunctionUse& use);
  void start(const wire::Event& event, const FunctionUse& use);
  void complete(const wire::Event& event, std::vector<std::uint32_t>& operations);
  Result<void> finalize();
  Result<void> end_call(Thread& thread);
  Result<void> collect(const Pending& pending);
  Operation send_of(const wire::Event& event, const FunctionUse& use) const;
  Operation receive_of(const wire::Event& event) const;

  const std::uint32_t rank_;
  const Shared shared_;
  const RecordCosts costs_;
  ProcessorWaits waits_;
  ComputingScale scale_;
  Sequence sequence_;
  std::vector<Thread> threads_;
  std::uint32_t current_ = 0, first_ = 0;
  bool has_begun_ = false, has_ended_ = false, has_files_ = false;
  std::unordered_map<std::uint64_t, Open> open_;  ///< By request.
};

}  // namespace xylem::predict
