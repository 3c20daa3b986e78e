/* A convolution, or a matrix product, which is one of a single pixel. Weights [outputs][kernel][channels]@packing@.
 * The bias has what the zero point of x adds. */
static void @conv@(const @x@ *restrict x, @y@ *restrict y, const window *s, @x@ zero,
    const @w@ *restrict w, const int32_t *restrict bias, const @scale@ *restrict q,
    @x@ *restrict patches@unpacked_argument@)
{
    enum { pixels = @pixels@, lanes = 32 };
    const int32_t each = s->channels / s->groups, outputs = s->outputs / s->groups;
    const int32_t length = s->kernel_height * s->kernel_width * each;
@row_bytes@    const int32_t direct = patches == NULL; /* a window of one place in the image */
    int32_t image, oy, ox, group, o, p, r;
    for (image = 0; image < s->images; ++image) {
        const @x@ *const from = x + image * s->height * s->width * s->channels;
        for (oy = 0; oy < s->out_height; ++oy) {
            for (ox = 0; ox < s->out_width; ox += pixels) {
                const int32_t count = s->out_width - ox < pixels ? s->out_width - ox : pixels;
                @y@ *const to = y + ((image * s->out_height + oy) * s->out_width + ox) * s->outputs;
                for (group = 0; group < s->groups; ++group) {
                    const @x@ *const pixel =
                        from + (oy * s->stride_y * s->width + ox * s->stride_x) * s->channels + group * each;
                    for (p = 0; !direct && p < count; ++p)
                        patch_@x_tag@(from, s, group, each, oy, ox + p, zero, patches + p * length);
                    for (o = 0; o < outputs; o += lanes) {
                        const int32_t first = group * outputs + o, width = outputs - o < lanes ? outputs - o : lanes;
                        @sum@ sums[pixels][lanes];
                        for (p = 0; p < count; ++p) {
                            for (r = 0; r < width; ++r) sums[p][r] = (@sum@)bias[first + r];
                        }
                        for (r = 0; r < width; r += 4) {
                            const int32_t rows = width - r < 4 ? width - r : 4;
@take_rows@                            for (p = 0; p < count; ++p)
                                dot_@dot_tag@(direct ? pixel + p * s->stride_x * s->channels : patches + p * length,
                                    taken, length, rows, sums[p] + r);
                        }
                        for (p = 0; p < count; ++p) {
                            @y@ *const out = to + p * s->outputs + first;
                            for (r = 0; r < width; ++r) out[r] = (@y@)@code@(@signed@(sums[p][r]), q, first + r);
                        }
                    }
                }
            }
        }
    }
}
