/* v / 2^bits towards minus infinity; 1 <= bits <= 62. */
static int64_t shift_truncate(int64_t v, int32_t bits)
{
    const uint64_t raised = (uint64_t)v + ((uint64_t)1 << 63); /* without a sign: any shift is defined */
    return (int64_t)(raised >> bits) - (int64_t)((uint64_t)1 << (63 - bits));
}
