/* Converts sums to codes, for channels from `first` on. */
static void codes_@conv@(const @sum@ *restrict sums, @y@ *restrict y, int32_t count, const @scale@ *q, int32_t first)
{
    const @scale@ scale = *q; /* a copy, which no store to y changes */
    int32_t k;
    for (k = 0; k < count; ++k) y[k] = (@y@)@code@(@signed@(sums[k]), &scale, first + k);
}

/* A convolution, or a matrix product, which is a convolution of a single pixel. Weights
 * [outputs][kernel][channels]@packing@. The bias includes the contribution of the zero point of x. With few outputs,
 * codes of several pixels are computed at once, with tables that repeat those of the channels. */
static void @conv@(const @x@ *x, @y@ *y, const window *s, @x@ zero, const @w@ *w, const int32_t *bias,
    const @scale@ *q, @x@ *patches@unpacked_argument@)
{
    enum { lanes = @lanes@, most_pixels = @pixels@, most_rows = @rows@ };
    const int32_t each = s->channels / s->groups, outputs = s->outputs / s->groups;
    const int32_t length = s->kernel_height * s->kernel_width * each;
    const int32_t whole = (length + block - 1) / block * block;
    const int32_t direct = patches == NULL; /* the window is one position, with codes in full blocks */
    const int32_t fit = s->groups == 1 && 2 * outputs <= lanes ? lanes / outputs : 1; /* pixels that share a table */
    const int32_t pixels = @together@;
@row_bytes@    @scale@ repeated = *q;
@table_arrays@    int32_t image, oy, ox, group, o, p, r;
    for (r = 0; fit > 1 && r < fit * outputs; ++r) {
@fill_tables@    }
@take_tables@    for (p = 0; !direct && p < pixels; ++p) {
        for (r = length; r < whole; ++r) patches[p * whole + r] = 0;
    }
@clear_rows@    for (image = 0; image < s->images; ++image) {
        const @x@ *const from = x + image * s->height * s->width * s->channels;
        for (oy = 0; oy < s->out_height; ++oy) {
            for (ox = 0; ox < s->out_width; ox += pixels) {
                const int32_t count = s->out_width - ox < pixels ? s->out_width - ox : pixels;
                @y@ *const to = y + ((image * s->out_height + oy) * s->out_width + ox) * s->outputs;
                for (group = 0; group < s->groups; ++group) {
                    const @x@ *const pixel =
                        from + (oy * s->stride_y * s->width + ox * s->stride_x) * s->channels + group * each;
                    for (p = 0; !direct && p < count; ++p)
                        patch_@x_tag@(from, s, group, each, oy, ox + p, zero, patches + p * whole);
                    for (o = 0; o < outputs; o += lanes) {
                        const int32_t first = group * outputs + o, width = outputs - o < lanes ? outputs - o : lanes;
                        @sum@ sums[@sums@ * lanes];
                        for (r = 0; r < width; r += most_rows) {
                            const int32_t rows = width - r < most_rows ? width - r : most_rows;
@take_rows@                            for (p = 0; p < count; ++p)
                                dot_@dot_tag@(direct ? pixel + p * s->stride_x * s->channels : patches + p * whole,
                                    taken, length, whole, rows, bias + first + r, sums + p * width + r);
                        }
                        for (p = 0; p < count; p += fit)
                            codes_@conv@(sums + p * width, to + p * s->outputs + first,
                                (count - p < fit ? count - p : fit) * width, fit > 1 ? &repeated : q,
                                fit > 1 ? 0 : first);
                    }
                }
            }
        }
    }
}
