/* v / 2^bits rounded towards minus infinity. Requires 1 <= bits <= 62. */
static int64_t shift_truncate(int64_t v, int32_t bits)
{
    const uint64_t u = (uint64_t)v;
    const int64_t sign = -(int64_t)(u >> 63); /* 0 or -1, because negative numbers are shifted as their complement */
    return (int64_t)((u ^ (uint64_t)sign) >> bits) ^ sign;
}
