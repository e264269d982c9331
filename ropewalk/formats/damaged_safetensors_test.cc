// Damaged safetensors files and indices, one a row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ropewalk/formats/damaged_files.h"
#include "ropewalk/formats/safetensors.h"

namespace ropewalk {
namespace {

// Opens it and reads every value.
void read_all(const Safetensors& file) {
  for (const TensorInfo& info : file.tensors()) {
    std::vector<float> values(element_count(info));
    file.read_f32(info, values);
  }
}

DamagedFile damaged(const std::string& what, const std::string& bytes, const std::string& says) {
  return {what, [bytes] { read_all(Safetensors::parse(as_bytes(bytes), "m.safetensors")); }, says};
}

std::string file_of(std::string_view header, size_t data_bytes) {
  return ByteWriter().put_string(header).put_raw(std::string(data_bytes, '\0')).text();
}

// 8 bytes of length, a header, 16 bytes of f32 and 8 of f16.
std::string sound_file() {
  return file_of(R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                 R"("b":{"dtype":"F16","shape":[4],"data_offsets":[16,24]}})",
                 24);
}

TEST(DamagedSafetensors, TheFilesThatAreDamagedAreSoundBefore) {
  EXPECT_NO_THROW(read_all(Safetensors::parse(as_bytes(sound_file()), "m")));
}

TEST(DamagedSafetensors, CutInEverySection) {
  const std::string whole = sound_file();
  const auto cut = [&](const char* where, size_t size, const char* says) {
    return damaged(std::string("cut ") + where, whole.substr(0, size), says);
  };
  expect_named_errors({
      cut("before the length", 0, "byte 0: the header's length must end within the file"),
      cut("in the length", 5, "byte 0: the header's length must end within the file"),
      cut("before the header", 8, "byte 8: the header must end within the file"),
      cut("in the header", 60, "byte 8: the header must end within the file"),
      cut("before the data", whole.size() - 24, "tensor a: data_offsets must be [begin, end)"),
      cut("in the first tensor", whole.size() - 20, "tensor a: data_offsets must be"),
      cut("between two tensors", whole.size() - 8, "tensor b: data_offsets must be"),
      cut("one byte early", whole.size() - 1, "within the 23 bytes of data, got [16, 24]"),
  });
}

TEST(DamagedSafetensors, HeadersThatLie) {
  const auto with_length = [](uint64_t length) {
    return ByteWriter().put(length).put_raw(sound_file().substr(8)).text();
  };
  const uint64_t sound = sound_file().size() - 8 - 24;
  expect_named_errors({
      damaged("a length of 0", with_length(0), "its header must start with"),
      damaged("a length one short", with_length(sound - 1), "must be JSON"),
      damaged("a length one long", with_length(sound + 1), "m.safetensors: header"),
      damaged("a length past the file", with_length(5000), "the header must end within the file"),
      damaged("a length past the limit", with_length(100'000'001), "at most 100000000 bytes"),
      damaged("a length of 2^64 - 1", with_length(UINT64_MAX), "at most 100000000 bytes"),
      damaged("another format", "GGUF" + std::string(100, '\0'), "it is no safetensors file"),
      damaged("a list", file_of("[1]", 0), "its header must start with"),
      damaged("brackets without end", file_of("{\"a\":" + std::string(100000, '['), 0), "header"),
      damaged("a tensor twice",
              file_of(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                      R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                      0),
              "key \"a\": must come once"),
      damaged("metadata of numbers", file_of(R"({"__metadata__":{"k":1}})", 0),
              "must be an object of strings"),
  });
}

TEST(DamagedSafetensors, TensorsThatLie) {
  const auto one = [](const char* what, const std::string& value, const char* says) {
    return damaged(what, file_of("{\"a\":{" + value + "}}", 16), says);
  };
  const auto two = [](const char* what, const std::string& first, const std::string& second,
                      const char* says) {
    const std::string each = R"({"dtype":"F32","shape":[2],"data_offsets":)";
    return damaged(what, file_of("{\"a\":" + each + first + "},\"b\":" + each + second + "}}", 16),
                   says);
  };
  expect_named_errors({
      one("no dtype", R"("shape":[4],"data_offsets":[0,16])", "dtype, shape and data_offsets"),
      one("no shape", R"("dtype":"F32","data_offsets":[0,16])", "dtype, shape and data_offsets"),
      one("no place", R"("dtype":"F32","shape":[4])", "dtype, shape and data_offsets"),
      one("a numbered dtype", R"("dtype":0,"shape":[4],"data_offsets":[0,16])", "dtype must be a"),
      one("an unknown dtype", R"("dtype":"F5","shape":[4],"data_offsets":[0,16])",
          "tensor a: must have a type this build decodes, got F5"),
      one("a dtype not decoded", R"("dtype":"I64","shape":[2],"data_offsets":[0,16])",
          "tensor a: must have a type this build decodes, got I64"),
      one("a negative dimension", R"("dtype":"F32","shape":[-4],"data_offsets":[0,16])",
          "shape must be an array of non-negative integers"),
      one("a broken dimension", R"("dtype":"F32","shape":[4.5],"data_offsets":[0,16])",
          "shape must be an array of non-negative integers"),
      one("a shape past 2^64",
          R"("dtype":"F32","shape":[4294967296,4294967296],)"
          R"("data_offsets":[0,16])",
          "must have a shape below 2^64"),
      one("another shape", R"("dtype":"F32","shape":[5],"data_offsets":[0,16])",
          "must span the bytes of F32 [5], got 16 bytes"),
      one("an end past the file", R"("dtype":"F32","shape":[5],"data_offsets":[0,20])",
          "within the 16 bytes of data, got [0, 20]"),
      one("an end past 2^63",
          R"("dtype":"F32","shape":[4],"data_offsets":[0,18446744073709551615])",
          "within the 16 bytes of data"),
      one("an end before its start", R"("dtype":"F32","shape":[4],"data_offsets":[16,0])",
          "got [16, 0]"),
      one("three offsets", R"("dtype":"F32","shape":[4],"data_offsets":[0,8,16])", "[0, 8, 16]"),
      two("two tensors in one place", "[0,8]", "[0,8]", "they overlap"),
      two("one tensor in another", "[0,8]", "[4,12]", "tensor b: must begin where the tensor"),
      two("a hole at the start", "[4,12]", "[12,20]", "within the 16 bytes of data"),
      damaged("a hole",
              file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                      R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
                      3),
              "there is a hole"),
      damaged("bytes behind the last tensor", sound_file() + "x", "must end with its last tensor"),
  });
}

// ---- indices

TEST(DamagedSafetensors, IndicesThatLie) {
  const auto open = [](const std::string& index, std::function<void(const TempDirectory&)> damage) {
    return [=] {
      const TempDirectory folder;
      folder.write("one", file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
      folder.write("two", file_of(R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
      folder.write("model.safetensors.index.json", index);
      damage(folder);
      read_all(Safetensors::open(folder.path()));
    };
  };
  const auto sound = [](const TempDirectory&) {};
  const std::string both = R"({"weight_map":{"a":"one","b":"two"}})";
  EXPECT_NO_THROW(open(both, sound)());
  const auto write = [](const char* name, std::string bytes) {
    return [=](const TempDirectory& folder) { folder.write(name, bytes); };
  };
  const auto remove = [](const TempDirectory& folder) {
    std::filesystem::remove(std::filesystem::path(folder.path()) / "two");
  };
  const auto map = [&](const std::string& entries) {
    return open("{\"weight_map\":{" + entries + "}}", sound);
  };
  const std::string twins = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                            R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  expect_named_errors({
      {"an index cut off", open(both.substr(0, 20), sound), "index.json"},
      {"an index that is no object", open("[]", sound), "weight_map: must be an object"},
      {"no weight_map", open("{}", sound), "weight_map: must be an object"},
      {"a list for a weight_map", open(R"({"weight_map":["one"]})", sound), "must be an object"},
      {"a numbered shard", map(R"("a":1)"), "tensor a: must be in a file beside the index, got 1"},
      {"a shard above", map(R"("a":"../one")"), "tensor a: must be in a file beside the index"},
      {"a shard at the root", map(R"("a":"/one")"), "tensor a: must be in a file beside the index"},
      {"a shard of no name", map(R"("a":"")"), "tensor a: must be in a file beside the index"},
      {"a tensor twice", map(R"("a":"one","a":"two")"), "key \"a\": must come once"},
      {"a shard that is not there", open(both, remove), "two: must be there"},
      {"a tensor in no shard", map(R"("a":"one","c":"two")"),
       "tensor c: must be in the shard the index names, got two"},
      {"a tensor in another shard", map(R"("a":"two","b":"one")"),
       "tensor a: must be in the shard the index names, got two"},
      {"a tensor in two shards", open(both, write("two", file_of(twins, 8))),
       "tensor a: must be in one shard only, got one and two"},
      {"a shard cut off", open(both, write("two", "1234")),
       "two: byte 0: the header's length must end within"},
      {"a shard that is the index", map(R"("a":"model.safetensors.index.json")"),
       "model.safetensors.index.json: its header must have at most"},
  });
}

}  // namespace
}  // namespace ropewalk
