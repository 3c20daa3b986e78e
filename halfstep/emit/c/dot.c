/* Adds the products of x with up to four rows of weights. What is left of vectors of 32 is done by 16, which a
 * compiler knows to be a vector, and then one by one. */
static void dot_@dot_tag@(const @x@ *restrict x, const int8_t *restrict w, int32_t length, int32_t rows,
    @sum@ *restrict sums)
{
    int32_t r, i, j;
    if (rows == 4) {
        const int8_t *const w1 = w + length, *const w2 = w1 + length, *const w3 = w2 + length;
        const int32_t whole = length / 32 * 32;
        @sum@ a = 0, b = 0, c = 0, d = 0;
        for (i = 0; i < whole; ++i) {
            a += (@sum@)((int32_t)x[i] * (int32_t)w[i]);
            b += (@sum@)((int32_t)x[i] * (int32_t)w1[i]);
            c += (@sum@)((int32_t)x[i] * (int32_t)w2[i]);
            d += (@sum@)((int32_t)x[i] * (int32_t)w3[i]);
        }
        if (length - whole >= 16) {
            const @x@ *const rest = x + whole;
            for (j = 0; j < 16; ++j) {
                a += (@sum@)((int32_t)rest[j] * (int32_t)(w + whole)[j]);
                b += (@sum@)((int32_t)rest[j] * (int32_t)(w1 + whole)[j]);
                c += (@sum@)((int32_t)rest[j] * (int32_t)(w2 + whole)[j]);
                d += (@sum@)((int32_t)rest[j] * (int32_t)(w3 + whole)[j]);
            }
        }
        for (i = length / 16 * 16; i < length; ++i) {
            a += (@sum@)((int32_t)x[i] * (int32_t)w[i]);
            b += (@sum@)((int32_t)x[i] * (int32_t)w1[i]);
            c += (@sum@)((int32_t)x[i] * (int32_t)w2[i]);
            d += (@sum@)((int32_t)x[i] * (int32_t)w3[i]);
        }
        sums[0] += a;
        sums[1] += b;
        sums[2] += c;
        sums[3] += d;
        return;
    }
    for (r = 0; r < rows; ++r) {
        @sum@ a = 0;
        for (i = 0; i < length; ++i) a += (@sum@)((int32_t)x[i] * (int32_t)w[r * length + i]);
        sums[r] += a;
    }
}
