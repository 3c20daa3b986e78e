/* Weights of 4 bits, two in a byte, the first in the low half. */
static void unpack4(const uint8_t *restrict packed, int32_t count, int8_t *restrict w)
{
    const int32_t pairs = count / 2;
    int32_t i;
    for (i = 0; i < pairs; ++i) {
        w[2 * i] = (int8_t)(((packed[i] & 15) ^ 8) - 8);
        w[2 * i + 1] = (int8_t)(((packed[i] >> 4) ^ 8) - 8);
    }
    if (count % 2 != 0) w[2 * pairs] = (int8_t)(((packed[pairs] & 15) ^ 8) - 8);
}
