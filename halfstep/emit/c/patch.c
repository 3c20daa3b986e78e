/* The codes under a window one behind the other; where it leaves the image, the zero point. */
static void patch_@x_tag@(const @x@ *restrict x, const window *s, int32_t group, int32_t each, int32_t oy, int32_t ox,
    @x@ zero, @x@ *restrict patch)
{
    const int32_t first = ox * s->stride_x - s->left;
    int32_t ky, kx, i;
    for (ky = 0; ky < s->kernel_height; ++ky) {
        const int32_t iy = oy * s->stride_y - s->top + ky * s->dilation_y;
        const int32_t inside = iy >= 0 && iy < s->height;
        if (inside && s->groups == 1 && s->dilation_x == 1 && first >= 0 && first + s->kernel_width <= s->width) {
            const int32_t run = s->kernel_width * each;
            memcpy(patch, x + (iy * s->width + first) * each, (size_t)run * sizeof *patch);
            patch += run;
            continue;
        }
        for (kx = 0; kx < s->kernel_width; ++kx) {
            const int32_t ix = first + kx * s->dilation_x;
            if (inside && ix >= 0 && ix < s->width) {
                const @x@ *const from = x + (iy * s->width + ix) * s->channels + group * each;
                for (i = 0; i < each; ++i) patch[i] = from[i];
            } else {
                for (i = 0; i < each; ++i) patch[i] = zero;
            }
            patch += each;
        }
    }
}
