// Whether the sizes that a model declares are those of its tensors.
#ifndef ROPEWALK_ENGINE_SIZE_CHECK_H_
#define ROPEWALK_ENGINE_SIZE_CHECK_H_

#include "ropewalk/engine/blueprint.h"
#include "ropewalk/engine/model.h"

namespace ropewalk {

// By names and shapes alone, before memory is foretold by the sizes or a weight is read. A tensor
// that is not there is no business of this: it is named where it is read. Throws Error naming the
// key, and the tensor that it does not fit.
void refuse_other_sizes(const ModelFile& file, const Blueprint& blueprint);

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_SIZE_CHECK_H_
