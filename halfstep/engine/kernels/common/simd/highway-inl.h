// The headers of Highway that kernels use, for one level. highway.h includes this file for each level.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
