// What the tables of damaged files share: a writer of small GGUF files, and the runner that asks
// for a named error in little time and memory.
#ifndef ROPEWALK_FORMATS_DAMAGED_FILES_H_
#define ROPEWALK_FORMATS_DAMAGED_FILES_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/formats/tensor_type.h"
#include "ropewalk/formats/test_support.h"

namespace ropewalk {

// A sound GGUF file of u32 and string keys and of tensors with any bytes.
class SmallGguf {
 public:
  SmallGguf& number(const std::string& key, uint32_t value) {
    keys_.push_back(ByteWriter().put_string(key).put<uint32_t>(4).put(value).text());
    return *this;
  }
  SmallGguf& text(const std::string& key, const std::string& value) {
    keys_.push_back(ByteWriter().put_string(key).put<uint32_t>(8).put_string(value).text());
    return *this;
  }
  //   dims  innermost first, as stored
  SmallGguf& tensor(const std::string& name, std::vector<uint64_t> dims, uint32_t ggml_type,
                    const std::string& bytes) {
    ByteWriter entry;
    entry.put_string(name).put<uint32_t>(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) entry.put(dim);
    entry.put(ggml_type).put<uint64_t>(data_.text().size());
    tensors_.push_back(entry.text());
    data_.put_raw(bytes).pad_to(kAlignment);
    return *this;
  }
  // Eight f32 values of zero.
  SmallGguf& tensor(const std::string& name) { return tensor(name, {8}, 0, std::string(32, '\0')); }

  std::string bytes() const {
    ByteWriter out;
    out.put_raw("GGUF").put<uint32_t>(3).put<uint64_t>(tensors_.size()).put<uint64_t>(keys_.size());
    for (const std::string& key : keys_) out.put_raw(key);
    for (const std::string& entry : tensors_) out.put_raw(entry);
    return out.pad_to(kAlignment).put_raw(data_.text()).text();
  }

 private:
  static constexpr size_t kAlignment = 32;
  std::vector<std::string> keys_;
  std::vector<std::string> tensors_;
  ByteWriter data_;
};

// One file, or several, and what must be said when it is opened and read.
struct DamagedFile {
  std::string what;
  std::function<void()> open;
  std::string says;
};

// The peak of this process so far, in bytes.
inline int64_t peak_memory() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

// No row may take what a file of a few hundred bytes does not call for.
inline void expect_named_errors(const std::vector<DamagedFile>& rows) {
  constexpr double kSeconds = 1;
  constexpr int64_t kBytes = int64_t{64} << 20;
  for (const DamagedFile& row : rows) {
    const int64_t memory = peak_memory();
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THAT(message_of(row.open), testing::HasSubstr(row.says)) << row.what;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), kSeconds) << row.what;
    EXPECT_LT(peak_memory() - memory, kBytes) << row.what;
  }
}

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_DAMAGED_FILES_H_
