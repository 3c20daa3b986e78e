/* v / 2^bits as a doubling high multiplication followed by a rounding shift: by 31 bits half up, then by the rest half
 * away from zero. Requires 1 <= bits <= 62. */
static int64_t shift_doubled(int64_t v, int32_t bits)
{
    return bits > 31 ? shift_half_away(shift_half_up(v, 31), bits - 31) : shift_half_up(v, bits);
}
