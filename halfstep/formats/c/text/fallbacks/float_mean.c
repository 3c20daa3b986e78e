/* The mean of floats under each window, with one sum in double. */
static void float_mean(const float *restrict x, float *restrict y, const window *s, int32_t counts_padding)
{
    int32_t image, oy, ox, c, ky, kx;
    for (image = 0; image < s->images; ++image) {
        for (oy = 0; oy < s->out_height; ++oy) {
            for (ox = 0; ox < s->out_width; ++ox) {
                for (c = 0; c < s->channels; ++c) {
                    int32_t elements = 0;
                    double sum = 0.0;
                    for (ky = 0; ky < s->kernel_height; ++ky) {
                        const int32_t iy = oy * s->stride_y - s->top + ky;
                        for (kx = 0; kx < s->kernel_width; ++kx) {
                            const int32_t ix = ox * s->stride_x - s->left + kx;
                            if (iy < 0 || iy >= s->height || ix < 0 || ix >= s->width) continue;
                            sum += (double)x[((image * s->height + iy) * s->width + ix) * s->channels + c];
                            ++elements;
                        }
                    }
                    if (counts_padding) elements = s->kernel_height * s->kernel_width;
                    *y++ = (float)(sum / (double)elements);
                }
            }
        }
    }
}
