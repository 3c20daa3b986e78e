/* Copies the codes under a window to a contiguous patch. Positions outside of the image have the zero point. */
static void patch_@x_tag@(const @x@ *restrict x, const window *s, int32_t group, int32_t each, int32_t oy, int32_t ox,
    @x@ zero, @x@ *restrict patch)
{
    const int32_t top = oy * s->stride_y - s->top, left = ox * s->stride_x - s->left;
    const int32_t bottom = top + (s->kernel_height - 1) * s->dilation_y;
    const int32_t right = left + (s->kernel_width - 1) * s->dilation_x;
    const int32_t step = s->dilation_x * s->channels, row = s->kernel_width * each;
    int32_t ky, kx, i;
    if (step == each && top >= 0 && left >= 0 && bottom < s->height && right < s->width) {
        for (ky = 0; ky < s->kernel_height; ++ky, patch += row)
            copy_@x_tag@(patch, x + ((top + ky * s->dilation_y) * s->width + left) * s->channels, row);
        return;
    }
    for (ky = 0; ky < s->kernel_height; ++ky) {
        const int32_t iy = top + ky * s->dilation_y;
        for (kx = 0; kx < s->kernel_width; ++kx, patch += each) {
            const int32_t ix = left + kx * s->dilation_x;
            if (iy >= 0 && iy < s->height && ix >= 0 && ix < s->width) {
                copy_@x_tag@(patch, x + (iy * s->width + ix) * s->channels + group * each, each);
            } else {
                for (i = 0; i < each; ++i) patch[i] = zero;
            }
        }
    }
}
