/* @what@ Negative indices count from the end, and all indices are clamped to the axis. */
static void @each@(const @from@ *restrict from, const @i@ *restrict indices, @x@ *restrict to, const elements *s)
{
    int32_t i, j, k, l;
    for (i = 0; i < s->count[0]; ++i) {
        for (j = 0; j < s->count[1]; ++j) {
            for (k = 0; k < s->count[2]; ++k) {
                for (l = 0; l < s->count[3]; ++l) {
                    const int64_t given = indices[i * s->index_step[0] + j * s->index_step[1] +
                                                  k * s->index_step[2] + l * s->index_step[3]];
                    const int64_t index = given < 0 ? given + s->extent : given;
                    const int32_t row = index < 0 ? 0 : index >= s->extent ? s->extent - 1 : (int32_t)index;
                    const int32_t at = i * s->step[0] + j * s->step[1] + k * s->step[2] + l * s->step[3];
                    const int32_t place = i * s->x_step[0] + j * s->x_step[1] + k * s->x_step[2] + l * s->x_step[3] +
                                          row * s->along;
                    @move@
                }
            }
        }
    }
}
