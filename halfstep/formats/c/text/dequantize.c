/* The real values of codes. */
static void @dequantize@(const @x@ *restrict from, float *restrict to, const move *m, float scale, int32_t zero_point)
{
    int32_t i, j, k, l, e;
    for (i = 0; i < m->count[0]; ++i) {
        for (j = 0; j < m->count[1]; ++j) {
            for (k = 0; k < m->count[2]; ++k) {
                for (l = 0; l < m->count[3]; ++l) {
                    float *const t = to + i * m->to_step[0] + j * m->to_step[1] + k * m->to_step[2] + l * m->to_step[3];
                    const @x@ *const f = from + i * m->from_step[0] + j * m->from_step[1] + k * m->from_step[2] +
                                         l * m->from_step[3];
                    for (e = 0; e < m->count[4]; ++e)
                        t[e * m->to_step[4]] = (float)((int32_t)f[e * m->from_step[4]] - zero_point) * scale;
                }
            }
        }
    }
}
