/* Sums of codes along each line. */
static void @running@(const @x@ *restrict x, @y@ *restrict y, const lines *s, int32_t zero, const @scale@ *q)
{
    int32_t i, j, k, l, n;
    for (i = 0; i < s->count[0]; ++i) {
        for (j = 0; j < s->count[1]; ++j) {
            for (k = 0; k < s->count[2]; ++k) {
                for (l = 0; l < s->count[3]; ++l) {
                    const @x@ *const from = x + i * s->x_step[0] + j * s->x_step[1] + k * s->x_step[2] +
                                            l * s->x_step[3];
                    @y@ *const to = y + i * s->y_step[0] + j * s->y_step[1] + k * s->y_step[2] + l * s->y_step[3];
                    @sum@ sum = 0;
                    for (n = 0; n < s->extent; ++n) {
                        const int32_t e = @element@;
                        const @sum@ next = sum + ((int32_t)from[e * s->x_along] - zero);
                        to[e * s->y_along] = (@y@)@code@(@taken@, q, 0);
                        sum = next;
                    }
                }
            }
        }
    }
}
