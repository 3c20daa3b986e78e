/* Quantizes real values to the code nearest to a @quotient@, @rounding@. NaN becomes the lowest code. */
static void @quantize@(const float *restrict from, @y@ *restrict to, const move *m, float scale, int32_t zero_point,
    int32_t low, int32_t high)
{
    int32_t i, j, k, l, e;
    for (i = 0; i < m->count[0]; ++i) {
        for (j = 0; j < m->count[1]; ++j) {
            for (k = 0; k < m->count[2]; ++k) {
                for (l = 0; l < m->count[3]; ++l) {
                    @y@ *const t = to + i * m->to_step[0] + j * m->to_step[1] + k * m->to_step[2] + l * m->to_step[3];
                    const float *const f = from + i * m->from_step[0] + j * m->from_step[1] + k * m->from_step[2] +
                                           l * m->from_step[3];
                    for (e = 0; e < m->count[4]; ++e) {
                        const float steps = f[e * m->from_step[4]] @by@ scale;
                        int32_t code = low;
                        if (steps >= 1048576.0f) {
                            code = high;
                        } else if (steps > -1048576.0f) {
                            const int32_t whole = (int32_t)steps;
                            const float rest = steps - (float)whole;
                            code = whole + (@up@) - (@down@) + zero_point;
                            code = code < low ? low : code > high ? high : code;
                        }
                        t[e * m->to_step[4]] = (@y@)code;
                    }
                }
            }
        }
    }
}
