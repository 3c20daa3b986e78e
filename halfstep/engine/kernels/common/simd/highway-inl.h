// What of Highway the kernels use, for one level; highway.h includes this for each.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
