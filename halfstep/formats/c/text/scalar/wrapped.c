/* A sum modulo 2^32 as a signed 32-bit number. */
static int32_t wrapped(uint32_t sum)
{
    return sum < 0x80000000u ? (int32_t)sum : -(int32_t)(0xFFFFFFFFu - sum) - 1;
}
