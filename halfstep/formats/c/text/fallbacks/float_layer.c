/* A convolution of floats, or a matrix product. Each element is one sum in double, over channels, then the window.
 * Weights [outputs][channels][kernel]. */
static void float_layer(const float *restrict x, float *restrict y, const window *s, const float *restrict w,
    const float *bias)
{
    const int32_t each = s->channels / s->groups, outputs = s->outputs / s->groups;
    int32_t image, oy, ox, o, i, ky, kx;
    for (image = 0; image < s->images; ++image) {
        for (oy = 0; oy < s->out_height; ++oy) {
            for (ox = 0; ox < s->out_width; ++ox) {
                for (o = 0; o < s->outputs; ++o) {
                    const float *tap = w + o * each * s->kernel_height * s->kernel_width;
                    double sum = 0.0;
                    for (i = 0; i < each; ++i) {
                        for (ky = 0; ky < s->kernel_height; ++ky) {
                            const int32_t iy = oy * s->stride_y - s->top + ky * s->dilation_y;
                            for (kx = 0; kx < s->kernel_width; ++kx, ++tap) {
                                const int32_t ix = ox * s->stride_x - s->left + kx * s->dilation_x;
                                const int32_t place = (image * s->height + iy) * s->width + ix;
                                if (iy < 0 || iy >= s->height || ix < 0 || ix >= s->width) continue;
                                sum += (double)x[place * s->channels + o / outputs * each + i] * (double)*tap;
                            }
                        }
                    }
                    if (bias != NULL) sum += (double)bias[o];
                    *y++ = (float)sum;
                }
            }
        }
    }
}
