/* Copies elements from any position. A position below 0 leaves the destination unchanged. */
static void pick_@x_tag@(const @x@ *restrict from, @x@ *restrict to, const int32_t *places, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; ++i) {
        if (places[i] >= 0) to[i] = from[places[i]];
    }
}
