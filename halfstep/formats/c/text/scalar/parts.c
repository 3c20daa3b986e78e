/* @shift@ of sum * factor without its last 16 bits: |sum| <= 2^47, factor >= 0, 1 <= bits <= 62. A result above 2^45 in
 * magnitude may be any other such result. */
static int64_t parts_@rounding@(int64_t sum, int32_t factor, int32_t bits)
{
    const int64_t low = (int64_t)((uint64_t)sum & 65535u), last = low * factor;
    int64_t upper = (sum - low) / 65536 * factor + last / 65536;
    if (bits < 18) { /* with so few bits, a larger product is no valid code */
        const int64_t most = factor > 0 ? INT64_MAX / factor : 0;
        return @shift@((sum < -most ? -most : sum > most ? most : sum) * factor, bits);
    }
    if (last % 65536 != 0 && upper % 2 == 0) ++upper; /* an odd last bit represents nonzero dropped bits */
    return @shifted@;
}
