/* Multiplies a row of a with `width` columns of b: each element of the row with adjacent elements of b. */
static void @multiply@(const @a@ *restrict a, const @b@ *restrict b, const product *s, int32_t a_zero,
    int32_t b_zero, int32_t width, @sum@ *restrict sums)
{
    int32_t c, k;
    for (c = 0; c < width; ++c) sums[c] = 0;
    for (k = 0; k < s->length; ++k) {
        const @sum@ steps = (@sum@)a[k * s->a_step] - a_zero;
        const @b@ *const from = b + k * s->b_step;
        for (c = 0; c < width; ++c) sums[c] += steps * ((@sum@)from[c] - b_zero);
    }
}
