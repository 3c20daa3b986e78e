/* v / 2^bits rounded to the nearest integer, ties towards plus infinity. Requires 1 <= bits <= 62. */
static int64_t shift_half_up(int64_t v, int32_t bits)
{
    const uint64_t u = (uint64_t)v;
    const int64_t sign = -(int64_t)(u >> 63); /* 0 or -1, because negative numbers are shifted as their complement */
    const int64_t below = (int64_t)((u ^ (uint64_t)sign) >> bits) ^ sign;
    return below + (int64_t)(u >> (bits - 1) & 1);
}
