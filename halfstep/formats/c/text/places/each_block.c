/* @what@ Negative indices count from the end, and all indices are clamped to their axes. */
static void @each@(const @x@ *restrict from, const int64_t *restrict indices, @x@ *restrict to, const blocks *s)
{
    int32_t i, a, e;
    for (i = 0; i < s->count; ++i) {
        int32_t place = i / s->per_batch * s->batch_step;
        for (a = 0; a < s->depth; ++a, ++indices) {
            const int64_t index = *indices < 0 ? *indices + s->extent[a] : *indices;
            place += (index < 0 ? 0 : index >= s->extent[a] ? s->extent[a] - 1 : (int32_t)index) * s->step[a];
        }
        for (e = 0; e < s->inner; ++e) {
            @move@
        }
    }
}
