/* Weights of 4 bits, two in a byte, the first in its low half. */
static void unpack4(const uint8_t *restrict packed, int32_t count, int8_t *restrict w)
{
    int32_t i;
    for (i = 0; i + 1 < count; i += 2) {
        w[i] = (int8_t)(((packed[i / 2] & 15) ^ 8) - 8);
        w[i + 1] = (int8_t)(((packed[i / 2] >> 4) ^ 8) - 8);
    }
    if (i < count) w[i] = (int8_t)(((packed[i / 2] & 15) ^ 8) - 8);
}
