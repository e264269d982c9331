#include "ropewalk/formats/sha256.h"

#include <gtest/gtest.h>

#include <string>

#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

std::string hash_of(const std::string& text) { return sha256_hex(as_bytes(text)); }

// FIPS 180-4's own examples, and the NIST vector of a million letters.
TEST(Sha256, GivesThePublishedValues) {
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesAreCut) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (size_t length = 0; length <= text.size(); length += 13) {
    const std::string part = text.substr(0, length);
    for (const size_t step : {1, 5, 63, 64, 65}) {
      Sha256 hash;
      for (size_t at = 0; at < length; at += step) hash.update(as_bytes(part.substr(at, step)));
      EXPECT_EQ(hash.hex(), hash_of(part)) << length << " by " << step;
    }
  }
}

}  // namespace
}  // namespace ropewalk
