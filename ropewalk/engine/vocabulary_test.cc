#include "ropewalk/engine/vocabulary.h"

#include <gmock/gmock.h>

#include "ropewalk/engine/test_support.h"
#include "ropewalk/formats/gguf.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;
using Strings = std::vector<std::string>;

// A GGUF file without tensors, of string and u32 keys only.
class Header {
 public:
  Header& set(const std::string& key, const std::string& value) {
    keys_.put_string("tokenizer.ggml." + key).put<uint32_t>(8).put_string(value);
    return count();
  }
  Header& set(const std::string& key, uint32_t value) {
    keys_.put_string("tokenizer.ggml." + key).put<uint32_t>(4).put(value);
    return count();
  }
  Header& set(const std::string& key, const Strings& values) {
    keys_.put_string("tokenizer.ggml." + key).put<uint32_t>(9).put<uint32_t>(8);
    keys_.put<uint64_t>(values.size());
    for (const std::string& value : values) keys_.put_string(value);
    return count();
  }
  Vocabulary read() const {
    ByteWriter out;
    out.put_raw("GGUF").put<uint32_t>(3).put<uint64_t>(0).put<uint64_t>(n_keys_);
    out.put_raw(keys_.text()).pad_to(32);
    return read_vocabulary(GgufFile::parse(as_bytes(out.text()), "test").metadata());
  }

 private:
  Header& count() {
    ++n_keys_;
    return *this;
  }

  ByteWriter keys_;
  uint64_t n_keys_ = 0;
};

TEST(ReadVocabulary, TakesWhatTheFileSays) {
  const GgufFile file = GgufFile::open(fixture("tiny_llama.gguf"));
  const Vocabulary vocabulary = read_vocabulary(file.metadata());
  EXPECT_EQ(vocabulary.model, "llama");
  EXPECT_EQ(vocabulary.tokens.size(), 272u);
  EXPECT_EQ(vocabulary.scores.size(), 272u);
  EXPECT_EQ(vocabulary.token_types.size(), 272u);
  EXPECT_EQ(vocabulary.tokens[3], "<0x00>");
  EXPECT_EQ(vocabulary.bos, 1);
  EXPECT_EQ(vocabulary.eos, 2);
}

TEST(ReadVocabulary, WhatIsAbsentStaysEmpty) {
  const Vocabulary vocabulary =
      Header().set("model", "gpt2").set("tokens", Strings{"a", "b"}).read();
  EXPECT_EQ(vocabulary.model, "gpt2");
  EXPECT_THAT(vocabulary.tokens, testing::ElementsAre("a", "b"));
  EXPECT_EQ(vocabulary.pre, "");
  EXPECT_TRUE(vocabulary.scores.empty());
  EXPECT_TRUE(vocabulary.merges.empty());
  EXPECT_FALSE(vocabulary.bos.has_value());
  EXPECT_FALSE(vocabulary.add_bos.has_value());
}

TEST(ReadVocabulary, WrongKeysAreNamed) {
  EXPECT_THAT(message_of([] { Header().set("tokens", Strings{"a"}).read(); }),
              HasSubstr("tokenizer.ggml.model"));
  EXPECT_THAT(message_of([] { Header().set("model", "llama").read(); }),
              HasSubstr("tokenizer.ggml.tokens"));
  EXPECT_THAT(message_of([] { Header().set("model", 3u).set("tokens", Strings{"a"}).read(); }),
              HasSubstr("tokenizer.ggml.model"));
  const auto with_bos = [] {
    Header()
        .set("model", "llama")
        .set("tokens", Strings{"a"})
        .set("bos_token_id", 0x80000000u)
        .read();
  };
  EXPECT_THAT(message_of(with_bos), HasSubstr("tokenizer.ggml.bos_token_id"));
}

}  // namespace
}  // namespace ropewalk
