#include "overlay/link_report.h"

#include <gtest/gtest.h>

#include "tests/support/fake_network.h"

namespace xylem::overlay {
namespace {

// A link has counted pings of its own before its parent has told where the root's clock stands.
TEST(LinkReport, TellsNoOffsetBeforeTheRootsClockIsKnown) {
  testing::FakeNetwork network;
  network.links[LinkId{1}] = {};
  network.link_status.offset_ns = 5 * kSecond;
  network.link_status.error_ns = kMicrosecond;
  const wire::LinkReport early = make_link_report(NodeId{3}, network, LinkId{1});
  EXPECT_EQ(early.offset_ns, 0);
  EXPECT_LT(early.error_ns, 0);
  network.link_status.clock_known = true;
  const wire::LinkReport later = make_link_report(NodeId{3}, network, LinkId{1});
  EXPECT_EQ(later.offset_ns, 5 * kSecond);
  EXPECT_EQ(later.error_ns, kMicrosecond);
}

}  // namespace
}  // namespace xylem::overlay
