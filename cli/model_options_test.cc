#include "cli/model_options.h"

#include <gmock/gmock.h>

#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ReadIds, TakesThemAsTheyAre) {
  const TempDirectory folder;
  EXPECT_THAT(read_ids(folder.write("ids", "[0, 5, 2147483647]")), ElementsAre(0, 5, 2147483647));
  EXPECT_THAT(read_ids(folder.write("ids", "[]")), ElementsAre());
}

TEST(ReadIds, NamesTheEntryThatIsNone) {
  const TempDirectory folder;
  const auto message = [&](const std::string& text) {
    return message_of([&] { read_ids(folder.write("ids", text)); });
  };
  EXPECT_THAT(message("[1, 2, -3]"), HasSubstr("entry 2: must be a token id, got -3"));
  EXPECT_THAT(message("[1, 2147483648]"), HasSubstr("2147483648"));
  EXPECT_THAT(message("[18446744073709551615]"), HasSubstr("18446744073709551615"));
  EXPECT_THAT(message("[\"a\"]"), HasSubstr("\"a\""));
  EXPECT_THAT(message("[[1]]"), HasSubstr("entry 0"));
  EXPECT_THAT(message("7"), HasSubstr("must be a JSON array of token ids, got number"));
}

TEST(ReadText, KeepsEveryByteAndNamesWhatItCannotRead) {
  const TempDirectory folder;
  const std::string bytes("a\0\r\n\xff z", 7);
  EXPECT_EQ(read_text(folder.write("text", bytes)), bytes);
  EXPECT_EQ(read_text(folder.write("empty", "")), "");
  EXPECT_THAT(message_of([&] { read_text(folder.path() + "/none"); }), HasSubstr("/none"));
  EXPECT_THAT(message_of([&] { read_text(folder.path()); }), HasSubstr(folder.path()));
}

ModelConfig three_layers() {
  ModelConfig config;
  config.shape.head_dim = 8;
  set_single_group(
      config, 3,
      {.rotary = plain_rotary({.base = 10000.0, .frequency_dim = 8, .trained_length = 128},
                              {PairOrder::kHalf, 8, 8})});
  return config;
}

double far_distance(const Positions& positions, size_t layer) {
  return static_cast<double>(positions.schemes[positions.layers[layer]].distance.at(1000, 0));
}

TEST(SchemeOptions, LayerSchemesLieOnTheScheme) {
  const SchemeOptions options{.scheme = "linear,factor=2",
                              .layer_schemes = {"1:2=cap,window=9", "2:2=cap,window=7"},
                              .angles = "float32"};
  EXPECT_EQ(options.text(), "linear,factor=2, layers 1:2=cap,window=9, layers 2:2=cap,window=7");
  EXPECT_EQ(SchemeOptions().text(), "declared");
  const Positions positions = options.positions(three_layers());
  EXPECT_EQ(positions.angles, AngleMode::kFloat32);
  EXPECT_EQ(far_distance(positions, 0), 1000);
  EXPECT_EQ(far_distance(positions, 1), 9);
  EXPECT_EQ(far_distance(positions, 2), 7);
  for (const size_t scheme : positions.layers)
    EXPECT_EQ(positions.schemes[scheme].spectrum.at(1).inv_freq()[0], 0.5);
}

TEST(SchemeOptions, WrongLayerSchemesAreNamed) {
  for (const char* text :
       {"", "rope", "1=rope", "1:=rope", ":1=rope", "0:1", "0-1=rope", "0:1 =rope", "-1:1=rope",
        "0:99999999999999999999=rope", "cap,window=9:1"}) {
    const SchemeOptions options{.layer_schemes = {text}};
    EXPECT_THAT(message_of([&] { options.positions(three_layers()); }),
                HasSubstr("must read FIRST:LAST=SCHEME"))
        << text;
  }
  const SchemeOptions beyond{.layer_schemes = {"3:4=rope"}};
  EXPECT_THAT(message_of([&] { beyond.positions(three_layers()); }), HasSubstr("0:2"));
}

}  // namespace
}  // namespace ropewalk
