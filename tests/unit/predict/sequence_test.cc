#include "predict/trace/sequence.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

using testing::compute;
using testing::goal;
using testing::receive;
using testing::send;

TEST(Sequence, StartsTheNextOperationAfterTheEndOrTheStartOfThePreviousOne) {
  Sequence sequence;
  EXPECT_EQ(sequence.run(compute(5)), 0u);
  EXPECT_EQ(sequence.start(receive(8, 1)), 1u);
  EXPECT_EQ(sequence.run(send(8, 1)), 2u);
  sequence.run(compute(6));
  EXPECT_EQ(sequence.size(), 4u);
  EXPECT_EQ(std::move(sequence).finish(),
            goal("num_ranks 2\nrank 0 {\n"
                 "l1: calc 5\nl2: recv 8b from 1\nl3: send 8b to 1\nl4: calc 6\n"
                 "l2 requires l1\nl3 irequires l2\nl4 requires l3\n}\nrank 1 { }\n")
                .ranks[0]);
}

TEST(Sequence, WaitsForOperationsAndForWhatIsBefore) {
  Sequence sequence;
  const std::array posted{sequence.start(receive(8, 1)), sequence.start(send(8, 1))};
  sequence.run(compute(5));
  sequence.wait_for(posted);
  // The wait for the end of the previous operation includes its start.
  const std::array last{sequence.start(send(9, 1))};
  sequence.wait_for(last);
  EXPECT_EQ(std::move(sequence).finish(),
            goal("num_ranks 2\nrank 0 {\n"
                 "l1: recv 8b from 1\nl2: send 8b to 1\nl3: calc 5\nl4: calc 0\n"
                 "l5: send 9b to 1\nl6: calc 0\n"
                 "l2 irequires l1\nl3 irequires l2\n"
                 "l4 requires l3\nl4 requires l1\nl4 requires l2\n"
                 "l5 requires l4\nl6 requires l5\n}\nrank 1 { }\n")
                .ranks[0]);
}

TEST(Sequence, HasStrandsWithCpusOfTheirOwn) {
  Sequence sequence;
  sequence.run(compute(5));
  sequence.start(receive(8, 1));
  Strand other = sequence.strand().on_cpu(3);  // Goes on when the receive has been posted.
  sequence.run(send(8, 1));
  const Strand first = sequence.strand();
  sequence.go_on(other);
  sequence.run(compute(6));
  const std::array last{sequence.run(compute(7))};
  other = sequence.strand();
  sequence.go_on(first);
  sequence.run(compute(9));
  sequence.wait_for(last);
  sequence.go_on(other);
  sequence.run(compute(8));
  EXPECT_EQ(std::move(sequence).finish(),
            goal("num_ranks 2\nrank 0 {\n"
                 "l1: calc 5\nl2: recv 8b from 1\nl3: send 8b to 1\nl4: calc 6 cpu 3\n"
                 "l5: calc 7 cpu 3\nl6: calc 9\nl7: calc 0\nl8: calc 8 cpu 3\n"
                 "l2 requires l1\nl3 irequires l2\nl4 irequires l2\nl5 requires l4\n"
                 "l6 requires l3\nl7 requires l6\nl7 requires l5\nl8 requires l5\n}\nrank 1 { }\n")
                .ranks[0]);
}

TEST(Sequence, ReplacesAnOperation) {
  Sequence sequence;
  sequence.go_on(Strand().on_cpu(2));
  sequence.run(compute(5));
  const std::uint32_t posted = sequence.start(receive(0, 0));
  sequence.run(compute(6));
  sequence.replace(posted, receive(8, 1, 7));
  EXPECT_EQ(std::move(sequence).finish(),
            goal("num_ranks 2\nrank 0 {\n"
                 "l1: calc 5 cpu 2\nl2: recv 8b from 1 tag 7 cpu 2\nl3: calc 6 cpu 2\n"
                 "l2 requires l1\nl3 irequires l2\n}\nrank 1 { }\n")
                .ranks[0]);
}

}  // namespace
}  // namespace xylem::predict
