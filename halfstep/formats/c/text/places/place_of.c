/* The place of the @what@ element of each line. */
static void @place@(const @x@ *restrict x, int64_t *restrict y, const lines *s)
{
    int32_t i, j, k, l, e;
    for (i = 0; i < s->count[0]; ++i) {
        for (j = 0; j < s->count[1]; ++j) {
            for (k = 0; k < s->count[2]; ++k) {
                for (l = 0; l < s->count[3]; ++l) {
                    const @x@ *const from = x + i * s->x_step[0] + j * s->x_step[1] + k * s->x_step[2] +
                                            l * s->x_step[3];
                    int32_t best = 0;
                    for (e = 1; e < s->extent; ++e) {
                        if (from[e * s->x_along] @beats@ from[best * s->x_along]) best = e;
                    }
                    y[i * s->y_step[0] + j * s->y_step[1] + k * s->y_step[2] + l * s->y_step[3]] = best;
                }
            }
        }
    }
}
