/* Multiplies a row of a with `width` columns of b, one after the other. */
static void @multiply@(const @a@ *restrict a, const @b@ *restrict b, const product *s, int32_t a_zero,
    int32_t b_zero, int32_t width, @sum@ *restrict sums)
{
    int32_t c, k;
    for (c = 0; c < width; ++c) {
        const @b@ *const from = b + c * s->b_column;
        @sum@ sum = 0;
        for (k = 0; k < s->length; ++k)
            sum += ((@sum@)a[k * s->a_step] - a_zero) * ((@sum@)from[k * s->b_step] - b_zero);
        sums[c] = sum;
    }
}
