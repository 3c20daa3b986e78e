/* The largest code under each window, and its place in x if `places` is not NULL. Padding is never the largest. */
static void max_places_@x_tag@(const @x@ *restrict x, @x@ *restrict y, int64_t *restrict places, const pool_axes *s)
{
    const int64_t plane = (int64_t)s->extent[0] * s->extent[1] * s->extent[2];
    int32_t n, c, o[3], k[3];
    for (n = 0; n < s->images; ++n) {
        for (c = 0; c < s->channels; ++c) {
            for (o[0] = 0; o[0] < s->windows[0]; ++o[0]) {
                for (o[1] = 0; o[1] < s->windows[1]; ++o[1]) {
                    for (o[2] = 0; o[2] < s->windows[2]; ++o[2]) {
                        const int32_t to = n * s->y_image + c * s->y_channel + o[0] * s->y_step[0] +
                                           o[1] * s->y_step[1] + o[2] * s->y_step[2];
                        int64_t best = -1;
                        for (k[0] = 0; k[0] < s->kernel[0]; ++k[0]) {
                            const int32_t d = o[0] * s->stride[0] + k[0] * s->dilation[0] - s->before[0];
                            if (d < 0 || d >= s->extent[0]) continue;
                            for (k[1] = 0; k[1] < s->kernel[1]; ++k[1]) {
                                const int32_t h = o[1] * s->stride[1] + k[1] * s->dilation[1] - s->before[1];
                                if (h < 0 || h >= s->extent[1]) continue;
                                for (k[2] = 0; k[2] < s->kernel[2]; ++k[2]) {
                                    const int32_t w = o[2] * s->stride[2] + k[2] * s->dilation[2] - s->before[2];
                                    @x@ value;
                                    if (w < 0 || w >= s->extent[2]) continue;
                                    value = x[n * s->x_image + c * s->x_channel + d * s->x_step[0] +
                                              h * s->x_step[1] + w * s->x_step[2]];
                                    if (best >= 0 && value <= y[to]) continue;
                                    y[to] = value;
                                    best = (int64_t)d * s->place_step[0] + (int64_t)h * s->place_step[1] +
                                           (int64_t)w * s->place_step[2];
                                }
                            }
                        }
                        if (places != NULL) places[to] = ((int64_t)n * s->channels + c) * plane + best;
                    }
                }
            }
        }
    }
}
