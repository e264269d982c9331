// Tokenizers of real model files against llama.cpp's ids.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/engine/vocabulary.h"
#include "ropewalk/formats/gguf.h"
#include "ropewalk/testing/exact_values.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {
namespace {

using exact_values::read_fixture;
using exact_values::read_json;
using exact_values::shared_folder;

#define SKIP_WITHOUT_SHARED_FILES(folder) \
  const auto folder = shared_folder();    \
  if (!folder) GTEST_SKIP() << "no ../shared: tokenizers of real models are not tested"

std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& shared,
                                          const std::string& name) {
  const std::string path = (shared / "models" / name).string();
  return make_tokenizer(read_vocabulary(GgufFile::open(path, GgufData::kOptional).metadata()));
}

// `text` without the bytes that the vocabulary has no token for: Falcon lacks U+001C and U+001D.
std::string spellable(const Tokenizer& tokenizer, std::string_view text) {
  std::string kept;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!tokenizer.encode(text.substr(i, 1), {.add_special = false}).empty()) kept += text[i];
  }
  return kept;
}

class TokenizerFiles : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerFiles, AgreeWithLlamaCpp) {
  SKIP_WITHOUT_SHARED_FILES(shared);
  const auto tokenizer = open_tokenizer(*shared, GetParam());
  const nlohmann::json fixture = read_fixture("tokenizer/llama_cpp.json");
  const std::vector<std::string> texts = fixture["texts"];
  const std::vector<std::vector<int32_t>> ids = fixture["ids"][GetParam()];
  ASSERT_EQ(texts.size(), ids.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(tokenizer->encode(texts[i], {.add_special = false}), ids[i])
        << testing::PrintToString(texts[i]);
    EXPECT_EQ(tokenizer->decode(ids[i]), spellable(*tokenizer, texts[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Shared, TokenizerFiles,
                         testing::Values("ggml-vocab-llama-spm.gguf", "ggml-vocab-phi-3.gguf",
                                         "ggml-vocab-gpt-2.gguf", "ggml-vocab-falcon.gguf",
                                         "stories260K.gguf"));

TEST(StoriesTokenizer, AgreesWithTheModelsOwnReference) {
  SKIP_WITHOUT_SHARED_FILES(shared);
  const auto tokenizer = open_tokenizer(*shared, "stories260K.gguf");
  EXPECT_TRUE(tokenizer->adds_bos());
  const nlohmann::json file = read_json(*shared / "reference" / "tokenizer_greedy.json");
  for (const auto& item : file["tokenizer"]) {
    const std::string text = item["text"];
    const std::vector<int32_t> ids = item["ids"];
    EXPECT_EQ(tokenizer->encode(text), ids) << testing::PrintToString(text);
    EXPECT_EQ(tokenizer->decode(ids), text);
  }
}

}  // namespace
}  // namespace ropewalk
