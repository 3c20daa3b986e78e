/* v / 2^bits as the nearest whole number, half a step away from zero; 1 <= bits <= 62. */
static int64_t shift_half_away(int64_t v, int32_t bits)
{
    const uint64_t raised = (uint64_t)v + ((uint64_t)1 << 63); /* without a sign: any shift is defined */
    const uint64_t half = (uint64_t)1 << (bits - 1);
    const uint64_t rest = raised & (2 * half - 1);
    const int64_t below = (int64_t)(raised >> bits) - (int64_t)((uint64_t)1 << (63 - bits));
    return below + (rest > half || (rest == half && v > 0));
}
