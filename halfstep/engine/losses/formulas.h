// The formulas of all losses, one function each. Internal to this room.
#pragma once

#include "halfstep/engine/losses/losses.h"

namespace halfstep::losses {

// elementwise.cpp: output and target of equal extents
Array mse(const Call& call);
Array l1(const Call& call);
Array smooth_l1(const Call& call);
Array huber(const Call& call);
Array bce_with_logits(const Call& call);
Array focal(const Call& call);

// boxes.cpp: [..., 4] with the corners x1 y1 x2 y2
Array iou(const Call& call);
Array giou(const Call& call);
Array diou(const Call& call);
Array ciou(const Call& call);

// classes.cpp: logits [n, classes, ...] and class numbers [n, ...]
Array cross_entropy(const Call& call);
Array dice(const Call& call);

// vectors.cpp: [..., elements]
Array cosine_embedding(const Call& call);
Array triplet_margin(const Call& call);

// sequences.cpp: logits or their log_softmax [n, steps, classes] and labels [n, labels]
Array ctc(const Call& call);

/// Throws loss_extents_differ with the types of both operands.
[[noreturn]] void refuse_extents(const char* loss, const Array& output, const Array& target, const char* expected);

}  // namespace halfstep::losses
