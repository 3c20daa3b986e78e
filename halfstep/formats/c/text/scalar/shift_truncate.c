/* v / 2^bits towards minus infinity; 1 <= bits <= 62. */
static int64_t shift_truncate(int64_t v, int32_t bits)
{
    const uint64_t u = (uint64_t)v;
    const int64_t sign = -(int64_t)(u >> 63); /* 0 or -1: what is below 0 is shifted as its complement */
    return (int64_t)((u ^ (uint64_t)sign) >> bits) ^ sign;
}
