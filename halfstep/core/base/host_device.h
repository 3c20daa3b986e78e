// One source of a rule for the host and for CUDA.
#pragma once

#ifdef __CUDACC__
#define HS_HOST_DEVICE __host__ __device__
#else
#define HS_HOST_DEVICE
#endif
