// What the tests of this folder share: fixtures, and files built byte by byte.
#ifndef ROPEWALK_FORMATS_TEST_SUPPORT_H_
#define ROPEWALK_FORMATS_TEST_SUPPORT_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/base/error.h"

namespace ropewalk {

inline std::string fixture(const std::string& name) {
  return std::string(ROPEWALK_SOURCE_DIR) + "/tests/fixtures/" + name;
}

// A model that is not part of the repository; it need not exist.
inline std::string shared_model(const std::string& name) {
  const char* const given = std::getenv("ROPEWALK_SHARED");
  const std::string shared =
      given != nullptr ? given : std::string(ROPEWALK_SOURCE_DIR) + "/../shared";
  return shared + "/models/" + name;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// A directory that goes with the object.
class TempDirectory {
 public:
  TempDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "ropewalk-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  // Writes a file into it and returns its path.
  std::string write(const std::string& name, std::string_view content) const {
    const std::string path = (path_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// Little-endian bytes, appended.
class ByteWriter {
 public:
  template <typename T>
  ByteWriter& put(T value) {
    char stored[sizeof(T)];
    std::memcpy(stored, &value, sizeof(T));
    text_.append(stored, sizeof(T));
    return *this;
  }
  // As GGUF stores strings: a u64 length, then the bytes.
  ByteWriter& put_string(std::string_view text) {
    put<uint64_t>(text.size());
    text_ += text;
    return *this;
  }
  ByteWriter& put_raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  ByteWriter& pad_to(size_t alignment) {
    text_.resize((text_.size() + alignment - 1) / alignment * alignment);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Runs `action` and returns what its Error says; fails when there is none.
template <typename Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no Error";
  return {};
}

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_TEST_SUPPORT_H_
