#include "cli/progress.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ropewalk {
namespace {

TEST(DurationText, TwoUnitsAtMost) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(0.6), "1 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(59.6), "1 min 0 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(3599.7), "1 h 0 min");
  EXPECT_EQ(duration_text(7500), "2 h 5 min");
}

TEST(TimeLeft, GoesByTheShareThatIsDone) {
  EXPECT_EQ(time_left(30, 0.25), ", 1 min 30 s left");
  EXPECT_EQ(time_left(30, 1), ", 0 s left");
  EXPECT_EQ(time_left(30, 1.5), ", 0 s left");
}

TEST(TimeLeft, IsNotToldWhereItIsNotKnown) {
  EXPECT_EQ(time_left(30, 0.01), "");
  EXPECT_EQ(time_left(30, std::nan("")), "");
  EXPECT_EQ(time_left(30, -1), "");
}

TEST(ProgressLine, IsSilentWhereThereIsNoTerminal) {
  testing::internal::CaptureStderr();
  {
    ProgressLine line("work");
    for (int step = 0; step <= 10; ++step) line.update(step / 10.0);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace ropewalk
