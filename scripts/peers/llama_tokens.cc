// Token ids as llama.cpp's vocabularies make them, by its C interface: JavaScript's strings carry no
// broken UTF-8.
//
//   llama_tokens MODEL.gguf [special] < TEXTS > IDS
//
// A line of TEXTS is a text's bytes in hexadecimal; its line of IDS are its tokens, nothing added.
// "special": what spells a special token is that token. Made by scripts/peers.sh as llama_scorer is.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "llama_peer.h"

namespace {

std::string from_hex(const std::string& line) {
  std::string bytes;
  for (size_t i = 0; i + 1 < line.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) fail("arguments: MODEL.gguf [special] < TEXTS");
  const bool special = argc == 3 && std::string(argv[2]) == "special";
  llama_model* model = load_model(argv[1], true);
  const llama_vocab* vocab = llama_model_get_vocab(model);
  for (std::string line; std::getline(std::cin, line);) {
    const std::string text = from_hex(line);
    const auto size = static_cast<int32_t>(text.size());
    std::vector<llama_token> ids(text.size() * 4 + 16);
    const int32_t n = llama_tokenize(vocab, text.data(), size, ids.data(),
                                     static_cast<int32_t>(ids.size()), false, special);
    if (n < 0) fail("more tokens than four a byte");
    for (int32_t t = 0; t < n; ++t) std::printf("%d ", ids[static_cast<size_t>(t)]);
    std::printf("\n");
  }
  llama_model_free(model);
}
