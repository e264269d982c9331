#include "ropewalk/config/engine_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ropewalk/config/test_support.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> lines(const std::string& scheme, TargetEngine engine,
                               const std::string& architecture = "llama") {
  return engine_lines(plain_gguf(architecture).positions(), ModelFormat::kGguf, scheme, engine,
                      8192);
}

TEST(EngineLines, LlamaCppTakesFlagsWhereTheySayAllOfIt) {
  const TargetEngine engine = TargetEngine::kLlamaCpp;
  EXPECT_THAT(lines("declared", engine), ElementsAre("llama-cli -m MODEL.gguf -c 8192"));
  EXPECT_THAT(lines("linear,factor=4", engine),
              ElementsAre("llama-cli -m MODEL.gguf --rope-scaling linear --rope-scale 4 -c 8192"));
  const auto yarn = lines("yarn,factor=4", engine);
  ASSERT_EQ(yarn.size(), 1u);
  EXPECT_THAT(yarn[0], HasSubstr("--rope-scaling yarn --rope-scale 4 --yarn-orig-ctx "));
  const auto parts = lines("ntk_by_parts,factor=4", engine);
  ASSERT_EQ(parts.size(), 2u) << "a tensor cannot be given by flags";
  EXPECT_THAT(parts[0], HasSubstr("ropewalk write MODEL.gguf --scheme 'ntk_by_parts,factor=4'"));
  EXPECT_THAT(lines("cap,window=64", engine), IsEmpty());
}

TEST(EngineLines, HuggingFaceEnginesTakeOneBlock) {
  const auto vllm = lines("yarn,factor=4", TargetEngine::kVllm);
  ASSERT_EQ(vllm.size(), 1u);
  EXPECT_THAT(vllm[0], HasSubstr("vllm serve MODEL --max-model-len 8192 --hf-overrides "
                                 "'{\"rope_parameters\":{\"rope_type\":\"yarn\",\"factor\":4.0"));
  EXPECT_THAT(vllm[0], HasSubstr("\"rope_theta\":"));
  EXPECT_THAT(vllm[0], HasSubstr("\"max_position_embeddings\":8192}"));
  const auto dynamic = lines("dynamic_ntk,block=all", TargetEngine::kTransformers);
  if (!dynamic.empty()) {
    EXPECT_THAT(dynamic[0], testing::Not(HasSubstr("max_position_embeddings\":8192")))
        << "dynamic counts from the trained length";
  }
  EXPECT_THAT(lines("cap,window=64", TargetEngine::kTransformers), IsEmpty());
}

}  // namespace
}  // namespace ropewalk
