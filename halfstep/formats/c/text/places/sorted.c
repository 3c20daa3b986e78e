/* The first `count` elements of each line in the order of the line, @what@ first, and their places. Of equal elements
 * the first comes first. */
static void @sorted@(const @x@ *restrict x, @x@ *restrict y, int64_t *restrict places, const lines *s, int32_t count)
{
    int32_t i, j, k, l, n, e;
    for (i = 0; i < s->count[0]; ++i) {
        for (j = 0; j < s->count[1]; ++j) {
            for (k = 0; k < s->count[2]; ++k) {
                for (l = 0; l < s->count[3]; ++l) {
                    const @x@ *const from = x + i * s->x_step[0] + j * s->x_step[1] + k * s->x_step[2] +
                                            l * s->x_step[3];
                    const int32_t to = i * s->y_step[0] + j * s->y_step[1] + k * s->y_step[2] + l * s->y_step[3];
                    int32_t last = -1;
                    for (n = 0; n < count; ++n) {
                        int32_t best = -1;
                        for (e = 0; e < s->extent; ++e) {
                            const @x@ value = from[e * s->x_along];
                            if (last >= 0) {
                                const @x@ before = from[last * s->x_along];
                                if (value @beats@ before || (value == before && e <= last)) continue;
                            }
                            if (best < 0 || value @beats@ from[best * s->x_along]) best = e;
                        }
                        y[to + n * s->y_along] = from[best * s->x_along];
                        places[to + n * s->y_along] = best;
                        last = best;
                    }
                }
            }
        }
    }
}
