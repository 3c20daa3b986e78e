/* A sum of two terms in float32. Each term is a product and an addition with one rounding. */
typedef struct {
    float a_scale, a_offset, b_scale, b_offset, factor;
    int32_t zero_point, low, high;
} float_sum;
