/* Normalizes rows of `count` codes with a stride of `apart`. Subtracts the mean if rows are centered, divides by the
 * root of the mean square in units of 2^-20, multiplies by a factor and adds a bias. epsilon has units of
 * 2^-guard. */
static void @norm@(const @x@ *restrict x, @y@ *restrict y, int32_t blocks, int32_t count, int32_t apart, int32_t zero,
    int32_t centered, int32_t guard, int64_t epsilon, const int32_t *factor, const int64_t *bias, const @scale@ *q)
{
    int32_t i, j, k;
    for (i = 0; i < blocks; ++i) {
        for (j = 0; j < apart; ++j) {
            const @x@ *const from = x + i * count * apart + j;
            @y@ *const to = y + i * count * apart + j;
            int64_t sum = 0, squares = 0, spread, root, units;
            int32_t bits = 20 + guard / 2;
            for (k = 0; k < count; ++k) {
                const int64_t steps = (int64_t)from[k * apart] - zero;
                sum += steps;
                squares += steps * steps;
            }
            if (!centered) sum = 0;
            spread = (count * squares - sum * sum) * ((int64_t)1 << guard) + epsilon;
            for (root = spread; root > 0 && root < (int64_t)1 << 60; root *= 4) ++bits;
            root = spread > 0 ? whole_root(root) : 1; /* all codes are equal, so all differences are 0 */
            units = (int64_t)1 << bits;
            for (k = 0; k < count; ++k) {
                const int64_t steps = (int64_t)from[k * apart] - zero;
                const int64_t normal = nearest_quotient((count * steps - sum) * units, root);
                to[k * apart] = (@y@)@code@(normal * factor[k] + bias[k], q, 0);
            }
        }
    }
}
