#include "ropewalk/formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string file_with(std::string_view header, size_t data_bytes) {
  return ByteWriter().put_string(header).put_raw(std::string(data_bytes, '\0')).text();
}

std::string refusal(const std::string& file) {
  return message_of([&] { Safetensors::parse(as_bytes(file), "m.safetensors"); });
}

std::string refusal(std::string_view header, size_t data_bytes) {
  return refusal(file_with(header, data_bytes));
}

TEST(Safetensors, ReadsAFile) {
  const Safetensors file = Safetensors::open(fixture("tiny_llama_hf/model.safetensors"));
  EXPECT_EQ(file.tensors().size(), 20u);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  const TensorInfo* const info = file.find_tensor("model.layers.0.mlp.up_proj.weight");
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->shape, (std::vector<uint64_t>{24, 32}));
  EXPECT_EQ(info->bytes, 24u * 32 * 2);
}

TEST(Safetensors, FollowsAnIndex) {
  const Safetensors model =
      Safetensors::open(fixture("tiny_llama_sharded/model.safetensors.index.json"));
  EXPECT_EQ(model.tensors().size(), 20u);
  EXPECT_EQ(model.find_tensor("model.norm.weight")->file, 0u);
  EXPECT_EQ(model.find_tensor("model.layers.1.mlp.up_proj.weight")->file, 1u);
}

TEST(Safetensors, ListsTypesItDoesNotDecode) {
  const std::string stored = file_with(R"({"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                                       R"("b":{"dtype":"F4","shape":[2,4],"data_offsets":[8,12]}})",
                                       12);
  const Safetensors file = Safetensors::parse(as_bytes(stored), "m");
  EXPECT_EQ(file.tensors()[1].type_name, "F4");
  EXPECT_EQ(file.tensor_bytes(file.tensors()[1]).size(), 4u);
  std::vector<float> out(1);
  EXPECT_THAT(message_of([&] { file.read_f32(file.tensors()[0], out); }),
              AllOf(HasSubstr("tensor a"), HasSubstr("got I64")));
}

TEST(Safetensors, AllowsScalarsAndEmptyTensors) {
  const std::string stored =
      file_with(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                R"("e":{"dtype":"F32","shape":[0,3],"data_offsets":[4,4]}}   )",
                4);
  const Safetensors file = Safetensors::parse(as_bytes(stored), "m");
  EXPECT_EQ(read_tensor(file, "s", {}).size(), 1u);
  EXPECT_TRUE(read_tensor(file, "e", {0, 3}).empty());
}

TEST(Safetensors, RefusesHeadersThatLie) {
  EXPECT_THAT(refusal(std::string("1234")), HasSubstr("the header's length must end within"));
  EXPECT_THAT(refusal(ByteWriter().put<uint64_t>(100'000'001).text()),
              HasSubstr("at most 100000000"));
  EXPECT_THAT(refusal(ByteWriter().put(UINT64_MAX).text()), HasSubstr("at most 100000000"));
  EXPECT_THAT(refusal(ByteWriter().put<uint64_t>(3).put_raw("{}").text()),
              HasSubstr("the header must end within the file"));
  EXPECT_THAT(refusal("", 0), HasSubstr("not a safetensors file"));
  EXPECT_THAT(refusal("[]", 0), HasSubstr("not a safetensors file"));
  EXPECT_THAT(refusal("{", 0), HasSubstr("must be JSON"));
}

TEST(Safetensors, RefusesTensorsThatLie) {
  const auto one = [](std::string_view value, size_t data_bytes) {
    return refusal("{\"a\":" + std::string(value) + "}", data_bytes);
  };
  EXPECT_THAT(one("3", 0), HasSubstr("must be an object with dtype, shape and data_offsets"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[1]})", 4), HasSubstr("data_offsets"));
  EXPECT_THAT(one(R"({"dtype":1,"shape":[1],"data_offsets":[0,4]})", 4), HasSubstr("dtype"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", 4), HasSubstr("shape"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})", 4), HasSubstr("shape"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 4),
              HasSubstr("within the 4 bytes of data, got [0, 8]"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})", 4), HasSubstr("[4, 0]"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,4]})", 4),
              HasSubstr("must span the bytes of F32 [3], got 4 bytes"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})", 0),
              HasSubstr("below 2^64"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]})", 0),
              HasSubstr("must span"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":1}})", 0), HasSubstr("object of strings"));
}

TEST(Safetensors, RefusesOverlapsHolesAndTwins) {
  const auto two = [](const char* first, const char* second, size_t data_bytes) {
    return refusal(std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + first +
                       R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}",
                   data_bytes);
  };
  EXPECT_THAT(two("[0,4]", "[2,6]", 6), HasSubstr("tensor b: must begin where the tensor before"));
  EXPECT_THAT(two("[0,4]", "[0,4]", 4), HasSubstr("overlap"));
  EXPECT_THAT(two("[0,4]", "[8,12]", 12), HasSubstr("hole"));
  EXPECT_THAT(two("[1,5]", "[5,9]", 9), HasSubstr("hole"));
  EXPECT_THAT(two("[0,4]", "[4,8]", 9), HasSubstr("must end with its last tensor"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                      R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                      2),
              HasSubstr("key \"a\": must come once"));
}

TEST(Safetensors, RefusesShardsThatLeaveTheDirectory) {
  const TempDirectory directory;
  const auto index = [&](const std::string& shard) {
    return message_of([&] {
      Safetensors::open(directory.write("x.index.json", R"({"weight_map":{"t":)" + shard + "}}"));
    });
  };
  for (const char* const shard : {R"("../m")", R"("/m")", R"("a/m")", R"("..")", R"("")", "1",
                                  R"("a\\b")", R"("a\u0000b")"}) {
    EXPECT_THAT(index(shard), HasSubstr("tensor t: must be in a file beside the index")) << shard;
  }
  EXPECT_THAT(index(R"("missing")"),
              HasSubstr("missing: must be there: it is one of the 1 shards that "
                        "x.index.json names"));
  directory.write("empty", file_with("{}", 0));
  EXPECT_THAT(index(R"("empty")"), HasSubstr("must be in the shard the index names, got empty"));
  EXPECT_THAT(message_of([&] { Safetensors::open(directory.write("y.json", "[]")); }),
              HasSubstr("weight_map"));
  EXPECT_THAT(message_of([&] { Safetensors::open(directory.path()); }),
              HasSubstr("must hold model.safetensors or model.safetensors.index.json"));
}

TEST(Safetensors, EveryShardThatIsMissingIsNamed) {
  const TempDirectory directory;
  directory.write("b", file_with("{}", 0));
  const std::string index =
      directory.write("x.index.json", R"({"weight_map":{"s":"a","t":"b","u":"c","v":"d"}})");
  EXPECT_THAT(message_of([&] { Safetensors::open(index); }),
              HasSubstr("/a: must be there: it is one of the 4 shards that x.index.json names, got "
                        "neither it nor c, d; fetch it"));
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string whole = read_file(fixture("tiny_llama_hf/model.safetensors"));
  for (size_t size = 0; size < whole.size(); size += 64) {
    const std::vector<char> part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_THROW(Safetensors::parse(std::as_bytes(std::span(part)), "m"), Error) << size;
  }
}

}  // namespace
}  // namespace ropewalk
