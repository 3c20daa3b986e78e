/* Weights of 2 bits, four in a byte, the first in its lowest bits. */
static void unpack2(const uint8_t *restrict packed, int32_t count, int8_t *restrict w)
{
    int32_t i;
    for (i = 0; i < count; ++i) w[i] = (int8_t)((((packed[i / 4] >> (i % 4 * 2)) & 3) ^ 2) - 2);
}
