#include "ropewalk/engine/rotation_tables.h"

#include <gmock/gmock.h>

#include "ropewalk/engine/test_support.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;

TEST(RotationTables, SpansFollowTheBlocksOfTheSpectrum) {
  const Positions positions =
      make_positions(tiny_model().config(), {{.scheme = "dynamic_ntk", .first = 1}});
  RotationTables tables(positions, 300, 100, 200);
  EXPECT_THAT(tables.spans(positions.layers[0]), ElementsAre(100));
  EXPECT_THAT(tables.spans(positions.layers[1]), ElementsAre(100, 128, 192, 256));
  for (size_t span = 0; span < 4; ++span) {
    const Rotations& rotations = tables.span(positions.layers[1], span);
    EXPECT_EQ(rotations.first_row(), std::max<int64_t>(100, 64 * static_cast<int64_t>(span + 1)));
    EXPECT_EQ(rotations.n_rows(), span == 0 ? 28 : span == 3 ? 44 : 64);
    EXPECT_EQ(&tables.span(positions.layers[1], span), &rotations) << "made twice";
  }
}

TEST(RotationTables, RowScaleIsTheMultiplierTimesTheTemperature) {
  const auto scale = [](const std::string& scheme, int64_t first, int64_t count) {
    return RotationTables(under(tiny_model(), scheme), 400, first, count).row_scale(0);
  };
  EXPECT_THAT(scale("rope", 5, 3), ElementsAre(1, 1, 1));
  EXPECT_THAT(scale("temperature,factor=1.5", 5, 2), ElementsAre(1.5F, 1.5F));
  const std::vector<float> logn = scale("logn", 126, 4);
  EXPECT_EQ(logn[0], 1);
  EXPECT_EQ(logn[1], 1);
  EXPECT_FLOAT_EQ(logn[2], static_cast<float>(std::log(129.0) / std::log(128.0)));
  EXPECT_FLOAT_EQ(logn[3], static_cast<float>(std::log(130.0) / std::log(128.0)));
}

}  // namespace
}  // namespace ropewalk
