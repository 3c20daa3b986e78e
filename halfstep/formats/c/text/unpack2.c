/* Weights of 2 bits, four in a byte, the first in the lowest bits. */
static void unpack2(const uint8_t *restrict packed, int32_t count, int8_t *restrict w)
{
    const int32_t whole = count / 4;
    int32_t i;
    for (i = 0; i < whole; ++i) {
        w[4 * i] = (int8_t)(((packed[i] & 3) ^ 2) - 2);
        w[4 * i + 1] = (int8_t)(((packed[i] >> 2 & 3) ^ 2) - 2);
        w[4 * i + 2] = (int8_t)(((packed[i] >> 4 & 3) ^ 2) - 2);
        w[4 * i + 3] = (int8_t)(((packed[i] >> 6) ^ 2) - 2);
    }
    for (i = 4 * whole; i < count; ++i) w[i] = (int8_t)(((packed[whole] >> (i % 4 * 2) & 3) ^ 2) - 2);
}
