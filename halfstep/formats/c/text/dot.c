/* Dot products of x with up to eight rows of weights, added to the bias. `whole` is a multiple of block. */
static void dot_@dot_tag@(const @x@ *restrict x, const int8_t *restrict w, int32_t length, int32_t whole, int32_t rows,
    const int32_t *restrict bias, @sum@ *restrict sums)
{
    const int32_t count = whole / block * block; /* shows the compiler that vectors have no remainder */
    int32_t r, i;
    if (rows == 8) {
        const int8_t *const w1 = w + length, *const w2 = w1 + length, *const w3 = w2 + length, *const w4 = w3 + length;
        const int8_t *const w5 = w4 + length, *const w6 = w5 + length, *const w7 = w6 + length;
        @sum@ a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
        for (i = 0; i < count; ++i) {
            a += (@sum@)((int32_t)x[i] * (int32_t)w[i]);
            b += (@sum@)((int32_t)x[i] * (int32_t)w1[i]);
            c += (@sum@)((int32_t)x[i] * (int32_t)w2[i]);
            d += (@sum@)((int32_t)x[i] * (int32_t)w3[i]);
            e += (@sum@)((int32_t)x[i] * (int32_t)w4[i]);
            f += (@sum@)((int32_t)x[i] * (int32_t)w5[i]);
            g += (@sum@)((int32_t)x[i] * (int32_t)w6[i]);
            h += (@sum@)((int32_t)x[i] * (int32_t)w7[i]);
        }
        sums[0] = (@sum@)bias[0] + a;
        sums[1] = (@sum@)bias[1] + b;
        sums[2] = (@sum@)bias[2] + c;
        sums[3] = (@sum@)bias[3] + d;
        sums[4] = (@sum@)bias[4] + e;
        sums[5] = (@sum@)bias[5] + f;
        sums[6] = (@sum@)bias[6] + g;
        sums[7] = (@sum@)bias[7] + h;
        return;
    }
    for (r = 0; r < rows; ++r) {
        @sum@ a = 0;
        for (i = 0; i < count; ++i) a += (@sum@)((int32_t)x[i] * (int32_t)w[r * length + i]);
        sums[r] = (@sum@)bias[r] + a;
    }
}
