// Marks functions that both the host and CUDA compile, so that a rule has one source.
#pragma once

#ifdef __CUDACC__
#define HS_HOST_DEVICE __host__ __device__
#else
#define HS_HOST_DEVICE
#endif
