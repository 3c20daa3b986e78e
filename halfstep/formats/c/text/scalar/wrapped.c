/* A sum modulo 2^32 as the number of 31 bits and a sign that it stands for. */
static int32_t wrapped(uint32_t sum)
{
    return sum < 0x80000000u ? (int32_t)sum : -(int32_t)(0xFFFFFFFFu - sum) - 1;
}
