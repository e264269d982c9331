// Keys of a config.json that are true or false.
#ifndef ROPEWALK_CONFIG_HF_FLAGS_H_
#define ROPEWALK_CONFIG_HF_FLAGS_H_

#include "ropewalk/config/json_fields.h"

namespace ropewalk {

// Throws Error naming the first key of a text model's flags, read here or not, that holds something
// else. transformers 5 refuses numbers and words for them, too; a null is taken for no word.
void refuse_other_than_flags(const JsonFields& fields);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_FLAGS_H_
