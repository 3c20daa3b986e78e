/* Elements of x, in the order of the network, and the extents to which their places refer. */
typedef struct {
    int32_t count[5], x_step[5], place_step[5], extent[5], limit[5], y_step[5];
} unpool_axes;

/* Fills y and writes each element of x to its place. A place outside of y is ignored. */
static void unpool_@x_tag@(const @x@ *restrict x, const int64_t *restrict places, @x@ *restrict y, int32_t size,
    @x@ fill, const unpool_axes *s)
{
    int32_t i[5], a;
    for (a = 0; a < size; ++a) y[a] = fill;
    for (i[0] = 0; i[0] < s->count[0]; ++i[0]) {
        for (i[1] = 0; i[1] < s->count[1]; ++i[1]) {
            for (i[2] = 0; i[2] < s->count[2]; ++i[2]) {
                for (i[3] = 0; i[3] < s->count[3]; ++i[3]) {
                    for (i[4] = 0; i[4] < s->count[4]; ++i[4]) {
                        int32_t from = 0, at = 0, to = 0, inside = 1;
                        int64_t place;
                        for (a = 0; a < 5; ++a) {
                            from += i[a] * s->x_step[a];
                            at += i[a] * s->place_step[a];
                        }
                        place = places[at];
                        if (place < 0) continue;
                        for (a = 4; a >= 0; --a) {
                            const int32_t axis = (int32_t)(place % s->extent[a]);
                            inside = inside && axis < s->limit[a];
                            to += axis * s->y_step[a];
                            place /= s->extent[a];
                        }
                        if (inside && place == 0) y[to] = x[from];
                    }
                }
            }
        }
    }
}
