/* The largest code under each window. Padding is never the largest. */
static void max_pool_@x_tag@(const @x@ *restrict x, @x@ *restrict y, const window *s)
{
    const int32_t channels = s->channels;
    int32_t image, oy, ox, ky, kx, c;
    for (image = 0; image < s->images; ++image) {
        for (oy = 0; oy < s->out_height; ++oy) {
            for (ox = 0; ox < s->out_width; ++ox, y += channels) {
                int32_t begun = 0;
                for (ky = 0; ky < s->kernel_height; ++ky) {
                    const int32_t iy = oy * s->stride_y - s->top + ky;
                    for (kx = 0; kx < s->kernel_width; ++kx) {
                        const int32_t ix = ox * s->stride_x - s->left + kx;
                        const @x@ *from;
                        if (iy < 0 || iy >= s->height || ix < 0 || ix >= s->width) continue;
                        from = x + ((image * s->height + iy) * s->width + ix) * channels;
                        if (begun) {
                            for (c = 0; c < channels; ++c) y[c] = from[c] > y[c] ? from[c] : y[c];
                        } else {
                            memcpy(y, from, (size_t)channels * sizeof *y);
                        }
                        begun = 1;
                    }
                }
            }
        }
    }
}
