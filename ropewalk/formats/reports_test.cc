// Faults that public bug reports tell of, in headers of safetensors (SEC) and in the arithmetic of
// sizes (OVF), by the codes of the project's collection: what is right is held to here. Those of
// GGUF are in reports_gguf_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ropewalk/formats/checked_math.h"
#include "ropewalk/formats/safetensors.h"
#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string file_with(const std::string& header, size_t data_bytes) {
  return ByteWriter().put_string(header).put_raw(std::string(data_bytes, '\0')).text();
}

std::string refusal(const std::string& header, size_t data_bytes) {
  const std::string file = file_with(header, data_bytes);
  return message_of([&] { Safetensors::parse(as_bytes(file), "m.safetensors"); });
}

TEST(Reports, SEC_07_ANameThatComesTwice) {
  const std::string tensor = R"("a":{"dtype":"U8","shape":[1],"data_offsets":)";
  EXPECT_THAT(refusal("{" + tensor + "[0,1]}," + tensor + "[1,2]}}", 2),
              AllOf(HasSubstr("key \"a\""), HasSubstr("must come once")));
}

TEST(Reports, SEC_08_OffsetsThatDoNotFitTheShape) {
  const auto refused = [](const std::string& shape, const std::string& offsets) {
    return refusal(
        R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}", 4);
  };
  EXPECT_THAT(refused("[1000,1000]", "[0,4]"), HasSubstr("must span the bytes of F32"));
  EXPECT_THAT(refused("[1]", "[4,0]"), HasSubstr("within the 4 bytes of data"));
  EXPECT_THAT(refused("[1000,1000]", "[0,4000000]"), HasSubstr("within the 4 bytes of data"));
  EXPECT_THAT(refused("[1]", "[0,4,4]"), HasSubstr("data_offsets must be [begin, end)"));
  for (const char* const wrong : {"[-4,0]", "[0,4.0]", R"(["0","4"])", R"("0:4")"}) {
    EXPECT_THAT(refused("[1]", wrong), HasSubstr("must be an array of non-negative integers"))
        << wrong;
  }
  EXPECT_THAT(refused("[1]", "[0,1e400]"), HasSubstr("m.safetensors"));
}

TEST(Reports, SEC_10_NothingInTheFileAndWhatPadsIt) {
  const auto tensors_of = [](const std::string& header) {
    const std::string file = file_with(header, 0);
    return Safetensors::parse(as_bytes(file), "m").tensors().size();
  };
  EXPECT_EQ(tensors_of(R"({"__metadata__":{}})"), 0u);
  EXPECT_EQ(tensors_of(R"({"__metadata__":{"format":"pt"}})"), 0u);
  EXPECT_EQ(tensors_of("{}      "), 0u);
  EXPECT_THAT(refusal(std::string("{}\0\0\0\0\0\0", 8), 0), HasSubstr("no zero byte"));
  EXPECT_THAT(refusal(std::string("{}\0{\"a\":", 8), 0), HasSubstr("no zero byte"));
}

constexpr uint64_t kInt32 = std::numeric_limits<int32_t>::max();

TEST(Reports, OVF_01_ProductsPast32Bits) {
  const std::vector<uint64_t> shape = {233018, 72, 128};
  EXPECT_EQ(checked_product(shape), 2147493888u);
  EXPECT_GT(*checked_product(shape), kInt32);
}

TEST(Reports, OVF_02_RowsFromWhichOffsetsPass32Bits) {
  const auto past = [](uint64_t row, uint64_t width) {
    return *checked_product(row, width) > kInt32;
  };
  struct Limit {
    uint64_t width, row;
  };
  for (const auto& [width, row] : {Limit{4096, 524288}, Limit{5120, 419431}, Limit{8192, 262144}}) {
    EXPECT_TRUE(past(row, width)) << width;
    EXPECT_FALSE(past(row - 1, width)) << width;
  }
}

}  // namespace
}  // namespace ropewalk
