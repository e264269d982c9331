#include "ropewalk/engine/positions.h"

#include <gmock/gmock.h>

#include "ropewalk/engine/test_support.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Four layers, the third without positions; heads of 8, trained at 128 tokens.
ModelConfig four_layers() {
  ModelConfig config;
  config.shape.head_dim = 8;
  set_groups(config, {"rotary", "rotary", "none", "rotary"}, [](const std::string& name) {
    LayerGroup group;
    if (name == "rotary") {
      group.rotary = plain_rotary({.base = 10000.0, .frequency_dim = 8, .trained_length = 128},
                                  {PairOrder::kHalf, 8, 8});
    }
    return group;
  });
  return config;
}

double first_inv_freq(const Positions& positions, size_t layer) {
  return positions.schemes[positions.layers[layer]].spectrum.at(1).inv_freq().front();
}

TEST(MakePositions, LayersOfOneSchemeShareIt) {
  const Positions positions = make_positions(four_layers(), {});
  EXPECT_EQ(positions.schemes.size(), 2u);
  EXPECT_THAT(positions.layers, ElementsAre(0, 0, 1, 0));
  EXPECT_EQ(positions.angles, AngleMode::kExact);
  EXPECT_EQ(make_positions(four_layers(), {}, AngleMode::kFloat32).angles, AngleMode::kFloat32);
}

TEST(MakePositions, ALayerWithoutPositionsStaysSo) {
  const Positions positions = make_positions(four_layers(), {{.scheme = "linear,factor=2"}});
  EXPECT_EQ(first_inv_freq(positions, 0), 0.5);
  EXPECT_EQ(first_inv_freq(positions, 2), 0);
  const Rotary& still = positions.schemes[positions.layers[2]];
  EXPECT_EQ(still.layout.head_dim, 8);
  EXPECT_EQ(still.distance.at(100, 3), DoubleDouble(97));
}

TEST(MakePositions, RangesOfLayers) {
  const Positions positions =
      make_positions(four_layers(), {{.scheme = "linear,factor=2", .first = 1, .last = 3},
                                     {.scheme = "cap,window=10", .first = 3}});
  EXPECT_EQ(first_inv_freq(positions, 0), 1);
  EXPECT_EQ(first_inv_freq(positions, 1), 0.5);
  EXPECT_EQ(first_inv_freq(positions, 3), 0.5);
  const auto far = [&](size_t layer) {
    return static_cast<double>(positions.schemes[positions.layers[layer]].distance.at(100, 0));
  };
  EXPECT_EQ(far(1), 100);
  EXPECT_EQ(far(3), 10);
}

// A spectrum of its own for every token has no form that an exact curve or a mask could take.
TEST(MakePositions, RefusesWhatKernelsHaveNoFormFor) {
  const auto message = [](const std::string& scheme, AngleMode angles) {
    return message_of([&] { make_positions(four_layers(), {{.scheme = scheme}}, angles); });
  };
  EXPECT_THAT(message("stale_dynamic_ntk+log_tail,window=4", AngleMode::kExact),
              HasSubstr("no exact curve"));
  EXPECT_THAT(message("stale_dynamic_ntk+full_turn", AngleMode::kExact), HasSubstr("no pair mask"));
  EXPECT_THAT(message("log_tail,window=4", AngleMode::kFloat32), HasSubstr("--angles"));
}

TEST(MakePositions, WrongRangesAndStringsAreNamed) {
  const auto message = [](LayerScheme change) {
    return message_of([&] { make_positions(four_layers(), {change}); });
  };
  EXPECT_THAT(message({.scheme = "rope", .first = 4}), HasSubstr("within 0:3"));
  EXPECT_THAT(message({.scheme = "rope", .first = 2, .last = 1}), HasSubstr("got 2:1"));
  EXPECT_THAT(message({.scheme = "rope", .first = 0, .last = 4}), HasSubstr("got 0:4"));
  EXPECT_THAT(message({.scheme = "no_such_scheme"}), HasSubstr("no_such_scheme"));
  EXPECT_THAT(message({.scheme = "cap,window=10,pairs=2:9"}), HasSubstr("pairs"));
}

TEST(FirstStaleRow, GoesByWhatTheSpectrumDependsOn) {
  const auto stale = [](const std::string& scheme, int64_t before, int64_t after) {
    return first_stale_row(make_positions(four_layers(), {{.scheme = scheme}}), before, after);
  };
  for (const char* scheme : {"rope", "log_tail,window=30", "stale_dynamic_ntk", "yarn,factor=2"}) {
    EXPECT_EQ(stale(scheme, 0, 1000), 0) << scheme;
    EXPECT_EQ(stale(scheme, 100, 1000), 100) << scheme;
  }
  // Below the trained length nothing changes; past it the rows of the open block do.
  EXPECT_EQ(stale("dynamic_ntk", 70, 100), 70);
  EXPECT_EQ(stale("dynamic_ntk", 100, 128), 100);
  EXPECT_EQ(stale("dynamic_ntk", 127, 400), 127);
  EXPECT_EQ(stale("dynamic_ntk", 128, 400), 128);
  EXPECT_EQ(stale("dynamic_ntk", 130, 131), 128);
  EXPECT_EQ(stale("dynamic_ntk", 191, 192), 128);
  EXPECT_EQ(stale("dynamic_ntk", 192, 193), 192);
  // One spectrum for all rows.
  EXPECT_EQ(stale("dynamic_ntk,block=all", 100, 128), 100);
  EXPECT_EQ(stale("dynamic_ntk,block=all", 128, 129), 0);
  EXPECT_EQ(stale("longrope,long=1:2:3:4,short=1:1:1:1", 100, 128), 100);
  EXPECT_EQ(stale("longrope,long=1:2:3:4,short=1:1:1:1", 128, 129), 0);
  EXPECT_EQ(stale("longrope,long=1:2:3:4,short=1:1:1:1", 129, 500), 129);
  // One group size for all rows: ceil(n / 128); and an amplitude.
  EXPECT_EQ(stale("jet_long,window=8", 100, 128), 100);
  EXPECT_EQ(stale("jet_long,window=8", 128, 129), 0);
  EXPECT_EQ(stale("jet_long,window=8", 129, 256), 129);
  EXPECT_EQ(stale("jet_long,window=8", 250, 257), 0);
  EXPECT_EQ(stale("jet_long,window=8,block=64", 100, 129), 100);
  EXPECT_EQ(stale("jet_long,window=8,block=64", 250, 257), 250);
  EXPECT_EQ(stale("jet_long,window=8,block=100", 250, 257), 200);
  EXPECT_EQ(stale("dca_code", 100, 128), 100);
  EXPECT_EQ(stale("dca_code", 128, 129), 0);
}

TEST(FirstStaleRow, TheEarliestOfAllLayers) {
  const Positions positions =
      make_positions(four_layers(), {{.scheme = "dynamic_ntk", .first = 0, .last = 0},
                                     {.scheme = "dynamic_ntk,block=32", .first = 1, .last = 1}});
  EXPECT_EQ(first_stale_row(positions, 180, 181), 128);
}

}  // namespace
}  // namespace ropewalk
