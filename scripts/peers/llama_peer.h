// What the small programs around llama.cpp's C interface share. Made by scripts/peers.sh against the
// libraries that node-llama-cpp brings.
#ifndef ROPEWALK_SCRIPTS_PEERS_LLAMA_PEER_H_
#define ROPEWALK_SCRIPTS_PEERS_LLAMA_PEER_H_

#include <ggml-backend.h>
#include <llama.h>

#include <cstdio>
#include <cstdlib>
#include <string>

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", PEER_NAME, what.c_str());
  std::exit(1);
}

// On the CPU, saying nothing but errors.
inline llama_model* load_model(const char* path, bool vocabulary_only = false) {
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  ggml_backend_load_all_from_path(PEER_LIBRARIES);
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = 0;
  params.vocab_only = vocabulary_only;
  llama_model* const model = llama_model_load_from_file(path, params);
  if (model == nullptr) fail("cannot load " + std::string(path));
  return model;
}

#endif  // ROPEWALK_SCRIPTS_PEERS_LLAMA_PEER_H_
