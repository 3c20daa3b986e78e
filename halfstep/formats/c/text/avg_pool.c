/* The mean under each window. `counts` has the divisors of windows, in the order of q. */
static void @pool@(const @x@ *restrict x, @y@ *restrict y, const window *s, int32_t zero, int32_t counts_padding,
    const int32_t *counts, const @scale@ *q)
{
    enum { lanes = 64 };
    const int32_t channels = s->channels;
    int32_t image, oy, ox, ky, kx, first, c;
    for (image = 0; image < s->images; ++image) {
        for (oy = 0; oy < s->out_height; ++oy) {
            for (ox = 0; ox < s->out_width; ++ox, y += channels) {
                for (first = 0; first < channels; first += lanes) {
                    const int32_t width = channels - first < lanes ? channels - first : lanes;
                    int32_t elements = 0, divisor = 0;
                    @sum@ sums[lanes];
                    for (c = 0; c < width; ++c) sums[c] = 0;
                    for (ky = 0; ky < s->kernel_height; ++ky) {
                        const int32_t iy = oy * s->stride_y - s->top + ky;
                        for (kx = 0; kx < s->kernel_width; ++kx) {
                            const int32_t ix = ox * s->stride_x - s->left + kx;
                            const @x@ *from;
                            if (iy < 0 || iy >= s->height || ix < 0 || ix >= s->width) continue;
                            from = x + ((image * s->height + iy) * s->width + ix) * channels + first;
                            for (c = 0; c < width; ++c) @add_element@
                            ++elements;
                        }
                    }
                    if (counts_padding) elements = s->kernel_height * s->kernel_width;
                    while (counts[divisor] != elements) ++divisor;
                    for (c = 0; c < width; ++c) y[first + c] = (@y@)@code@(sums[c], q, divisor);
                }
            }
        }
    }
}
