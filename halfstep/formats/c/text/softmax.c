/* Softmax of rows of `count` codes with a stride of `apart`: exponentials over their sum. */
static void @softmax@(const @x@ *restrict x, @y@ *restrict y, int32_t blocks, int32_t count, int32_t apart,
    const int32_t *fine, const int32_t *coarse, int32_t multiplier, const @scale@ *q)
{
    int32_t i, j, k;
    for (i = 0; i < blocks; ++i) {
        for (j = 0; j < apart; ++j) {
            const @x@ *const from = x + i * count * apart + j;
            @y@ *const to = y + i * count * apart + j;
            int32_t largest = from[0];
            int64_t sum = 0;
            for (k = 1; k < count; ++k) largest = from[k * apart] > largest ? from[k * apart] : largest;
            for (k = 0; k < count; ++k) sum += exponential(largest - from[k * apart], fine, coarse);
            for (k = 0; k < count; ++k)
                to[k * apart] =
                    (@y@)@code@(exponential(largest - from[k * apart], fine, coarse) * multiplier / sum, q, 0);
        }
    }
}
