/* A convolution, or a matrix product, which is one of a single pixel. Weights [outputs][kernel][channels]@packing@.
 * The bias has what the zero point of x adds. */
static void @conv@(const @x@ *restrict x, @y@ *restrict y, const window *s, @x@ zero, const @w@ *restrict w,
    const int32_t *restrict bias, const @scale@ *q, @x@ *restrict patches@unpacked_argument@)
{
    enum { pixels = @pixels@ };
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
                    for (p = 0; !direct && p < count; ++p)
                        patch_@x_tag@(from, s, group, oy, ox + p, zero, patches + p * length);
                    for (o = 0; o < outputs; o += 4) {
                        const int32_t first = group * outputs + o, rows = outputs - o < 4 ? outputs - o : 4;
@take_rows@                        for (p = 0; p < count; ++p) {
                            const @x@ *const codes =
                                direct ? from + (oy * s->stride_y * s->width + (ox + p) * s->stride_x) * s->channels +
                                             group * each
                                       : patches + p * length;
                            @sum@ sums[4] = {0, 0, 0, 0};
                            for (r = 0; r < rows; ++r) sums[r] = (@sum@)bias[first + r];
                            if (rows == 4) {
                                dot4_@dot_tag@(codes, taken, length, sums);
                            } else {
                                for (r = 0; r < rows; ++r) dot1_@dot_tag@(codes, taken + r * length, length, sums + r);
                            }
                            for (r = 0; r < rows; ++r)
                                to[p * s->outputs + first + r] = (@y@)@code@(@signed@(sums[r]), q, first + r);
                        }
                    }
                }
            }
        }
    }
}
