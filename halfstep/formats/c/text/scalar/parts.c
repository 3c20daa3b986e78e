/* @shift@ of sum * factor, of which the last 16 bits are dropped first: |sum| <= 2^47, factor >= 0, 1 <= bits <= 62. A
 * result beyond 2^45 may be any other beyond 2^45. */
static int64_t parts_@rounding@(int64_t sum, int32_t factor, int32_t bits)
{
    const int64_t low = (int64_t)((uint64_t)sum & 65535u), last = low * factor;
    int64_t upper = (sum - low) / 65536 * factor + last / 65536;
    if (bits < 18) { /* so few that no larger product makes a code */
        const int64_t most = factor > 0 ? INT64_MAX / factor : 0;
        return @shift@((sum < -most ? -most : sum > most ? most : sum) * factor, bits);
    }
    if (last % 65536 != 0 && upper % 2 == 0) ++upper; /* a last bit that says so of those that were dropped */
    return @shifted@;
}
