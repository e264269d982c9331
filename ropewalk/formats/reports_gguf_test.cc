// Hostile GGUF files that were reported of other readers, each under the code it has in the shared
// list of cases. What else is refused is in gguf_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "ropewalk/formats/gguf.h"
#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

using Alignment = std::variant<uint32_t, int32_t, float, std::string, uint64_t>;

ByteWriter start(uint64_t tensors, uint64_t entries) {
  return ByteWriter().put_raw("GGUF").put<uint32_t>(3).put(tensors).put(entries);
}

// One float32 tensor before 64 bytes of data.
//   dims  innermost first, as stored
std::string file_of(const std::vector<uint64_t>& dims, uint64_t offset = 0) {
  ByteWriter out = start(1, 0).put_string("t").put<uint32_t>(static_cast<uint32_t>(dims.size()));
  for (const uint64_t dim : dims) out.put(dim);
  out.put<uint32_t>(0).put(offset).pad_to(32).put_raw(std::string(64, '\0'));
  return out.text();
}

std::string refusal(const std::string& stored) {
  return message_of([&] { GgufFile::parse(as_bytes(stored), "m.gguf"); });
}

TEST(GgufReports, SEC_01_SizesThatWrapAround) {
  EXPECT_THAT(refusal(file_of({1152, 4398046511105})), HasSubstr("m.gguf: tensor t: must"));
  EXPECT_THAT(refusal(file_of({UINT64_MAX, 2, 1, 1})), HasSubstr("a product below 2^64"));
}

TEST(GgufReports, SEC_02_MoreDimensionsThanAnyTensor) {
  EXPECT_THAT(refusal(file_of(std::vector<uint64_t>(9, 1))),
              HasSubstr("must have at most 4 dimensions, got 9"));
  const std::string endless =
      start(1, 0).put_string("t").put<uint32_t>(0xFFFFFFFF).put_raw(std::string(64, '\1')).text();
  EXPECT_THAT(refusal(endless), HasSubstr("got 4294967295"));
}

TEST(GgufReports, SEC_05_OffsetsOutsideTheFile) {
  const std::string sound = file_of({16});
  EXPECT_NO_THROW(GgufFile::parse(as_bytes(sound), "m.gguf"));
  EXPECT_THAT(refusal(file_of({16}, 64)), HasSubstr("must end within the file"));
  EXPECT_THAT(refusal(file_of({16}, 32)), HasSubstr("must end within the file"));
  EXPECT_THAT(refusal(file_of({8}, 8)), HasSubstr("must be a multiple of 32, got 8"));
  for (size_t size = 0; size < sound.size(); ++size) {
    // Of its own, so that a sanitizer sees each read past the end.
    const std::vector<char> part(sound.begin(), sound.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_THROW(GgufFile::parse(std::as_bytes(std::span(part)), "cut"), Error) << size;
  }
}

TEST(GgufReports, SEC_11_LengthsThatTurnNegative) {
  const uint64_t length = (uint64_t{1} << 63) + 8;
  EXPECT_THAT(refusal(start(0, 1).put(length).put_raw("0123456789").text()),
              HasSubstr("a metadata key must end within the file"));
  EXPECT_THAT(refusal(start(0, 1).put_string("k").put<uint32_t>(8).put(length).put_raw("x").text()),
              HasSubstr("a metadata value must end within the file"));
}

// Opened for its header only, too: what would copy the tensor's bytes must not get them.
TEST(GgufReports, SEC_14_MoreClaimedThanThere) {
  const std::string stored = file_of({1048576});
  EXPECT_THAT(refusal(stored), HasSubstr("4194304 bytes"));
  EXPECT_THAT(refusal(stored), HasSubstr("must end within the file of"));
  const GgufFile header = GgufFile::parse(as_bytes(stored), "m.gguf", GgufData::kOptional);
  EXPECT_FALSE(header.has_data());
  EXPECT_THAT(message_of([&] { header.tensor_bytes(header.tensors()[0]); }),
              HasSubstr("opened for its header only"));
}

TEST(GgufReports, SEC_16_ZeroesAndWrongTypes) {
  EXPECT_THAT(refusal(file_of({4, 0})), HasSubstr("must have positive dimensions"));
  const auto with_alignment = [](const Alignment& alignment) {
    ByteWriter out = start(0, 1).put_string("general.alignment");
    if (const auto* word = std::get_if<uint32_t>(&alignment)) out.put<uint32_t>(4).put(*word);
    if (const auto* number = std::get_if<int32_t>(&alignment)) out.put<uint32_t>(5).put(*number);
    if (const auto* real = std::get_if<float>(&alignment)) out.put<uint32_t>(6).put(*real);
    if (const auto* text = std::get_if<std::string>(&alignment)) {
      out.put<uint32_t>(8).put_string(*text);
    }
    if (const auto* wide = std::get_if<uint64_t>(&alignment)) out.put<uint32_t>(10).put(*wide);
    return out.text();
  };
  for (const Alignment& wrong :
       {Alignment(uint32_t{0}), Alignment(int32_t{-1}), Alignment(uint32_t{3}),
        Alignment(std::string("32")), Alignment(32.0F)}) {
    EXPECT_THAT(refusal(with_alignment(wrong)), HasSubstr("general.alignment: must be"));
  }
  // The number is sound in a wider type.
  const std::string wide = with_alignment(uint64_t{32});
  EXPECT_EQ(GgufFile::parse(as_bytes(wide), "m.gguf").alignment(), 32U);
  EXPECT_THAT(refusal(start(0, 1).put_string("").put<uint32_t>(0).put_raw("xx").text()),
              HasSubstr("must have 1 to 65535 bytes, got 0"));
  EXPECT_THAT(
      refusal(start(0, 1).put_string(std::string(65536, 'k')).put<uint32_t>(0).put_raw("x").text()),
      HasSubstr("got 65536"));
}

}  // namespace
}  // namespace ropewalk
