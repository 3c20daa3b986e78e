/* The number of codes of a patch that are multiplied at once. A patch is padded with zeros to a multiple of it, so that
 * a vector may extend past a row of weights: the elements after it are multiplied by 0. */
#if defined(__AVX512BW__)
enum { block = 64 };
#elif defined(__AVX2__)
enum { block = 32 };
#elif defined(__SSE2__) || defined(__ARM_NEON) || defined(__ALTIVEC__) || defined(__VEC__)
enum { block = 16 };
#else
enum { block = 1 };
#endif
