/* v / 2^bits as the nearest whole number, half a step towards plus infinity; 1 <= bits <= 62. */
static int64_t shift_half_up(int64_t v, int32_t bits)
{
    const uint64_t raised = (uint64_t)v + ((uint64_t)1 << 63); /* without a sign: any shift is defined */
    return (int64_t)(((raised >> (bits - 1)) + 1) >> 1) - (int64_t)((uint64_t)1 << (63 - bits));
}
