/* v / 2^bits rounded to the nearest integer, ties away from zero. Requires 1 <= bits <= 62. */
static int64_t shift_half_away(int64_t v, int32_t bits)
{
    const uint64_t u = (uint64_t)v;
    const int64_t sign = -(int64_t)(u >> 63); /* 0 or -1 */
    const uint64_t magnitude = (u ^ (uint64_t)sign) - (uint64_t)sign;
    return ((int64_t)((magnitude >> bits) + (magnitude >> (bits - 1) & 1)) ^ sign) - sign;
}
