/* A sum of two terms with one shift. */
typedef struct {
    int32_t a_multiplier, b_multiplier, shift;
    int32_t a_zero_point, b_zero_point, zero_point, low, high;
} fixed_sum;
