static void move_@x_tag@(const @x@ *restrict from, @x@ *restrict to, const move *moves, int32_t count)
{
    const move *m;
    int32_t i, j, k, l, e;
    for (m = moves; m < moves + count; ++m) {
        for (i = 0; i < m->count[0]; ++i) {
            for (j = 0; j < m->count[1]; ++j) {
                for (k = 0; k < m->count[2]; ++k) {
                    for (l = 0; l < m->count[3]; ++l) {
                        @x@ *const t = to + m->to + i * m->to_step[0] + j * m->to_step[1] + k * m->to_step[2] +
                                       l * m->to_step[3];
                        const @x@ *const f = from + m->from + i * m->from_step[0] + j * m->from_step[1] +
                                             k * m->from_step[2] + l * m->from_step[3];
                        if (m->to_step[4] == 1 && m->from_step[4] == 1) {
                            memcpy(t, f, (size_t)m->count[4] * sizeof *t);
                        } else {
                            for (e = 0; e < m->count[4]; ++e) t[e * m->to_step[4]] = f[e * m->from_step[4]];
                        }
                    }
                }
            }
        }
    }
}
