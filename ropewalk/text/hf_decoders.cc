#include "ropewalk/text/hf_decoders.h"

#include <utility>

#include "ropewalk/text/byte_alphabet.h"
#include "ropewalk/text/hf_pattern.h"
#include "ropewalk/text/sentencepiece_spelling.h"

namespace ropewalk {
namespace {

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(text);
  std::string result;
  while (true) {
    const size_t match = text.find(from);
    result += text.substr(0, match);
    if (match == std::string_view::npos) return result;
    result += to;
    text.remove_prefix(match + from.size());
  }
}

class Sequence final : public HfDecoder {
 public:
  explicit Sequence(const HfNode& node) {
    for (const HfNode& step : node.at("decoders").elements()) {
      steps_.push_back(make_hf_decoder(step));
    }
  }
  void decode(std::vector<std::string>& tokens, bool whole) const override {
    for (const auto& step : steps_) step->decode(tokens, whole);
  }

 private:
  std::vector<std::unique_ptr<HfDecoder>> steps_;
};

class ByteLevel final : public HfDecoder {
 public:
  void decode(std::vector<std::string>& tokens, bool) const override {
    for (std::string& token : tokens) {
      if (const auto bytes = from_alphabet(token)) token = *bytes;
    }
  }
};

class Metaspace final : public HfDecoder {
 public:
  explicit Metaspace(const HfNode& node)
      : replacement_(node.at("replacement").string()),
        prefixed_(node.string_or("prepend_scheme",
                                 node.boolean_or("add_prefix_space", true) ? "always" : "never") !=
                  "never") {}
  void decode(std::vector<std::string>& tokens, bool whole) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = replaced(tokens[i], replacement_, i == 0 && whole && prefixed_ ? "" : " ");
    }
  }

 private:
  std::string replacement_;
  bool prefixed_;
};

class WordPiece final : public HfDecoder {
 public:
  explicit WordPiece(const HfNode& node)
      : prefix_(node.string_or("prefix", "##")), cleans_up_(node.boolean_or("cleanup", true)) {}
  void decode(std::vector<std::string>& tokens, bool whole) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0 || !whole) {
        const bool continues = tokens[i].starts_with(prefix_);
        tokens[i] = continues ? tokens[i].substr(prefix_.size()) : " " + tokens[i];
      }
      if (!cleans_up_) continue;
      for (const auto& [from, to] :
           {std::pair(" .", "."), std::pair(" ?", "?"), std::pair(" !", "!"), std::pair(" ,", ","),
            std::pair(" ' ", "'"), std::pair(" n't", "n't"), std::pair(" 'm", "'m"),
            std::pair(" do not", " don't"), std::pair(" 's", "'s"), std::pair(" 've", "'ve"),
            std::pair(" 're", "'re")}) {
        tokens[i] = replaced(tokens[i], from, to);
      }
    }
  }

 private:
  std::string prefix_;
  bool cleans_up_;
};

class BpeSuffix final : public HfDecoder {
 public:
  explicit BpeSuffix(const HfNode& node) : suffix_(node.string_or("suffix", "</w>")) {}
  void decode(std::vector<std::string>& tokens, bool whole) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      const bool last = whole && i + 1 == tokens.size();
      tokens[i] = replaced(tokens[i], suffix_, last ? "" : " ");
    }
  }

 private:
  std::string suffix_;
};

class Replace final : public HfDecoder {
 public:
  explicit Replace(const HfNode& node)
      : pattern_(node.at("pattern")), content_(node.at("content").string()) {}
  void decode(std::vector<std::string>& tokens, bool) const override {
    for (std::string& token : tokens) token = pattern_.replace_all(token, content_);
  }

 private:
  HfPattern pattern_;
  std::string content_;
};

class ByteFallback final : public HfDecoder {
 public:
  void decode(std::vector<std::string>& tokens, bool) const override {
    for (std::string& token : tokens) {
      if (const int byte = byte_spelled(token); byte >= 0) {
        token = std::string(1, static_cast<char>(byte));
      }
    }
  }
};

class Fuse final : public HfDecoder {
 public:
  void decode(std::vector<std::string>& tokens, bool) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens.assign(1, all);
  }
};

class Strip final : public HfDecoder {
 public:
  explicit Strip(const HfNode& node)
      : content_(node.at("content").string()),
        start_(node.at("start").count()),
        stop_(node.at("stop").count()) {
    if (content_.empty()) throw node.at("content").wrong("one character");
  }
  void decode(std::vector<std::string>& tokens, bool whole) const override {
    if (!whole) return;
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (int32_t n = 0; n < start_ && rest.starts_with(content_); ++n) {
        rest.remove_prefix(content_.size());
      }
      for (int32_t n = 0; n < stop_ && rest.ends_with(content_); ++n) {
        rest.remove_suffix(content_.size());
      }
      token = std::string(rest);
    }
  }

 private:
  std::string content_;
  int32_t start_;
  int32_t stop_;
};

}  // namespace

std::unique_ptr<HfDecoder> make_hf_decoder(const HfNode& node) {
  const std::string type = node.type();
  if (type == "Sequence") return std::make_unique<Sequence>(node);
  if (type == "ByteLevel") return std::make_unique<ByteLevel>();
  if (type == "Metaspace") return std::make_unique<Metaspace>(node);
  if (type == "WordPiece") return std::make_unique<WordPiece>(node);
  if (type == "BPEDecoder") return std::make_unique<BpeSuffix>(node);
  if (type == "Replace") return std::make_unique<Replace>(node);
  if (type == "ByteFallback") return std::make_unique<ByteFallback>();
  if (type == "Fuse") return std::make_unique<Fuse>();
  if (type == "Strip") return std::make_unique<Strip>(node);
  throw node.unknown_type(
      "Sequence, ByteLevel, Metaspace, WordPiece, BPEDecoder, Replace, ByteFallback, Fuse, Strip");
}

}  // namespace ropewalk
