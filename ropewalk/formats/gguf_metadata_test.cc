#include "ropewalk/formats/gguf_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ropewalk/formats/gguf.h"
#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class GgufMetadataTest : public testing::Test {
 protected:
  const GgufFile file_ = GgufFile::open(fixture("types.gguf"));
  const GgufMetadata& metadata_ = file_.metadata();
};

TEST_F(GgufMetadataTest, ReadsEachType) {
  EXPECT_EQ(metadata_.get_u64("value.u8"), 200u);
  EXPECT_EQ(metadata_.get_i64("value.i8"), -100);
  EXPECT_EQ(metadata_.get_u64("value.u16"), 60000u);
  EXPECT_EQ(metadata_.get_i64("value.i16"), -30000);
  EXPECT_EQ(metadata_.get_u64("value.u32"), 4000000000u);
  EXPECT_EQ(metadata_.get_i64("value.i32"), -2000000000);
  EXPECT_EQ(metadata_.get_f64("value.f32"), double{0.1f});
  EXPECT_TRUE(metadata_.get_bool("value.bool"));
  EXPECT_EQ(metadata_.get_string("value.string"), "ropewalk \u2581");
  EXPECT_EQ(metadata_.get_u64("value.u64"), UINT64_MAX);
  EXPECT_EQ(metadata_.get_i64("value.i64"), INT64_MIN);
  EXPECT_EQ(metadata_.get_f64("value.f64"), 0.1);
  EXPECT_THAT(metadata_.get_i32_array("array.i32"), ElementsAre(3, -1, 4));
  EXPECT_THAT(metadata_.get_f32_array("array.f32"), ElementsAre(0.5f, -0.25f));
  EXPECT_THAT(metadata_.get_bool_array("array.bool"), ElementsAre(true, false, true));
  EXPECT_THAT(metadata_.get_string_array("array.string"), ElementsAre("a", "", "\u2581b"));
}

TEST_F(GgufMetadataTest, TellsAbsentFromWrong) {
  EXPECT_EQ(metadata_.find_u64("value.none"), std::nullopt);
  EXPECT_FALSE(metadata_.contains("value"));
  EXPECT_THAT(message_of([&] { metadata_.get_u64("value.none"); }),
              HasSubstr("value.none: must be present"));
  EXPECT_THAT(message_of([&] { metadata_.find_u64("value.string"); }),
              AllOf(HasSubstr("types.gguf: value.string: must be a non-negative integer"),
                    HasSubstr("got string \"ropewalk \u2581\"")));
}

TEST_F(GgufMetadataTest, ConvertsOnlyWhatFits) {
  EXPECT_EQ(metadata_.get_f64("value.i32"), -2000000000.0);
  EXPECT_EQ(metadata_.get_i64("value.u32"), 4000000000);
  EXPECT_THAT(message_of([&] { metadata_.get_u64("value.i8"); }), HasSubstr("got i8 -100"));
  EXPECT_THAT(message_of([&] { metadata_.get_i64("value.u64"); }), HasSubstr("got u64 184467"));
  EXPECT_THAT(message_of([&] { metadata_.get_f64("value.u64"); }), HasSubstr("exactly"));
  EXPECT_THAT(message_of([&] { metadata_.get_u64("value.f32"); }), HasSubstr("got f32 0.1"));
  EXPECT_THAT(message_of([&] { metadata_.get_u64("value.bool"); }), HasSubstr("got bool true"));
  EXPECT_THAT(message_of([&] { metadata_.get_bool("value.u8"); }), HasSubstr("got u8 200"));
  EXPECT_THAT(message_of([&] { metadata_.get_u64("array.i32"); }), HasSubstr("array of 3 i32"));
  EXPECT_THAT(message_of([&] { metadata_.get_f32_array("array.i32"); }),
              HasSubstr("an array of f32"));
  EXPECT_THAT(message_of([&] { metadata_.get_i32_array("value.u8"); }), HasSubstr("got u8 200"));
}

TEST(GgufMetadataValues, RefusesIntegersOutsideTheArrayType) {
  const uint32_t stored[] = {1, 0x80000000u};
  std::vector<GgufEntry> entries(1);
  entries[0].key = "k";
  entries[0].value.type = GgufType::kArray;
  entries[0].value.element_type = GgufType::kUint32;
  entries[0].value.count = 2;
  entries[0].value.elements = std::as_bytes(std::span(stored));
  const GgufMetadata metadata("m", std::move(entries));
  EXPECT_THAT(message_of([&] { metadata.get_i32_array("k"); }), HasSubstr("integers of 32 bits"));
}

TEST(GgufMetadataValues, DescribesWithoutFloodingATerminal) {
  GgufValue value;
  value.type = GgufType::kString;
  value.scalar = std::string_view("\x1b[31m\n");
  EXPECT_EQ(value.describe(), "string \"\\x1b[31m\\x0a\"");
  const std::string text(100000, 'x');
  value.scalar = std::string_view(text);
  EXPECT_LT(value.describe().size(), 200u);
}

}  // namespace
}  // namespace ropewalk
