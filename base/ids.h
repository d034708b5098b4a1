#pragma once

// Ids are types, so that a rank is never passed where a leaf is meant. Only Rank and WorldId are
// shown to people; the others are only compared.

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace xylem {

/// A process of a world, by its number in that world's MPI_COMM_WORLD.
enum class Rank : std::uint32_t {};
/// One MPI_COMM_WORLD of a run, numbered by the front end in order of appearance, from 0.
enum class WorldId : std::uint32_t {};
/// An index into the host list at hand.
enum class HostId : std::uint32_t {};
/// A node of the overlay tree. The front end is 0.
enum class NodeId : std::uint32_t {};
/// A source of packets: the agent of one host. Assigned by the front end, kept across restarts.
enum class LeafId : std::uint32_t {};
/// A numbered flow of packets.
enum class StreamId : std::uint32_t {};
/// A function of the table that a back end registers; unique within its run and world.
enum class FunctionId : std::uint16_t {};
/// One monitored process of a leaf, in order of registration, from 1. Lane 0 is the leaf itself.
enum class Lane : std::uint32_t {};

constexpr NodeId kFrontEndNode{0};
constexpr Lane kLeafLane{0};

/// The number behind an id, for printing and indexing.
template <typename Id>
constexpr auto raw(Id id) noexcept {
  return static_cast<std::underlying_type_t<Id>>(id);
}

}  // namespace xylem
