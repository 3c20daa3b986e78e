/* v / 2^bits as the nearest whole number, half a step towards plus infinity; 1 <= bits <= 62. */
static int64_t shift_half_up(int64_t v, int32_t bits)
{
    const uint64_t u = (uint64_t)v;
    const int64_t sign = -(int64_t)(u >> 63); /* 0 or -1: what is below 0 is shifted as its complement */
    const int64_t below = (int64_t)((u ^ (uint64_t)sign) >> bits) ^ sign;
    return below + (int64_t)(u >> (bits - 1) & 1);
}
