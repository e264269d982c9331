// What a study measures, in names and digests: equal identities mean equal numbers.
#ifndef ROPEWALK_STUDY_IDENTITY_H_
#define ROPEWALK_STUDY_IDENTITY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/study/store.h"
#include "ropewalk/study/windows.h"

namespace ropewalk {

// SHA-256 of all that makes a model: a file, or the JSON files and weights of a Hugging Face
// directory.
// Throws Error where it cannot be read.
std::string model_digest(const std::string& model);

// What measurements of one model have in common that can stand in one study: its bytes, the
// precision, the version of what is measured.
StudyIdentity model_identity(const std::string& model, const std::string& precision);

// The model's bytes, the windows' tokens, the length, the precision, and the version of what is
// measured; no paths.
//   model  a file, or a Hugging Face directory. Throws Error where it cannot be read.
StudyIdentity study_identity(const std::string& model, const std::string& precision,
                             const std::vector<Window>& windows, int64_t target_length);

// SHA-256 of an identity, in hexadecimal.
std::string identity_digest(const StudyIdentity& identity);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_IDENTITY_H_
