/* Adds the products of x with one row of weights, or with four. */
static void dot1_@dot_tag@(const @x@ *restrict x, const int8_t *restrict w, int32_t length, @sum@ *restrict sums)
{
    @sum@ a = 0;
    int32_t i;
    for (i = 0; i < length; ++i) a += (@sum@)((int32_t)x[i] * (int32_t)w[i]);
    sums[0] += a;
}

static void dot4_@dot_tag@(const @x@ *restrict x, const int8_t *restrict w, int32_t length, @sum@ *restrict sums)
{
    const int8_t *const w1 = w + length, *const w2 = w1 + length, *const w3 = w2 + length;
    @sum@ a = 0, b = 0, c = 0, d = 0;
    int32_t i;
    for (i = 0; i < length; ++i) {
        a += (@sum@)((int32_t)x[i] * (int32_t)w[i]);
        b += (@sum@)((int32_t)x[i] * (int32_t)w1[i]);
        c += (@sum@)((int32_t)x[i] * (int32_t)w2[i]);
        d += (@sum@)((int32_t)x[i] * (int32_t)w3[i]);
    }
    sums[0] += a;
    sums[1] += b;
    sums[2] += c;
    sums[3] += d;
}
