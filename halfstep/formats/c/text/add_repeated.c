/* The sum of two values of codes, at least one of them broadcast. */
static void @add@(const @a@ *restrict a, const @b@ *restrict b, @y@ *restrict y, const broadcast *s,
    const @scale@ *restrict q)
{
    const @scale@ scale = *q;
    int32_t i, j, k, l;
    for (i = 0; i < s->count[0]; ++i) {
        for (j = 0; j < s->count[1]; ++j) {
            for (k = 0; k < s->count[2]; ++k) {
                const @a@ *const from_a = a + i * s->a_step[0] + j * s->a_step[1] + k * s->a_step[2];
                const @b@ *const from_b = b + i * s->b_step[0] + j * s->b_step[1] + k * s->b_step[2];
                for (l = 0; l < s->count[3]; ++l)
                    *y++ = (@y@)@code@(from_a[l * s->a_step[3]], from_b[l * s->b_step[3]], &scale);
            }
        }
    }
}
