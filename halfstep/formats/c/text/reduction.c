/* @what@ */
static void @reduce@(const @x@ *restrict x, @x@ *restrict y, const axes *s)
{
    int32_t i, j, k, l, m, n, o, p;
    for (i = 0; i < s->count[0]; ++i) {
        for (j = 0; j < s->count[1]; ++j) {
            for (k = 0; k < s->count[2]; ++k) {
                for (l = 0; l < s->count[3]; ++l) {
                    const @x@ *const from = x + i * s->step[0] + j * s->step[1] + k * s->step[2] + l * s->step[3];
                    @type@ made = @start@;
                    for (m = 0; m < s->shared[0]; ++m) {
                        for (n = 0; n < s->shared[1]; ++n) {
                            for (o = 0; o < s->shared[2]; ++o) {
                                for (p = 0; p < s->shared[3]; ++p) {
                                    const @type@ value = (@type@)from[m * s->shared_step[0] + n * s->shared_step[1] +
                                        o * s->shared_step[2] + p * s->shared_step[3]];
                                    made = @next@;
                                }
                            }
                        }
                    }
                    *y++ = (@x@)(@end@);
                }
            }
        }
    }
}
