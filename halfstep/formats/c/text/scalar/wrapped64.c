/* A sum modulo 2^64 as a signed 64-bit number. */
static int64_t wrapped64(uint64_t sum)
{
    return sum < 0x8000000000000000u ? (int64_t)sum : -(int64_t)(0xFFFFFFFFFFFFFFFFu - sum) - 1;
}
