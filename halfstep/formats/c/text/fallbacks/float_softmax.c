/* Softmax of rows of `count` floats with a stride of `apart`: exponentials over their sum, in double. */
static void float_softmax(const float *restrict x, float *restrict y, int32_t blocks, int32_t count, int32_t apart)
{
    int32_t i, j, k;
    for (i = 0; i < blocks; ++i) {
        for (j = 0; j < apart; ++j) {
            const float *const from = x + i * count * apart + j;
            float *const to = y + i * count * apart + j;
            double largest = (double)from[0], sum = 0.0;
            for (k = 1; k < count; ++k) largest = largest < (double)from[k * apart] ? (double)from[k * apart] : largest;
            for (k = 0; k < count; ++k) sum += exp((double)from[k * apart] - largest);
            for (k = 0; k < count; ++k) to[k * apart] = (float)(exp((double)from[k * apart] - largest) / sum);
        }
    }
}
