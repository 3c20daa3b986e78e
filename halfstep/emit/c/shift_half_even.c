/* v / 2^bits as the nearest whole number, of two the even one; 1 <= bits <= 62. */
static int64_t shift_half_even(int64_t v, int32_t bits)
{
    const uint64_t raised = (uint64_t)v + ((uint64_t)1 << 63); /* without a sign: any shift is defined */
    const uint64_t half = (uint64_t)1 << (bits - 1);
    const uint64_t rest = raised & (2 * half - 1);
    const int64_t below = (int64_t)(raised >> bits) - (int64_t)((uint64_t)1 << (63 - bits));
    return below + (rest > half || (rest == half && below % 2 != 0));
}
