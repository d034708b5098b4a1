#pragma once

// Each kind of id is a separate type, so that a rank is never passed where a leaf is meant.

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace xylem {

/// The number of a process in its MPI_COMM_WORLD.
enum class Rank : std::uint32_t {};
/// One MPI_COMM_WORLD of a run. The front end numbers the worlds from 0 in order of appearance.
enum class WorldId : std::uint32_t {};
/// The index of a host in a list. Each function or struct says which list it means.
enum class HostId : std::uint32_t {};
/// A node of the overlay tree. The front end is 0.
enum class NodeId : std::uint32_t {};
/// A source of packets, for example the agent of one host. The front end assigns the id. A leaf
/// that restarts keeps its id.
enum class LeafId : std::uint32_t {};
/// A flow of packets of one kind through the tree.
enum class StreamId : std::uint32_t {};
/// An index into the function table that a back end registers; unique within its run and world.
enum class FunctionId : std::uint16_t {};
/// The number of a process within its leaf, from 1. Lane 0 is the leaf itself.
enum class Lane : std::uint32_t {};
/// A communicator, as the capture library numbers it. All its processes use the same id, and it is
/// unique within its world: 0 is MPI_COMM_WORLD, the others are hashes of the members and of the
/// number of earlier communicators with these members. They collide only by chance. Exception: each
/// process has its own MPI_COMM_SELF, with id 1.
enum class CommId : std::uint32_t {};
/// A thread of a process. When a thread first calls MPI, it gets the lowest free index, from 0.
/// When it has ended, another thread may get its index. An event source chooses its own indices.
enum class ThreadIndex : std::uint32_t {};

/// A place in a program or library that calls MPI. It is a hash of the file's build id, or of its
/// path if it has none, and of the place in the file. So it is the same in all processes. Two
/// places have the same id only by chance. 0 means that it is not known.
enum class CallSiteId : std::uint64_t {};

constexpr NodeId kFrontEndNode{0};
constexpr Lane kLeafLane{0};

/// The number behind an id, for printing and indexing.
template <typename Id>
constexpr auto raw(Id id) noexcept {
  return static_cast<std::underlying_type_t<Id>>(id);
}

}  // namespace xylem
