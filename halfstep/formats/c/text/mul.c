/* The product of two values of codes. */
static void @mul@(const @a@ *a, const @b@ *b, @y@ *y, const broadcast *s, int32_t a_zero, int32_t b_zero,
    const @scale@ *q)
{
    int32_t i, j, k, l;
    for (i = 0; i < s->count[0]; ++i) {
        for (j = 0; j < s->count[1]; ++j) {
            for (k = 0; k < s->count[2]; ++k) {
                const @a@ *const from_a = a + i * s->a_step[0] + j * s->a_step[1] + k * s->a_step[2];
                const @b@ *const from_b = b + i * s->b_step[0] + j * s->b_step[1] + k * s->b_step[2];
                for (l = 0; l < s->count[3]; ++l) {
                    const @sum@ steps = (@sum@)((int32_t)from_a[l * s->a_step[3]] - a_zero);
                    *y++ = (@y@)@code@(steps * ((int32_t)from_b[l * s->b_step[3]] - b_zero), q, 0);
                }
            }
        }
    }
}
