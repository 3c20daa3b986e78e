/* v / 2^bits rounded to the nearest integer, ties to even. Requires 1 <= bits <= 62. */
static int64_t shift_half_even(int64_t v, int32_t bits)
{
    const uint64_t u = (uint64_t)v, half = (uint64_t)1 << (bits - 1), rest = u & (2 * half - 1);
    const int64_t sign = -(int64_t)(u >> 63); /* 0 or -1, because negative numbers are shifted as their complement */
    const int64_t below = (int64_t)((u ^ (uint64_t)sign) >> bits) ^ sign;
    return below + (rest > half || (rest == half && below % 2 != 0));
}
