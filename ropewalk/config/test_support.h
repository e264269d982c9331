// What the tests of this folder share: GGUF files built in memory, and messages of errors.
#ifndef ROPEWALK_CONFIG_TEST_SUPPORT_H_
#define ROPEWALK_CONFIG_TEST_SUPPORT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ropewalk/config/model_config.h"
#include "ropewalk/formats/gguf.h"
#include "ropewalk/formats/test_support.h"

namespace ropewalk {

// A GGUF file of f32, u32, bool and string keys, of lists of i32, and of f32 vectors and matrices.
class GgufBuilder {
 public:
  using Value = std::variant<float, uint32_t, bool, std::string, std::vector<int32_t>>;

  // Sets the key, or replaces its value.
  GgufBuilder& set(const std::string& key, Value value) {
    const auto found = std::ranges::find(keys_, key, &std::pair<std::string, Value>::first);
    if (found == keys_.end()) {
      keys_.emplace_back(key, std::move(value));
    } else {
      found->second = std::move(value);
    }
    return *this;
  }
  GgufBuilder& remove(const std::string& key) {
    std::erase_if(keys_, [&](const auto& entry) { return entry.first == key; });
    return *this;
  }
  //   rows  1: a vector
  GgufBuilder& tensor(const std::string& name, std::vector<float> values, uint64_t rows = 1) {
    tensors_.push_back({name, rows, std::move(values)});
    return *this;
  }

  bool has(const std::string& key) const {
    return std::ranges::find(keys_, key, &std::pair<std::string, Value>::first) != keys_.end();
  }

  ModelConfig positions() const { return read(read_gguf_positions); }
  ModelConfig config() const { return read(read_gguf_config); }

  // Its bytes.
  std::string file() const {
    ByteWriter out;
    out.put_raw("GGUF").put<uint32_t>(3).put<uint64_t>(tensors_.size()).put<uint64_t>(keys_.size());
    for (const auto& [key, value] : keys_) {
      out.put_string(key);
      if (const auto* number = std::get_if<float>(&value)) {
        out.put<uint32_t>(6).put(*number);
      } else if (const auto* size = std::get_if<uint32_t>(&value)) {
        out.put<uint32_t>(4).put(*size);
      } else if (const auto* flag = std::get_if<bool>(&value)) {
        out.put<uint32_t>(7).put<uint8_t>(*flag ? 1 : 0);
      } else if (const auto* list = std::get_if<std::vector<int32_t>>(&value)) {
        out.put<uint32_t>(9).put<uint32_t>(5).put<uint64_t>(list->size());
        for (const int32_t entry : *list) out.put(entry);
      } else {
        out.put<uint32_t>(8).put_string(std::get<std::string>(value));
      }
    }
    uint64_t offset = 0;
    for (const auto& [name, rows, values] : tensors_) {
      out.put_string(name).put<uint32_t>(rows == 1 ? 1 : 2).put<uint64_t>(values.size() / rows);
      if (rows != 1) out.put(rows);
      out.put<uint32_t>(0).put<uint64_t>(offset);
      offset += (values.size() * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
    }
    out.pad_to(kAlignment);
    for (const auto& [name, rows, values] : tensors_) {
      for (const float value : values) out.put(value);
      out.pad_to(kAlignment);
    }
    return out.text();
  }

 private:
  static constexpr size_t kAlignment = 32;

  template <typename Reader>
  ModelConfig read(Reader reader) const {
    const std::string bytes = file();
    return reader(GgufFile::parse(as_bytes(bytes), "test.gguf"));
  }

  std::vector<std::pair<std::string, Value>> keys_;
  struct Tensor {
    std::string name;
    uint64_t rows = 1;
    std::vector<float> values;
  };
  std::vector<Tensor> tensors_;
};

// The sizes that any rotary file has; heads of 128.
inline GgufBuilder plain_gguf(const std::string& architecture = "llama") {
  GgufBuilder builder;
  builder.set("general.architecture", architecture)
      .set(architecture + ".block_count", uint32_t{2})
      .set(architecture + ".context_length", uint32_t{4096})
      .set(architecture + ".embedding_length", uint32_t{4096})
      .set(architecture + ".attention.head_count", uint32_t{32});
  return builder;
}

// Null where there is no such field.
inline const DeclaredField* find_field(const ModelConfig& config, const std::string& name) {
  const auto found = std::ranges::find(config.fields, name, &DeclaredField::name);
  return found == config.fields.end() ? nullptr : &*found;
}

inline bool notes_mention(const ModelConfig& config, const std::string& text) {
  return std::ranges::any_of(config.findings, [&](const Finding& finding) {
    return finding.text.find(text) != std::string::npos;
  });
}

// The finding about `key`, or about one that ends so; null where there is none.
inline const Finding* find_finding(const ModelConfig& config, const std::string& key) {
  const auto found = std::ranges::find_if(
      config.findings, [&](const Finding& finding) { return finding.key.ends_with(key); });
  return found == config.findings.end() ? nullptr : &*found;
}

// Null where there is no such group.
inline const LayerGroup* find_group(const ModelConfig& config, const std::string& name) {
  const auto found = std::ranges::find(config.groups, name, &LayerGroup::name);
  return found == config.groups.end() ? nullptr : &*found;
}

// A field of a group of layers, or of all; null where there is none.
inline const DeclaredField* find_field(const ModelConfig& config, const std::string& group,
                                       const std::string& name) {
  const LayerGroup* const own = find_group(config, group);
  if (own != nullptr) {
    const auto found = std::ranges::find(own->fields, name, &DeclaredField::name);
    if (found != own->fields.end()) return &*found;
  }
  return find_field(config, name);
}

// The spectrum of the first layer, which must be rotary, in a sequence of n tokens.
inline Spectrum spectrum_at(const ModelConfig& config, int64_t n) {
  return config.layer(0).value().spectrum.at(n);
}

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_TEST_SUPPORT_H_
