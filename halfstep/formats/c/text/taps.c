/* One axis of a resampled value: sources of each element, and their weights, which add up to a power of two. */
typedef struct {
    int32_t count, width;
    const int32_t *place, *weight;
} taps;
