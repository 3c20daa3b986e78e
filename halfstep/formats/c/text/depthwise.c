/* A depthwise convolution, @lanes@ channels at a time. Weights [kernel][channels]@packing@. The bias includes the
 * contribution of the zero point of x. */
static void @conv@(const @x@ *restrict x, @y@ *restrict y, const window *s, @x@ zero, const @w@ *restrict w,
    const int32_t *restrict bias, const @scale@ *q@unpacked_argument@)
{
    enum { lanes = @lanes@ };
    const @scale@ scale = *q; /* a copy, which no store to y changes */
@taps@    const int32_t channels = s->channels;
@row_bytes@    int32_t image, oy, ox, ky, kx, first, c@tap_index@;
    for (first = 0; first < channels; first += lanes) {
        const int32_t count = channels - first < lanes ? channels - first : lanes;
@take_taps@        for (image = 0; image < s->images; ++image) {
            for (oy = 0; oy < s->out_height; ++oy) {
                for (ox = 0; ox < s->out_width; ++ox) {
                    @y@ *const to = y + ((image * s->out_height + oy) * s->out_width + ox) * channels + first;
                    const @tap@ *tap = @taken@;
                    @sum@ sums[lanes];
                    for (c = 0; c < count; ++c) sums[c] = (@sum@)bias[first + c];
                    for (ky = 0; ky < s->kernel_height; ++ky) {
                        const int32_t iy = oy * s->stride_y - s->top + ky * s->dilation_y;
                        for (kx = 0; kx < s->kernel_width; ++kx, tap += @tap_step@) {
                            const int32_t ix = ox * s->stride_x - s->left + kx * s->dilation_x;
                            if (iy >= 0 && iy < s->height && ix >= 0 && ix < s->width) {
                                const @x@ *const from =
                                    x + ((image * s->height + iy) * s->width + ix) * channels + first;
                                for (c = 0; c < count; ++c) sums[c] += (@sum@)((int32_t)from[c] * (int32_t)tap[c]);
                            } else {
                                for (c = 0; c < count; ++c) sums[c] += (@sum@)((int32_t)zero * (int32_t)tap[c]);
                            }
                        }
                    }
                    for (c = 0; c < count; ++c) to[c] = (@y@)@code@(@signed@(sums[c]), &scale, first + c);
                }
            }
        }
    }
}
